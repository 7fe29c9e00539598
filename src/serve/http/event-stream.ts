import { toBase64 } from "../../internal/base64.ts";
import { deferTurn, startTimer, type Timer } from "../../internal/timers.ts";
import { CallError, credentialEnded, mapError, type ResponseEnvelope } from "../../operation/inside.ts";
import { eventStreamType, lastEvent, toJSONText } from "../../transport/http-form.ts";
import type { ServedSubscription, ValueReceiver } from "../calls.ts";
import { readBytes } from "../outcome.ts";
import { callHeaders, formatEnvelope } from "./response.ts";
import type { ServerExchange } from "./server-exchange.ts";

/** Time in ms between two comments on an idle stream, which keep proxies from closing it. */
const heartbeatMs = 15_000;

const encoder = new TextEncoder();

/** Events that are sent, or the end of the stream. */
type Part = { done: false; value: string } | { done: true; value: undefined };

/** The response to a subscription: its values as server-sent events. */
export class EventStream implements ValueReceiver {
  readonly #exchange: ServerExchange;
  #subscription: ServedSubscription | undefined = undefined;
  #stopWatching: (() => void) | undefined = undefined;
  #heartbeat: Timer | undefined = undefined;
  /** Events that were not sent. */
  #text = "";
  /** Number of values in it. */
  #waiting = 0;
  /** Continues the client, which is waiting for events. */
  #onPart: ((part: Part) => void) | undefined = undefined;
  #isEnded = false;

  constructor(exchange: ServerExchange) {
    this.#exchange = exchange;
  }

  /** Starts the subscription. The response is a stream when the operation has started, otherwise its error. */
  start(): void {
    const { host, caller, operationId } = this.#exchange;
    this.#subscription = host.calls.subscribe(this.#exchange, this);
    if (this.#isEnded) return;
    this.#stopWatching = host.gate.watch(caller!, (reason) =>
      this.#subscription?.endWith(credentialEnded(operationId, reason, true)),
    );
    this.#beatLater();
    try {
      this.#exchange.onClose(() => this.cancel());
    } catch (error) {
      this.#subscription?.endWith(mapError(error)); // The host of the server failed.
    }
  }

  /** The handler was called. It may still fail before its first value, which is then the response. */
  onOpen(): void {
    deferTurn(() => this.#open());
  }

  onValue(envelope: ResponseEnvelope, seq: number): void {
    let event: string;
    try {
      event = formatEvent(envelope, seq, this.#exchange.wantsEnvelope);
    } catch (error) {
      return this.#subscription?.endWith(mapError(error));
    }
    if (this.#isEnded) return; // Reading the value has ended the subscription.
    this.#open();
    this.#text += event;
    this.#waiting += 1;
    this.#flushSoon();
  }

  onEnd(): void {
    this.#open();
    this.#end(lastEvent.text);
  }

  onError(error: CallError): void {
    if (!this.#exchange.isPending) {
      return this.#end(`event: problem\ndata: ${this.#exchange.formatProblem(error)}\n\n`);
    }
    this.#end("");
    this.#exchange.onError(error);
  }

  // The members below are those of a `ReadableStream` and its reader that hosts with their own `Response` use. The class of
  // the platform needs several kilobytes for each stream.

  getReader(): this {
    return this;
  }

  /** Resolves immediately, so that a host does not keep what it needed to start the stream. `onClose` cancels it. */
  get closed(): Promise<void> {
    return Promise.resolve();
  }

  /** Returns the events that wait, or waits for the next one. */
  read(): Promise<Part> {
    if (this.#text !== "" || this.#isEnded) return Promise.resolve(this.#take());
    return new Promise((resolve) => {
      this.#onPart = resolve;
    });
  }

  /** Ends the subscription, because the client has disconnected. */
  async cancel(): Promise<void> {
    if (this.#isEnded) return;
    this.#end("");
    this.#subscription?.cancel();
    const message = "The client disconnected before the subscription had started.";
    if (this.#exchange.isPending) this.#exchange.onError(new CallError("ABORTED", message));
  }

  /** Sends the headers of the response. */
  #open(): void {
    const { route, requestId, info, isPending } = this.#exchange;
    if (!isPending) return;
    const headers = callHeaders(eventStreamType, route!.headerId, requestId);
    // Middleware that compresses responses, and Nginx, would hold events back.
    headers["cache-control"] = "no-store, no-transform";
    headers["x-accel-buffering"] = "no";
    const body = info?.Response === undefined ? this.#toStream() : (this as unknown as ReadableStream);
    this.#exchange.resolve(200, headers, body);
  }

  #toStream(): ReadableStream<Uint8Array> {
    const source: UnderlyingDefaultSource<Uint8Array> = {
      pull: async (controller) => {
        const { done, value } = await this.read();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
      cancel: () => this.cancel(),
    };
    return new ReadableStream(source, { highWaterMark: 0 });
  }

  /** Sends a comment after a while, if the client waits and nothing else is sent. */
  #beatLater(): void {
    const beat = () => {
      this.#beatLater();
      if (this.#onPart === undefined || this.#text !== "") return;
      this.#text = ":\n\n";
      this.#flushSoon();
    };
    this.#heartbeat = startTimer(beat, heartbeatMs, { keepsAlive: false });
  }

  /** Sends the events that wait, if the client waits for them. */
  #flushSoon(): void {
    const onPart = this.#onPart;
    this.#onPart = undefined;
    // Values that arrive until then share one write.
    if (onPart !== undefined) deferTurn(() => onPart(this.#take()));
  }

  /** Removes the events that wait, and requests as many values. */
  #take(): Part {
    const [value, waiting] = [this.#text, this.#waiting];
    this.#text = "";
    this.#waiting = 0;
    if (value === "") return { done: true, value: undefined };
    if (!this.#isEnded && waiting > 0) this.#subscription?.credit(waiting);
    return { done: false, value };
  }

  #end(lastEvent: string): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#heartbeat?.stop();
    this.#stopWatching?.();
    this.#text = lastEvent === "" ? "" : this.#text + lastEvent;
    this.#flushSoon();
  }
}

/** Formats one value. Throws `EXECUTION_ERROR` if it cannot be sent. JSON has no line breaks. */
function formatEvent(envelope: ResponseEnvelope, seq: number, wantsEnvelope: boolean): string {
  const { data, meta } = envelope;
  const given = meta.source === "http" ? meta.event?.id : undefined;
  const id = given === undefined || given === lastEvent.id || /[\r\n\0]/.test(given) ? seq : given;
  if (wantsEnvelope) return `id: ${id}\ndata: ${formatEnvelope(envelope)}\n\n`;
  const bytes = readBytes(data);
  // An event without data is not delivered to the listeners of an EventSource.
  const text = bytes === undefined ? (toJSONText(data) ?? "null") : `"${toBase64(bytes)}"`;
  return `id: ${id}\ndata: ${text}\n\n`;
}
