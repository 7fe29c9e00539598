import { findNetworkFailure } from "../internal/network-error.ts";
import { NotJSON, stringifyStrictly } from "../internal/strict-json.ts";
import { quote } from "../internal/text.ts";
import { withoutTrailingSlashes } from "../internal/urls.ts";
import {
  CallError,
  isCallError,
  type Limits,
  operationNotFound,
  parseOperationId,
  resolveLimits,
  unavailable,
} from "../operation/index.ts";
import {
  type CallRequested,
  type ReplyFrame,
  type SendFollowUp,
  type Transport,
  toFailedFrame,
} from "../transport/transport.ts";
import type { ConnectOptions } from "./connect.ts";
import type { Connection } from "./connection.ts";
import { envelopeType, eventStreamType, HTTPReply } from "./http-reply.ts";
import { TransportConnection } from "./over-transport.ts";

/** Maximum size of the metadata of a call, in characters. Servers limit the size of all headers together. */
const maxMetadataLength = 8_192;

/** Maximum of `Prefer: wait`, in seconds. */
const maxWaitSeconds = 999_999_999;

/** Calls the HTTP server at a URL. The token is sent with every request. */
export function openHTTP(url: URL, options: ConnectOptions): Connection {
  return new TransportConnection(new HTTPTransport(url, options.limits), options);
}

/**
 * Sends each call as one request to a server of this package. It only makes calls: an HTTP server cannot call its
 * clients, and does not announce its operations.
 */
class HTTPTransport implements Transport {
  readonly name = "http";
  readonly capabilities = { authenticatesReplies: true };
  readonly #origin: string;
  readonly #base: string;
  readonly #limits: Readonly<Required<Limits>>;

  /** @param url the server's base URL, without credentials, query and fragment */
  constructor(url: URL, limits: Limits | undefined) {
    this.#origin = url.origin;
    this.#base = withoutTrailingSlashes(url.origin + url.pathname);
    this.#limits = resolveLimits(limits);
  }

  request(operationId: string, frame: CallRequested, onReply: (frame: ReplyFrame) => void): SendFollowUp {
    const url = this.#base + toPath(operationId);
    const controller = new AbortController();
    const init = this.#toRequest(frame, controller.signal);
    const reply = new HTTPReply(frame, this.#limits, onReply);
    this.#exchange(url, init, reply).catch((error) => {
      if (controller.signal.aborted) return; // The caller has ended the call.
      onReply(toFailedFrame(frame.requestId, this.#toCallError(frame, error, reply.hasResponse)));
      controller.abort(); // Closes the connection of a response that was not read to its end.
    });
    return (followUp) => {
      if (followUp.type === "call.credited") reply.addCredit(followUp.count);
      else if (followUp.type === "call.aborted") controller.abort();
    };
  }

  serve(): Promise<never> {
    return Promise.reject(onlyCalls());
  }

  announce(): Promise<never> {
    return Promise.reject(onlyCalls());
  }

  watchPeers(): () => void {
    return () => {};
  }

  /** Has no effect: the caller aborts its pending requests, and idle connections are closed by the runtime. */
  async close(): Promise<void> {}

  async #exchange(url: string, init: RequestInit, reply: HTTPReply): Promise<void> {
    await reply.read(await reply.awaitResponse(fetch(url, init)));
  }

  #toRequest(
    { operationId, input, token, metadata, timeout, credit }: CallRequested,
    signal: AbortSignal,
  ): RequestInit {
    const headers: Record<string, string> = {
      accept: credit === undefined ? envelopeType : `${eventStreamType}, ${envelopeType}`,
    };
    if (token !== undefined && token !== "") headers["authorization"] = `Bearer ${toHeaderValue(token)}`;
    if (timeout !== undefined) {
      headers["prefer"] = `wait=${Math.min(Math.max(Math.ceil(timeout / 1_000), 0), maxWaitSeconds)}`;
    }
    if (metadata !== undefined) headers["operation-metadata"] = this.#formatMetadata(metadata);
    const init: RequestInit = { method: "POST", headers, redirect: "manual", signal };
    const body = this.#stringify(`input of "${operationId}"`, input);
    if (body !== undefined) {
      headers["content-type"] = "application/json";
      init.body = body;
    }
    return init;
  }

  #formatMetadata(metadata: Record<string, unknown>): string {
    const json = this.#stringify("metadata", metadata) ?? "{}";
    // Header values are ASCII. In JSON, any other character has an escaped form.
    const ascii = json.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
    if (ascii.length <= maxMetadataLength) return ascii;
    const message = `The metadata of a call over HTTP has at most ${maxMetadataLength} characters. Pass large values as input.`;
    throw new CallError("PAYLOAD_TOO_LARGE", message, { allowed: maxMetadataLength }, { mayHaveRun: false });
  }

  #stringify(label: string, value: unknown): string | undefined {
    try {
      return stringifyStrictly(value, this.#limits.jsonDepth);
    } catch (error) {
      if (!(error instanceof NotJSON)) throw error;
      const { path, reason, cause } = error;
      const message = `The ${label} has a value at ${quote(path)} that cannot be sent: ${reason}.`;
      throw new CallError("EXECUTION_ERROR", message, { path, reason }, { cause, mayHaveRun: false });
    }
  }

  /** Converts a failure. The message of a network error is not passed on, because it may contain header values and URLs. */
  #toCallError({ operationId }: CallRequested, error: unknown, hasResponse: boolean): CallError {
    if (isCallError(error)) return error;
    const failure = findNetworkFailure(error);
    if (failure?.kind === "malformed") {
      const message = `The response to "${operationId}" ${failure.reason}.`;
      return new CallError("BAD_RESPONSE", message, { operationId });
    }
    const reason = failure === undefined ? "" : `: ${failure.reason ?? "the connection failed"} (${failure.code})`;
    if (hasResponse) {
      const message = `The connection to ${this.#origin} was lost before "${operationId}" ended${reason}.`;
      return unavailable(message, { mayHaveRun: true });
    }
    const message = `The server at ${this.#origin} could not be reached${reason}.`;
    const options = {
      retryable: failure?.kind !== "tls", // A certificate that was refused once is refused again.
      mayHaveRun: failure?.kind !== "connect" && failure?.kind !== "tls",
    };
    return new CallError("UNAVAILABLE", message, undefined, options);
  }
}

/**
 * Returns the path of an operation below the server's base path. A URL resolves segments that are dots, so a name with
 * such a segment would reach another operation.
 */
function toPath(operationId: string): string {
  const { namespace, name } = parseOperationId(operationId) ?? { namespace: "", name: ".." };
  const segments = [namespace, ...name.split("/")];
  if (segments.some((segment) => segment === "." || segment === "..")) throw operationNotFound(operationId);
  try {
    return segments.map((segment) => `/${encodeURIComponent(segment)}`).join("");
  } catch {
    throw operationNotFound(operationId); // a lone surrogate, which a name cannot contain
  }
}

/** Throws if a token cannot be part of a header. `fetch` would report the token itself. */
function toHeaderValue(token: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  const message = "The token contains characters that are not allowed in a header. Tokens consist of printable ASCII.";
  throw new CallError("VALIDATION_ERROR", message, undefined, { mayHaveRun: false });
}

function onlyCalls(): CallError {
  const message =
    "A connection to an HTTP server only makes calls. Serve operations with serveHTTP or another transport.";
  return new CallError("EXECUTION_ERROR", message, undefined, { mayHaveRun: false });
}
