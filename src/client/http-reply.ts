import { fromBase64 } from "../internal/base64.ts";
import { BodyTooLarge, cancelBody, isNestedDeeper, readBody } from "../internal/body.ts";
import { isObject } from "../internal/objects.ts";
import { quote } from "../internal/text.ts";
import { waitFor } from "../internal/wait.ts";
import { CallError, type CallErrorJSON, type Limits, type ResponseEnvelope, unavailable } from "../operation/index.ts";
import type { CallRequested, ReplyFrame } from "../transport/transport.ts";
import { EventReader, EventTooLarge } from "./event-reader.ts";

/** Media type of an envelope. */
export const envelopeType = "application/vnd.alkdev.envelope+json";

/** Media type of the values of a subscription. */
export const eventStreamType = "text/event-stream";

const problemType = "application/problem+json";

/** Maximum silence of the server of a subscription, in ms. It sends a comment every 15 seconds. */
const maxSilenceMs = 60_000;

/** The levels of JSON that an envelope or a problem adds to the data or details. */
const envelopeLevels = 2;

type ReplyLimits = Pick<Required<Limits>, "responseBytes" | "eventBytes" | "jsonDepth">;

/** Converts the response to one request into the frames that its caller expects. */
export class HTTPReply {
  readonly #operationId: string;
  readonly #requestId: string;
  readonly #isSubscription: boolean;
  readonly #limits: ReplyLimits;
  readonly #onReply: (frame: ReplyFrame) => void;
  /** Whether the response has begun, so that the operation may have run. */
  hasResponse = false;
  #seq = 0;
  /** Number of values that the consumer accepts now. One value is delivered ahead of the consumer. */
  #credit = 1;
  #wake: (() => void) | undefined = undefined;

  constructor(
    { operationId, requestId, credit }: CallRequested,
    limits: ReplyLimits,
    onReply: (frame: ReplyFrame) => void,
  ) {
    this.#operationId = operationId;
    this.#requestId = requestId;
    this.#isSubscription = credit !== undefined;
    this.#limits = limits;
    this.#onReply = onReply;
  }

  /** Allows more values to be delivered. */
  addCredit(count: number): void {
    this.#credit += count;
    this.#wake?.();
  }

  /** Resolves with the response. Rejects if a subscription does not begin in time. */
  async awaitResponse(response: Promise<Response>): Promise<Response> {
    const received = await this.#awaitServer(response);
    this.hasResponse = true;
    return received;
  }

  /** Reads the response and delivers its frames. Rejects if the call failed, or the response is malformed. */
  async read(response: Response): Promise<void> {
    const { body, ok } = response;
    const type = essence(response);
    if (type === problemType) throw await this.#readProblem(response);
    if (ok && this.#isSubscription && type === eventStreamType && body !== null) return this.#readStream(body);
    if (ok && !this.#isSubscription && type === envelopeType) {
      const output = this.#toEnvelope(await this.#readJSON(response));
      return this.#onReply({ type: "call.responded", requestId: this.#requestId, output });
    }
    cancelBody(body);
    throw this.#unexpected(response);
  }

  async #readStream(body: ReadableStream<Uint8Array>): Promise<void> {
    const reader = body.getReader();
    const decoder = new TextDecoder("utf-8", { fatal: true });
    const events = new EventReader(this.#limits.eventBytes);
    try {
      const read = () => this.#awaitServer(reader.read());
      for (let part = await read(); !part.done; part = await read()) {
        for (const { type, data } of this.#split(events, decoder, part.value)) {
          if (type === "end") return this.#onReply({ type: "call.completed", requestId: this.#requestId });
          if (data === undefined) continue;
          const json = this.#parse(data);
          if (type === "problem") throw this.#toError(json) ?? this.#malformed("contains a problem without a code");
          await this.#deliver(this.#toEnvelope(json));
        }
      }
    } finally {
      reader.cancel().catch(() => {});
    }
    throw this.#lost("the stream ended without its last event");
  }

  /** Rejects if the server of a subscription is silent: its connection is lost, which is otherwise not noticed. */
  #awaitServer<T>(promise: Promise<T>): Promise<T> {
    if (!this.#isSubscription) return promise;
    return waitFor(promise, { timeout: maxSilenceMs }, () => this.#lost(`no data arrived within ${maxSilenceMs} ms`));
  }

  #lost(reason: string): CallError {
    const message = `The connection to the server was lost before ${quote(this.#operationId)} ended: ${reason}.`;
    return unavailable(message, { mayHaveRun: true });
  }

  #split(events: EventReader, decoder: TextDecoder, part: Uint8Array): ReturnType<EventReader["read"]> {
    try {
      return events.read(decoder.decode(part, { stream: true }));
    } catch (error) {
      if (error instanceof EventTooLarge) throw this.#tooLarge("eventBytes");
      throw this.#malformed("is not UTF-8");
    }
  }

  /** Delivers a value when the consumer has taken the one before it. */
  async #deliver(output: ResponseEnvelope): Promise<void> {
    while (this.#credit === 0) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#credit -= 1;
    this.#onReply({ type: "call.responded", requestId: this.#requestId, output, seq: this.#seq++, creditDue: true });
  }

  async #readProblem(response: Response): Promise<CallError> {
    return this.#toError(await this.#readJSON(response)) ?? this.#unexpected(response);
  }

  /** Returns the error that a problem reports; `undefined` if it has no code, because it is not from our server. */
  #toError(problem: unknown): CallError | undefined {
    if (!isObject(problem) || typeof problem["code"] !== "string") return undefined;
    const { detail, ...rest } = problem;
    return CallError.fromJSON({ ...rest, message: detail } as unknown as CallErrorJSON);
  }

  async #readJSON(response: Response): Promise<unknown> {
    const bytes = await readBody(response, this.#limits.responseBytes).catch((error) => {
      throw error instanceof BodyTooLarge ? this.#tooLarge("responseBytes") : error;
    });
    let text: string;
    try {
      text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch {
      throw this.#malformed("is not UTF-8");
    }
    return this.#parse(text);
  }

  #parse(text: string): unknown {
    const { jsonDepth } = this.#limits;
    if (isNestedDeeper(text, jsonDepth + envelopeLevels)) {
      throw this.#malformed(`is nested more than ${jsonDepth} levels deep`);
    }
    try {
      return JSON.parse(text);
    } catch {
      throw this.#malformed("is not JSON"); // no cause: the parser's message quotes the input
    }
  }

  /** Restores bytes. The caller checks that the result is an envelope. */
  #toEnvelope(json: unknown): ResponseEnvelope {
    if (!isObject(json)) return json as never;
    const { data, meta, encoding } = json;
    if (encoding === undefined) return { data, meta } as ResponseEnvelope;
    const bytes = encoding === "base64" && typeof data === "string" ? fromBase64(data) : undefined;
    if (bytes === undefined) throw this.#malformed("has data in an unknown encoding");
    return { data: bytes, meta } as ResponseEnvelope;
  }

  #malformed(problem: string): CallError {
    const operationId = this.#operationId;
    return new CallError("BAD_RESPONSE", `The response to ${quote(operationId)} ${problem}.`, { operationId });
  }

  #tooLarge(limit: "eventBytes" | "responseBytes"): CallError {
    const allowed = this.#limits[limit];
    const message = `The response to ${quote(this.#operationId)} is larger than ${allowed} bytes. If this is intended, raise limits.${limit}.`;
    return new CallError("PAYLOAD_TOO_LARGE", message, { limit, allowed });
  }

  /** Creates the error for a response that a server of this package does not send, such as the page of a proxy. */
  #unexpected(response: Response): CallError {
    const { status } = response;
    const operationId = this.#operationId;
    if (response.type === "opaqueredirect" || (status >= 300 && status < 400)) {
      const message = `The server redirects ${quote(operationId)}. Redirects are not followed, because the token must not reach another server. Pass the final URL to connect().`;
      return new CallError("BAD_RESPONSE", message, { operationId, status });
    }
    const contentType = response.headers.get("content-type") ?? "";
    const message = `The response to ${quote(operationId)} is not from a server of operations: it has status ${status} and content type ${quote(contentType)}. Check the URL that you passed to connect().`;
    const { code, retryable } = foreignStatuses.get(status) ?? { code: "BAD_RESPONSE", retryable: false };
    return new CallError(code, message, { operationId, status, contentType: contentType.slice(0, 200) }, { retryable });
  }
}

/** Statuses of proxies whose meaning is certain. */
const foreignStatuses = new Map([
  [401, { code: "UPSTREAM_DENIED", retryable: false }],
  [403, { code: "UPSTREAM_DENIED", retryable: false }],
  [413, { code: "PAYLOAD_TOO_LARGE", retryable: false }],
  [429, { code: "LIMIT_EXCEEDED", retryable: true }],
  [502, { code: "UNAVAILABLE", retryable: true }],
  [503, { code: "UNAVAILABLE", retryable: true }],
  [504, { code: "UNAVAILABLE", retryable: true }],
]);

/** Returns the media type of a response, in lower case and without parameters. */
function essence(response: Response): string {
  const [type = ""] = (response.headers.get("content-type") ?? "").split(";", 1);
  return type.trim().toLowerCase();
}
