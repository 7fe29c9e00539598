import { logger, reportFailure } from "../internal/log.ts";
import { CallError, type Limits, validationError } from "../operation/inside.ts";
import { BodyTooLarge, readBody } from "../transport/http-body.ts";
import { statusTexts } from "../transport/http-form.ts";
import { isNestedDeeper } from "../transport/json-depth.ts";
import { bodyTooLarge, bodyUsed, HTTPError, unsupportedType } from "./refusals.ts";
import type { FetchInfo } from "./server.ts";
import { type Heartbeat, type RunStream, runStream, type TextSink } from "./stream-writer.ts";

const log = logger("serve");

/**
 * A request and its response, the same for every host: Node's sockets, and functions from a `Request` to a `Response`.
 * Reply once: with `reply`, `stream` or `send`. A further reply, or one to a client that has disconnected, has no effect.
 */
export interface Exchange {
  /** Method, in upper case. */
  readonly method: string;
  /** The absolute URL, normalised as by `URL`. */
  readonly url: string;
  /** The path of the URL, still percent-encoded. */
  readonly path: string;
  /** The query of the URL without its question mark; `""` without a query. */
  readonly query: string;
  /** The headers. Names are case-insensitive, and repeated headers are joined with a comma. */
  readonly headers: Pick<Headers, "get" | "has">;
  /** The path at which the server is mounted, such as `/api`; `undefined` for the root. */
  readonly basePath: string | undefined;
  /** Address of the client, if the host knows it. */
  readonly remoteAddress: string | undefined;
  /** Whether the operator allowed public access without authentication. */
  readonly allowPublic: boolean | undefined;
  /**
   * Reads the body; without one, the result is empty. Rejects with an `HTTPError` if it is larger than `maxBytes` or was
   * read before, and with `ABORTED` if the client disconnects. A client that waits for `100 Continue` receives it now.
   */
  bytes(maxBytes: number): Promise<Uint8Array>;
  /** Calls the listener when the client has disconnected or the response was sent, also if that has happened already. */
  onClose(listener: () => void): void;
  /** Sends a response. Its body is not sent to a HEAD request. */
  reply(status: number, headers: Readonly<Record<string, string>>, body?: string | Uint8Array | null): void;
  /**
   * Sends a response with status 200 whose body `run` writes. It ends when `run` resolves, and breaks off when `run`
   * rejects. What is written in one turn of the event loop is sent together. For a HEAD request, `run` is not called.
   */
  stream(headers: Readonly<Record<string, string>>, run: RunStream, heartbeat?: Heartbeat): void;
  /** The request for servers that need one. It has no body if `bytes` has read it. */
  toRequest(): Request;
  /** Sends the response of a server that returns one. */
  send(response: Response): void;
}

/** The headers of a request of Node, read as `Headers` does: names are case-insensitive, and repeated headers are joined. */
export class RawHeaders implements Pick<Headers, "get" | "has"> {
  /** Names and values alternate. Of some repeated headers, the `headers` of Node have only the first. */
  readonly raw: readonly string[];

  constructor(raw: readonly string[]) {
    this.raw = raw;
  }

  get(wanted: string): string | null {
    const { raw } = this;
    let found: string | null = null;
    for (let index = 0; index < raw.length; index += 2) {
      const sent = raw[index]!;
      // Servers look for headers that most requests do not have, so names of another length are skipped first.
      if (sent.length !== wanted.length || (sent !== wanted && sent.toLowerCase() !== wanted.toLowerCase())) continue;
      const value = raw[index + 1]!.trim();
      found = found === null ? value : found + (sent.toLowerCase() === "cookie" ? "; " : ", ") + value;
    }
    return found;
  }

  has(wanted: string): boolean {
    return this.get(wanted) !== null;
  }
}

/** Handles an exchange: replies before or after it returns. */
export type HandleExchange = (exchange: Exchange) => void | Promise<void>;

/** Handles an exchange. An error of the server is logged, and the client receives status 500 without its message. */
export async function handleSafely<E extends Exchange>(
  exchange: E,
  handle: (exchange: E) => void | Promise<void>,
): Promise<void> {
  try {
    await handle(exchange);
  } catch (error) {
    reportFailure(log, "A server failed to handle a request: {error}", error);
    replyProblem(exchange, 500, "The server failed to handle the request.");
  }
}

/** Only UTF-8, and no other parameter: a list of types or a type with trailing characters is refused. */
const jsonType = /^application\/json[ \t]*(?:;[ \t]*(?:charset="?utf-8"?[ \t]*)?)?$/i;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads and parses the JSON body of an exchange. Returns `undefined` for an empty body. Rejects with an `HTTPError` if it has
 * another type or exceeds the limit, and with `VALIDATION_ERROR` if it is not JSON.
 */
export async function readJSONBody(
  exchange: Pick<Exchange, "headers" | "bytes">,
  limits: Readonly<Required<Limits>>,
): Promise<unknown> {
  const { headers } = exchange;
  if (!jsonType.test(headers.get("content-type") ?? "") || headers.get("content-encoding") !== null) {
    // Only reading shows whether there is a body, for example after `curl -X POST`, which sends neither type nor length.
    await exchange.bytes(0).catch((error) => {
      throw error instanceof HTTPError && error.status === 413 ? unsupportedType() : error;
    });
    return undefined;
  }
  const bytes = await exchange.bytes(limits.requestBytes);
  if (bytes.byteLength === 0) return undefined;
  let text: string;
  try {
    text = utf8.decode(bytes); // Without a byte order mark.
  } catch {
    throw unsupportedType(); // Replacing other bytes would change the input.
  }
  return parseJSON(text, limits.jsonDepth, "body");
}

/**
 * Parses JSON of a client. Throws `VALIDATION_ERROR` if it is malformed or nested too deeply.
 * @param label - names the value in messages
 * @param path - JSON pointer to the value in what the label names
 */
export function parseJSON(text: string, maxDepth: number, label: string, path = ""): unknown {
  // Every level needs two characters, so a short string cannot be nested too deeply.
  const isTooDeep = text.length > 2 * maxDepth && isNestedDeeper(text, maxDepth);
  try {
    if (!isTooDeep) return JSON.parse(text);
  } catch {
    // Without a cause: the message of the parser quotes the input.
  }
  const message = isTooDeep ? `must not be nested more than ${maxDepth} levels deep` : "must be valid JSON";
  throw validationError(label, [{ path, message }]);
}

/** Sends problem details (RFC 9457) of a request that did not reach an operation. */
export function replyProblem(
  exchange: Pick<Exchange, "reply">,
  status: number,
  detail: string,
  headers?: Readonly<Record<string, string>>,
): void {
  const title = statusTexts[status] ?? "Error";
  const fixed = { "cache-control": "no-store", "x-content-type-options": "nosniff" };
  exchange.reply(
    status,
    { "content-type": "application/problem+json", ...fixed, ...headers },
    JSON.stringify({ title, status, detail }),
  );
}

/** The client has disconnected before it received the response. */
export function clientGone(cause?: unknown): CallError {
  return new CallError("ABORTED", "The client has disconnected.", undefined, { cause, mayHaveRun: false });
}

function ignore(): void {}

/** Lets a server handle a `Request`. Never rejects. */
export function respondWith(handle: HandleExchange, request: Request, info: FetchInfo | undefined): Promise<Response> {
  return new Promise((resolve) => void handleSafely(new WebExchange(request, info ?? {}, resolve), handle));
}

/** An exchange of hosts that pass a `Request` and send the `Response`, such as Hono, Next, Deno and Bun. */
class WebExchange implements Exchange {
  readonly method: string;
  readonly url: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Headers;
  readonly basePath: string | undefined;
  readonly remoteAddress: string | undefined;
  readonly allowPublic: boolean | undefined;
  readonly #request: Request;
  readonly #resolve: (response: Response) => void;
  readonly #closed = new AbortController();

  constructor(request: Request, info: FetchInfo, resolve: (response: Response) => void) {
    const { pathname, search } = new URL(request.url);
    this.method = request.method;
    this.url = request.url;
    this.path = pathname;
    this.query = search.slice(1);
    this.headers = request.headers;
    this.basePath = info.basePath || undefined;
    this.remoteAddress = info.remoteAddress;
    this.allowPublic = info.allowPublic;
    this.#request = request;
    this.#resolve = resolve;
  }

  async bytes(maxBytes: number): Promise<Uint8Array> {
    if (this.#request.bodyUsed) throw bodyUsed();
    try {
      return await readBody(this.#request, maxBytes);
    } catch (error) {
      throw error instanceof BodyTooLarge ? bodyTooLarge(maxBytes) : clientGone(error);
    }
  }

  onClose(listener: () => void): void {
    for (const { aborted } of [this.#request.signal, this.#closed.signal]) if (aborted) return listener();
    // A host may report a client that has disconnected with the signal, the stream, or both.
    const once = () => {
      this.#request.signal.removeEventListener("abort", once);
      this.#closed.signal.removeEventListener("abort", once);
      listener();
    };
    this.#request.signal.addEventListener("abort", once);
    this.#closed.signal.addEventListener("abort", once);
  }

  reply(status: number, headers: Readonly<Record<string, string>>, body: string | Uint8Array | null = null): void {
    const sent = this.method === "HEAD" || body === "" ? null : body;
    this.#resolve(new Response(sent as BodyInit | null, { status, headers }));
    this.#closed.abort(); // The host sends it from now on, and does not report when it has.
  }

  stream(headers: Readonly<Record<string, string>>, run: RunStream, heartbeat?: Heartbeat): void {
    if (this.method === "HEAD") return this.reply(200, headers);
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    const encoder = new TextEncoder();
    writer.closed.catch(() => this.#closed.abort()); // The host has cancelled the body.
    this.#resolve(new Response(readable, { headers }));
    const sink: TextSink = {
      write: async (text) => {
        if (text !== "") await writer.write(encoder.encode(text));
      },
      end: () => {
        writer.close().catch(ignore);
        this.#closed.abort();
      },
      breakOff: (error) => void writer.abort(error).catch(ignore),
    };
    void runStream(sink, run, heartbeat);
  }

  toRequest(): Request {
    return this.#request;
  }

  send(response: Response): void {
    this.#resolve(response);
  }
}
