import { backOffDelay } from "../../../internal/back-off.ts";
import { startTimer } from "../../../internal/timers.ts";
import { pause } from "../../../internal/wait.ts";
import { CallError, type OperationContext, type ResponseEnvelope, resolveLimits } from "../../../operation/inside.ts";
import { cancelBody } from "../../../transport/http-body.ts";
import { endComment } from "../../../transport/http-form.ts";
import type { HTTPReconnect, HTTPServiceConfig } from "../config.ts";
import type { EndpointPlan } from "../endpoint.ts";
import { badResponse, timedOut, tooLarge, unavailable } from "../errors.ts";
import type { Exchange } from "./exchange.ts";
import { createFramer, type Framer } from "./framing.ts";
import { isHeaderValue } from "./headers.ts";
import { ItemQueue } from "./item.ts";
import { isJSON, isText, streamKind } from "./media-type.ts";
import { fromNetworkError } from "./network-error.ts";
import type { WireRequest } from "./request.ts";
import { toMeta } from "./response.ts";
import { CallScope } from "./scope.ts";
import { InvalidUTF8, UTF8Reader } from "./utf8-reader.ts";

type Result = IteratorResult<ResponseEnvelope, undefined>;

/** Minimum delay, so that a server that sends `retry: 0` and closes does not cause a connection every few ms. */
const minServerRetryMs = 500;

const finished: Result = { done: true, value: undefined };

/**
 * Opens a stream of one endpoint. The request is sent on the first `next()`. The next chunk is read when the consumer
 * has taken all items of the last one. The connection closes when the consumer stops.
 */
export function openStream(
  plan: EndpointPlan,
  config: HTTPServiceConfig,
  exchange: Exchange,
  input: unknown,
  context: OperationContext,
): AsyncIterableIterator<ResponseEnvelope> {
  return new HTTPStream(plan, config, exchange, input, context);
}

class HTTPStream implements AsyncIterableIterator<ResponseEnvelope> {
  readonly #plan: EndpointPlan;
  readonly #config: HTTPServiceConfig;
  readonly #exchange: Exchange;
  readonly #input: unknown;
  readonly #context: OperationContext;
  readonly #reconnect: HTTPReconnect | undefined;
  readonly #maxEventBytes: number;
  readonly #items: ItemQueue;
  /** The envelope of a response that is not a stream. */
  #whole: ResponseEnvelope | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  /** Whether reading has ended. Received items are still delivered. */
  #ended = false;
  #problem: CallError | undefined;
  #hasConsumerLeft = false;

  #scope: CallScope | undefined;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  #framer: Framer | undefined;
  #text = new UTF8Reader();
  #wasOpen = false;
  #isReplayable = true;
  /** Whether the comment at the end of the stream of a trusted server has arrived. */
  #isComplete = false;

  constructor(
    plan: EndpointPlan,
    config: HTTPServiceConfig,
    exchange: Exchange,
    input: unknown,
    context: OperationContext,
  ) {
    this.#plan = plan;
    this.#config = config;
    this.#exchange = exchange;
    this.#input = input;
    this.#context = context;
    this.#reconnect = config.reconnect === true ? {} : config.reconnect || undefined;
    const limits = resolveLimits(config.limits);
    this.#maxEventBytes = limits.eventBytes;
    this.#items = new ItemQueue(plan, limits, (problem) => {
      this.#problem = problem;
      this.#end();
    });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Result> {
    const value = this.#waiting === 0 ? this.#take() : undefined;
    if (value !== undefined) return Promise.resolve({ done: false, value });
    this.#waiting++;
    const turn = this.#turn.then(() => this.#advance());
    this.#turn = turn.then(ignore, ignore);
    return turn.finally(() => {
      this.#waiting--;
    });
  }

  return(): Promise<Result> {
    this.#hasConsumerLeft = true;
    this.#items.clear();
    this.#whole = undefined;
    this.#end();
    return Promise.resolve(finished);
  }

  #take(): ResponseEnvelope | undefined {
    const envelope = this.#items.take();
    if (envelope !== undefined || this.#whole === undefined) return envelope;
    const whole = this.#whole;
    this.#whole = undefined;
    return whole;
  }

  async #advance(): Promise<Result> {
    for (;;) {
      if (this.#hasConsumerLeft) return finished;
      const value = this.#take();
      if (value !== undefined) return { done: false, value };
      if (this.#problem !== undefined) {
        const problem = this.#problem;
        this.#problem = undefined;
        throw problem;
      }
      if (this.#ended) return finished;
      await this.#readOn();
    }
  }

  /**
   * Reads one more chunk, and connects first if necessary. Never throws: a failure is kept until the items before it
   * are taken.
   */
  async #readOn(): Promise<void> {
    try {
      if (this.#reader === undefined) return await this.#connect();
      const part = await this.#readPart(this.#reader);
      if (!part.done) this.#feed(part.value);
      else await this.#complete();
    } catch (error) {
      if (!this.#hasConsumerLeft) await this.#drop(this.#translate(error));
    }
  }

  /** Passes received bytes to the framer. Without bytes, flushes it at the end of the stream. */
  #feed(bytes?: Uint8Array): void {
    try {
      const text = this.#text.read(bytes);
      this.#framer?.feed(text);
    } catch (error) {
      if (!(error instanceof InvalidUTF8)) throw error;
      this.#framer?.feed(error.text);
      throw badResponse(this.#plan.operationId, "is not valid UTF-8");
    }
  }

  async #connect(): Promise<void> {
    const scope = new CallScope(this.#plan.operationId, this.#context.signal, this.#config.timeout, true);
    this.#scope = scope;
    const opened = await this.#exchange.run(this.#input, this.#context, scope, open, (request) =>
      this.#prepare(request),
    );
    scope.stopTimer();
    if (this.#hasConsumerLeft) return cancelBody(opened.response.body);
    const { response, request } = opened;
    const facts = toMeta(response, request.secrets);
    this.#wasOpen = true;
    const kind = this.#kindOf(facts.contentType);
    if (response.status === 204 || response.body === null) return this.#end();
    if (kind === undefined) {
      if (!isJSON(facts.contentType)) {
        cancelBody(response.body);
        throw badResponse(this.#plan.operationId, `is "${facts.contentType.slice(0, 100)}" and not a stream`);
      }
      this.#whole = await this.#exchange.reader.read(response, request);
      return this.#end();
    }
    this.#text = new UTF8Reader();
    this.#items.open(facts, kind);
    this.#framer = createFramer(kind, this.#maxEventBytes, {
      onItem: this.#items.add,
      onRetry: this.#items.add,
      onComment: (comment) => {
        this.#isComplete ||= comment === endComment;
      },
      onOverflow: () => this.#fail(tooLarge(this.#plan.operationId, "event", this.#maxEventBytes)),
    });
    this.#reader = response.body.getReader();
  }

  /** Returns how the response is split into items, or `undefined` for a single response. */
  #kindOf(contentType: string): "sse" | "ndjson" | "json-seq" | undefined {
    const kind = streamKind(contentType);
    if (kind !== undefined || contentType === "") return kind ?? this.#plan.stream;
    // Many servers send lines of JSON with a more general content type.
    if (this.#plan.stream === "ndjson" && (isJSON(contentType) || isText(contentType))) return "ndjson";
    return undefined;
  }

  #prepare(request: WireRequest): void {
    this.#isReplayable = request.replayable;
    const id = toHeader(this.#items.lastId);
    if (id !== undefined) request.headers["last-event-id"] = id;
  }

  #readPart(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<ReadableStreamReadResult<Uint8Array>> {
    const { idleTimeout } = this.#config;
    if (idleTimeout === undefined) return reader.read();
    return new Promise((resolve, reject) => {
      const timer = startTimer(() => {
        reject(timedOut(this.#plan.operationId, "an event", idleTimeout, true));
      }, idleTimeout);
      reader
        .read()
        .then(resolve, reject)
        .finally(() => timer.stop());
    });
  }

  /** Handles a stream that the server closed normally. */
  async #complete(): Promise<void> {
    this.#feed();
    this.#framer?.end();
    if (this.#ended) return;
    if (this.#plan.isOperation) return this.#isComplete ? this.#end() : this.#drop(this.#interrupted());
    if (this.#reconnect !== undefined && this.#plan.stream === "sse" && this.#canResume()) return this.#again();
    this.#end();
  }

  /** Handles a stream that was interrupted or could not be opened. */
  async #drop(error: CallError): Promise<void> {
    const settings = this.#reconnect;
    if (settings === undefined || !this.#wasOpen || !error.retryable || this.#plan.stream !== "sse")
      return this.#fail(error);
    if (!this.#canResume()) {
      const message = `The stream of "${this.#plan.operationId}" was interrupted and cannot be resumed, because it has no event ids.`;
      return this.#fail(new CallError("STREAM_GAP", message, undefined, { retryable: true }));
    }
    if (this.#items.failures >= (settings.attempts ?? 10)) return this.#fail(error);
    return this.#again();
  }

  #canResume(): boolean {
    const resumable =
      toHeader(this.#items.lastId) !== undefined || !this.#items.hasDelivered || this.#reconnect?.allowGaps === true;
    return resumable && this.#isReplayable && this.#exchange.repeatable;
  }

  /** Waits before the next read, which connects again. */
  async #again(): Promise<void> {
    this.#disconnect();
    const { delay = 1000, maxDelay = 30_000 } = this.#reconnect ?? {};
    const { retry } = this.#items;
    const serverDelay = retry === undefined ? undefined : Math.max(retry, Math.min(delay, minServerRetryMs));
    const backOff = backOffDelay(this.#items.failures, { first: serverDelay ?? delay, max: maxDelay });
    const wait = Math.min(maxDelay, Math.max(serverDelay ?? 0, backOff));
    this.#items.failures++;
    const scope = new CallScope(this.#plan.operationId, this.#context.signal, undefined, true);
    this.#scope = scope;
    try {
      await pause(wait, scope.signal);
    } catch {
      if (!this.#hasConsumerLeft) this.#fail(scope.failure ?? this.#translate(undefined));
    } finally {
      scope.close();
    }
  }

  #interrupted(): CallError {
    return unavailable(this.#plan.operationId, "the stream was interrupted", { retryable: true, mayHaveRun: true });
  }

  #translate(error: unknown): CallError {
    const outside = this.#scope?.failure;
    if (outside !== undefined) return outside;
    return error instanceof CallError ? error : fromNetworkError(this.#plan.operationId, error);
  }

  #fail(error: CallError): void {
    if (this.#ended) return;
    this.#problem = error;
    this.#end();
  }

  #end(): void {
    this.#ended = true;
    this.#disconnect();
  }

  #disconnect(): void {
    this.#scope?.abort();
    this.#scope?.close();
    // The abort has already cancelled the body, unless a custom fetch does not observe signals.
    this.#reader?.cancel().catch(ignore);
    this.#reader = undefined;
    this.#framer = undefined;
  }
}

async function open(response: Response, request: WireRequest): Promise<{ response: Response; request: WireRequest }> {
  return { response, request };
}

function ignore(): void {}

const encoder = new TextEncoder();

/**
 * Encodes an id as UTF-8, as browsers do for `Last-Event-ID`. Returns `undefined` if it is missing or not a valid
 * header value.
 */
function toHeader(id: string): string | undefined {
  if (id === "" || id.length > 1024) return undefined;
  const text = String.fromCharCode(...encoder.encode(id));
  return isHeaderValue(text) ? text : undefined;
}
