import { toBase64 } from "../../internal/base64.ts";
import { startTimer, type Timer } from "../../internal/timers.ts";
import { CallError, mapError, type ResponseEnvelope } from "../../operation/index.ts";
import type { ServedSubscription, ValueReceiver } from "../calls.ts";
import { readBytes, toJSONText } from "../outcome.ts";
import type { HTTPCall } from "./http-call.ts";
import { callHeaders, formatEnvelope } from "./response.ts";

/** Time in ms between two comments on an idle stream, which keep proxies from closing it. */
const heartbeatMs = 15_000;

/** Number of characters that may wait for a slow client. One value may exceed it. */
const maxWaitingLength = 64 * 1024;

const encoder = new TextEncoder();
const heartbeat = ":\n\n";

/** The id of the last event. A client that reconnects with it has received everything. */
export const endId = "end";

/** Runs a function when the events of this turn have been handled: values that arrive until then share one write. */
const defer: (run: () => void) => void =
  typeof setImmediate === "function" ? (run) => setImmediate(run) : (run) => setTimeout(run, 0);

/** Sends comments on the open streams of one server. */
export class Heartbeats {
  readonly #streams = new Set<EventStream>();
  #timer: Timer | undefined = undefined;

  add(stream: EventStream): void {
    this.#streams.add(stream);
    if (this.#timer === undefined) this.#start();
  }

  delete(stream: EventStream): void {
    this.#streams.delete(stream);
    if (this.#streams.size > 0) return;
    this.#timer?.stop();
    this.#timer = undefined;
  }

  #start(): void {
    const beat = () => {
      this.#start();
      for (const stream of this.#streams) stream.beat();
    };
    this.#timer = startTimer(beat, heartbeatMs, { keepsAlive: false });
  }
}

/** A part of a stream, as a reader of a `ReadableStream` returns it. */
type Part = { readonly done: false; readonly value: string } | { readonly done: true; readonly value: undefined };

const lastPart: Part = Object.freeze({ done: true, value: undefined });

/**
 * The values of one subscription as server-sent events. The client pulls: values are requested as long as few of them
 * wait, so that a slow client slows the handler and the memory stays bounded.
 */
export class EventStream implements ValueReceiver {
  readonly #call: HTTPCall;
  /** Absent when the response was sent, to release the promise. */
  #respond: ((response: Response) => void) | undefined;
  #subscription: ServedSubscription | undefined = undefined;
  #stopWatching: (() => void) | undefined = undefined;
  /** Events that were not sent. */
  #text = "";
  /** Number of values in it. */
  #waiting = 0;
  /** Continues the client, which is waiting for events. */
  #onPart: ((part: Part) => void) | undefined = undefined;
  #isFlushDue = false;
  #isEnded = false;
  /** Continues the subscription, which is paused because too many characters wait. */
  #resume: (() => void) | undefined = undefined;

  /** @param respond - receives the response: a stream when the operation has started, otherwise its error */
  constructor(call: HTTPCall, respond: (response: Response) => void) {
    this.#call = call;
    this.#respond = respond;
  }

  /** Starts the subscription. */
  start(): void {
    const { host } = this.#call;
    this.#subscription = host.calls.subscribe(this.#call, this);
    if (this.#isEnded) return;
    this.#stopWatching = host.watchCaller(this.#call, (error) => this.#subscription?.endWith(error));
    host.heartbeats.add(this);
    this.#watchClient();
  }

  /** The handler was called. It may still fail before its first value, which is then the response. */
  onOpen(): void {
    defer(() => this.#open());
  }

  onValue(envelope: ResponseEnvelope, seq: number): void | Promise<void> {
    let event: string;
    try {
      event = formatEvent(envelope, seq, this.#call.wantsEnvelope);
    } catch (error) {
      this.#subscription?.endWith(mapError(error));
      return;
    }
    if (this.#isEnded) return; // Reading the value has ended the subscription.
    this.#open();
    this.#text += event;
    this.#waiting += 1;
    this.#flushSoon();
    if (this.#text.length < maxWaitingLength) return;
    return new Promise((resolve) => {
      this.#resume = resolve;
    });
  }

  onEnd(): void {
    this.#open();
    this.#end(`event: end\nid: ${endId}\n\n`);
  }

  onError(error: CallError): void {
    const call = this.#call;
    const respond = this.#takeRespond();
    if (respond === undefined) return this.#end(`event: problem\ndata: ${call.host.formatFailure(error, call)}\n\n`);
    this.#end("");
    respond(call.toFailure(error));
  }

  /** Sends a comment if the client waits and nothing else is sent. */
  beat(): void {
    if (this.#onPart === undefined || this.#text !== "") return;
    this.#text = heartbeat;
    this.#flush();
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
    this.#takeRespond()?.(this.#call.toFailure(new CallError("ABORTED", message)));
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (let part = await this.read(); !part.done; part = await this.read()) yield encoder.encode(part.value);
    } finally {
      void this.cancel();
    }
  }

  /** Sends the headers of the response. */
  #open(): void {
    const respond = this.#takeRespond();
    if (respond === undefined) return;
    const { host, route, requestId, info } = this.#call;
    const headers = callHeaders("text/event-stream", route.headerId, requestId);
    headers["x-accel-buffering"] = "no"; // Nginx would hold events back.
    const body = info?.Response === undefined ? this.#toStream() : (this as unknown as ReadableStream);
    respond(host.toResponse(this.#call, 200, headers, body));
  }

  /** Returns the function that receives the response, once. */
  #takeRespond(): ((response: Response) => void) | undefined {
    const respond = this.#respond;
    this.#respond = undefined;
    return respond;
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

  /** Ends the subscription when the client disconnects. */
  #watchClient(): void {
    const { info, request } = this.#call;
    if (info?.onClose !== undefined) return info.onClose(() => this.cancel());
    if (request.signal.aborted) void this.cancel();
    else request.signal.addEventListener("abort", () => this.cancel(), { once: true });
  }

  #flushSoon(): void {
    if (this.#onPart === undefined || this.#isFlushDue) return;
    this.#isFlushDue = true;
    defer(() => {
      this.#isFlushDue = false;
      this.#flush();
    });
  }

  /** Sends the events that wait, if the client waits for them. */
  #flush(): void {
    const onPart = this.#onPart;
    if (onPart === undefined) return;
    this.#onPart = undefined;
    onPart(this.#take());
  }

  /** Removes the events that wait, and requests as many values. */
  #take(): Part {
    const [value, waiting] = [this.#text, this.#waiting];
    this.#text = "";
    this.#waiting = 0;
    if (value === "") return lastPart;
    if (!this.#isEnded && waiting > 0) this.#subscription?.credit(waiting);
    this.#resume?.();
    this.#resume = undefined;
    return { done: false, value };
  }

  #end(lastEvent: string): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#call.host.heartbeats.delete(this);
    this.#stopWatching?.();
    this.#text = lastEvent === "" ? "" : this.#text + lastEvent;
    this.#resume?.();
    this.#flush();
  }
}

/** Formats one value. Throws `EXECUTION_ERROR` if it cannot be sent. JSON has no line breaks. */
function formatEvent(envelope: ResponseEnvelope, seq: number, wantsEnvelope: boolean): string {
  const { data, meta } = envelope;
  const given = meta.source === "http" ? meta.event?.id : undefined;
  const id = given === undefined || given === endId || /[\r\n\0]/.test(given) ? seq : given;
  if (wantsEnvelope) return `id: ${id}\ndata: ${formatEnvelope(envelope)}\n\n`;
  const bytes = readBytes(data);
  // An event without data is not delivered to the listeners of an EventSource.
  const text = bytes === undefined ? (toJSONText(data) ?? "null") : `"${toBase64(bytes)}"`;
  return `id: ${id}\ndata: ${text}\n\n`;
}
