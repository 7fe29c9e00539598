import { quote } from "../internal/text.ts";
import { startTimer } from "../internal/timers.ts";
import { withoutTrailingSlashes } from "../internal/urls.ts";
import { ValueIterator } from "../internal/value-iterator.ts";
import { onAbort } from "../internal/wait.ts";
import {
  aborted,
  CallError,
  isCallError,
  limitExceeded,
  operationNotFound,
  parseOperationId,
  type ResponseEnvelope,
  type SubscribeOptions,
  silentTooLong,
  timedOut,
  unavailable,
} from "../operation/inside.ts";
import { envelopeType, eventStreamType, formatOperationPath } from "../transport/http-form.ts";
import { isJSON } from "../transport/is-json.ts";
import type { ConnectOptions } from "./connect.ts";
import { badResponse, type ClientLimits, ConnectionLost, defaultClientLimits, readResult } from "./http-response.ts";
import { type Caller, type Connection, clientClosed } from "./lazy-caller.ts";

/** Time limit of calls without a deadline, in ms. */
const defaultTimeout = 30_000;

/** Maximum depth of an input that is not checked further. */
const maxSimpleDepth = 100;

/** Members of `metadata` that are sent, each in a header of its own (W3C Trace Context and Baggage). */
const traceContext = ["traceparent", "tracestate", "baggage"];

/** Options of an {@link HTTPCaller}. */
export type HTTPCallerOptions = Pick<ConnectOptions, "token" | "headers" | "limits" | "fetch">;

/** A request that has not ended. */
interface OpenRequest {
  readonly id: string;
  readonly options: SubscribeOptions;
  readonly signal: AbortSignal;
  isSent: boolean;
  hasResponse: boolean;
  /** Ends the request and its connection, and reports an error to the consumer. Has an effect only once. */
  end(error?: CallError): void;
}

/** Sends each call as one request to a server of this package. Streams are read only while their consumer waits. */
export class HTTPCaller implements Caller, Connection {
  readonly #origin: string;
  readonly #base: string;
  readonly #options: HTTPCallerOptions;
  readonly #limits: ClientLimits;
  readonly #open = new Set<OpenRequest>();
  #isClosed = false;

  /** @param url the server's base URL, without credentials, query and fragment */
  constructor(url: URL, options: HTTPCallerOptions) {
    this.#origin = url.origin;
    this.#base = withoutTrailingSlashes(url.origin + url.pathname);
    this.#options = options;
    this.#limits = { ...defaultClientLimits, ...options.limits };
  }

  async call(id: string, input: unknown, given: SubscribeOptions): Promise<ResponseEnvelope> {
    const options = { ...given, deadline: given.deadline ?? Date.now() + defaultTimeout };
    let fail!: (error: CallError) => void;
    const failed = new Promise<never>((_, reject) => {
      fail = reject;
    });
    const request = await this.#begin(id, options, fail);
    const result = this.#send(request, input, envelopeType)
      .then((response) => readResult(id, response, this.#limits))
      .catch(async (error) => Promise.reject(await this.#toCallError(request, error)));
    return Promise.race([failed, result]).finally(request.end);
  }

  subscribe(id: string, input: unknown, options: SubscribeOptions): ValueIterator<ResponseEnvelope> {
    const { idleTimeout } = options;
    let request: OpenRequest | undefined;
    let received: AsyncIterator<ResponseEnvelope> | undefined;
    const pull = async (): Promise<void> => {
      try {
        request ??= await this.#begin(id, options, (error) => values.end({ error }));
        if (values.isClosed) return request.end(); // The consumer has left meanwhile.
        if (received === undefined) {
          const { awaitServer, readValues } = await loadPart(() => import("./http-events.ts"));
          const response = await awaitServer(this.#send(request, input, `${eventStreamType}, ${envelopeType}`));
          received = readValues(id, response, this.#limits);
        }
        const { done, value } = await received.next();
        if (!done) return values.push(value);
        values.end();
      } catch (error) {
        values.end({ error: request === undefined ? error : await this.#toCallError(request, error) });
      }
      request?.end();
    };
    const onIdle = () => request?.end(silentTooLong(id, idleTimeout!));
    const values: ValueIterator<ResponseEnvelope> = new ValueIterator({
      pull,
      leave: () => request?.end(),
      onIdle,
      idleTimeout,
    });
    return values;
  }

  async open(): Promise<this> {
    return this;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const request of this.#open) request.end(clientClosed(request.isSent));
  }

  /** Starts the limits of a request. Rejects if it cannot start. */
  async #begin(id: string, options: SubscribeOptions, fail: (error: CallError) => void): Promise<OpenRequest> {
    if (this.#isClosed) throw clientClosed();
    const { deadline = Number.POSITIVE_INFINITY, timeout = 1, idleTimeout = 1, signal: given } = options;
    const left = deadline - Date.now();
    if (!(left > 0 && timeout > 0 && idleTimeout > 0) || (given && !given.addEventListener)) {
      throw (await loadFailures()).checkOptions(id, options) ?? timedOut(id, false);
    }
    if (given?.aborted) throw aborted(id, given.reason, false);
    const { pendingCalls } = this.#limits;
    if (this.#open.size >= pendingCalls)
      throw limitExceeded("Too many calls are pending", "pendingCalls", pendingCalls);
    const controller = new AbortController();
    const { signal } = controller;
    const end = (error?: CallError) => {
      if (!this.#open.delete(request)) return;
      timer.stop();
      stopListening();
      if (error !== undefined) fail(error);
      controller.abort();
    };
    const request: OpenRequest = { id, options, signal, isSent: false, hasResponse: false, end };
    this.#open.add(request);
    const timer = startTimer(() => end(timedOut(id, request.isSent)), left);
    const stopListening = onAbort(given, (reason) => end(aborted(id, reason, request.isSent)));
    return request;
  }

  async #send(request: OpenRequest, input: unknown, accept: string): Promise<Response> {
    const { id, signal, options } = request;
    const { fetch: send = globalThis.fetch, headers: own = {}, token } = this.#options;
    const { namespace = ".", name = "" } = parseOperationId(id) ?? {};
    const path = formatOperationPath(namespace, name);
    if (path === undefined) throw operationNotFound(id);
    const isSimple = input === undefined || isJSON(input, maxSimpleDepth);
    const body = isSimple ? JSON.stringify(input) : (await loadFailures()).toInputText(id, input);
    const headers: Record<string, string> = {};
    const setHeader = (header: string, value: unknown) => {
      if (typeof value !== "string") return;
      if (!/^[\w-]+$/.test(header) || !/^[\x20-\x7e]*$/.test(value)) throw invalidHeader(`header ${quote(header)}`);
      headers[header.toLowerCase()] = value;
    };
    for (const header in own) setHeader(header, own[header]);
    for (const header of traceContext) setHeader(header, options.metadata?.[header]);
    setHeader("last-event-id", options.lastEventId);
    setHeader("request-id", options.requestId);
    setHeader("accept", accept);
    if (body !== undefined) setHeader("content-type", "application/json");
    const bearer = await readToken(id, token);
    if (bearer) {
      if (!/^[\x21-\x7e]+$/.test(bearer)) throw invalidHeader("token");
      headers["authorization"] = `Bearer ${bearer}`;
    }
    signal.throwIfAborted(); // The request has ended, and its error is already reported.
    const seconds = Math.ceil((options.deadline! - Date.now()) / 1_000);
    if (seconds < Number.POSITIVE_INFINITY) setHeader("prefer", `wait=${seconds}`);
    request.isSent = true;
    const init: RequestInit = { method: "POST", headers, redirect: "manual", signal };
    const response = await send(this.#base + path, body === undefined ? init : { ...init, body });
    request.hasResponse = true;
    return response;
  }

  /** Converts a failure. The message of a network error is not passed on, because it may contain header values and URLs. */
  async #toCallError({ id, isSent, hasResponse }: OpenRequest, error: unknown): Promise<CallError> {
    if (isCallError(error)) return error;
    const { cause, code } = Object(error) as { cause?: unknown; code?: unknown };
    // Browsers report no cause, and may be offline.
    const isKnown = cause !== undefined || typeof code === "string";
    const explain = isKnown ? await loadFailures().catch(() => undefined) : undefined;
    const failure = explain?.findNetworkFailure(error);
    if (failure?.kind === "malformed") return badResponse(id, failure.reason!);
    const isLost = hasResponse || error instanceof ConnectionLost;
    const isTLS = failure?.kind === "tls"; // A certificate that was refused once is refused again.
    const isUnsent = isTLS || failure?.kind === "connect";
    const problem = isLost
      ? `The connection to ${this.#origin} was lost before ${quote(id)} ended`
      : `The server at ${this.#origin} could not be reached`;
    const known = failure && `${failure.reason ?? "the connection failed"} (${failure.code})`;
    const reason = error instanceof ConnectionLost ? error.message : known;
    const flags = { retryable: isLost || !isTLS, mayHaveRun: isLost || (isSent && !isUnsent) };
    return new CallError("UNAVAILABLE", `${problem}${reason ? `: ${reason}` : ""}.`, undefined, flags);
  }
}

/** Loads what explains rare failures. */
function loadFailures() {
  return loadPart(() => import("./failures.ts"));
}

/** Loads a part of the client. A bundler may have split it into a separate file. */
async function loadPart<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    throw unavailable("A part of the client could not be loaded.", { cause, mayHaveRun: false });
  }
}

async function readToken(id: string, token: ConnectOptions["token"]): Promise<string | undefined> {
  try {
    return await (typeof token === "function" ? token() : token);
  } catch (cause) {
    throw unavailable(`The token for a call to ${quote(id)} is not available.`, { cause, mayHaveRun: false });
  }
}

/** `VALIDATION_ERROR`: `fetch` would report the value itself, which may be a secret. */
function invalidHeader(label: string): CallError {
  const message = `The ${label} contains characters that are not allowed in a header. Use printable ASCII.`;
  return new CallError("VALIDATION_ERROR", message, undefined, { mayHaveRun: false });
}
