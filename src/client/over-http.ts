import type { CallingTransport, TransportCaller } from "../call/outgoing/index.ts";
import { BodyTooLarge } from "../internal/body.ts";
import { quote } from "../internal/text.ts";
import { withoutTrailingSlashes } from "../internal/urls.ts";
import {
  CallError,
  isCallError,
  type Limits,
  operationNotFound,
  parseOperationId,
  resolveLimits,
} from "../operation/inside.ts";
import { envelopeType, eventStreamType, formatOperationPath, toJSONText } from "../transport/http-form.ts";
import { findNetworkFailure } from "../transport/network-error.ts";
import { type CallRequested, type ReplyFrame, type SendFollowUp, toFailedFrame } from "../transport/transport.ts";
import type { ConnectOptions } from "./connect.ts";
import { EventTooLarge } from "./event-reader.ts";
import { awaitServer, ConnectionLost, MalformedResponse, readValues } from "./http-reply.ts";
import { openTransport } from "./over-transport.ts";

/** Maximum size of the metadata of a call, in characters. Servers limit the size of all headers together. */
const maxMetadataLength = 8_192;

const notRun = { mayHaveRun: false };

/** Sends a request. Of `fetch` and its response, only what {@link readValues} reads is used. */
type Send = (url: string, init: RequestInit) => Promise<Response>;

/** Calls the HTTP server at a URL. */
export function openHTTP(url: URL, options: ConnectOptions, send?: Send): TransportCaller {
  return openTransport(new HTTPTransport(url, options, send), options);
}

/** Sends each call as one request to a server of this package. The token is sent with every request. */
class HTTPTransport implements CallingTransport {
  readonly name = "http";
  readonly capabilities = { authenticatesReplies: true };
  readonly #origin: string;
  readonly #base: string;
  readonly #headers: Record<string, string> = {};
  readonly #limits: Readonly<Required<Limits>>;
  readonly #send: Send;

  /** @param url the server's base URL, without credentials, query and fragment */
  constructor(
    url: URL,
    { headers = {}, limits }: Pick<ConnectOptions, "headers" | "limits">,
    send: Send = (to, init) => fetch(to, init),
  ) {
    this.#origin = url.origin;
    this.#base = withoutTrailingSlashes(url.origin + url.pathname);
    for (const [name, value] of Object.entries(headers)) {
      if (!/^[\w-]+$/.test(name) || !/^[\x20-\x7e]*$/.test(value)) throw invalidHeader(`header ${quote(name)}`);
      this.#headers[name.toLowerCase()] = value;
    }
    this.#limits = resolveLimits(limits);
    this.#send = send;
  }

  request(operationId: string, frame: CallRequested, onReply: (frame: ReplyFrame) => void): SendFollowUp {
    const { requestId } = frame;
    const isSubscription = frame.credit !== undefined;
    const controller = new AbortController();
    const url = this.#base + toPath(operationId);
    const init = this.#toRequest(frame, controller.signal);
    let hasResponse = false;
    /** Number of values that the consumer accepts now. One value is delivered ahead of the consumer. */
    let credit = 1;
    let wake: (() => void) | undefined;
    const exchange = async () => {
      const responding = this.#send(url, init);
      const response = await (isSubscription ? awaitServer(responding) : responding);
      hasResponse = true;
      let seq = 0;
      for await (const output of readValues(operationId, response, isSubscription, this.#limits)) {
        if (!isSubscription) return onReply({ type: "call.responded", requestId, output });
        while (credit === 0) await new Promise<void>((resolve) => (wake = resolve));
        credit -= 1;
        onReply({ type: "call.responded", requestId, output, seq: seq++, creditDue: true });
      }
      onReply({ type: "call.completed", requestId });
    };
    exchange().catch((error) => {
      if (controller.signal.aborted) return; // The caller has ended the call.
      onReply(toFailedFrame(requestId, this.#toCallError(operationId, error, hasResponse)));
      controller.abort(); // Closes the connection of a response that was not read to its end.
    });
    return (followUp) => {
      if (followUp.type === "call.aborted") controller.abort();
      if (followUp.type !== "call.credited") return;
      credit += followUp.count;
      wake?.();
    };
  }

  /** Has no effect: the caller aborts its pending requests, and idle connections are closed by the runtime. */
  async close(): Promise<void> {}

  #toRequest(
    { operationId, input, token, metadata, timeout, credit }: CallRequested,
    signal: AbortSignal,
  ): RequestInit {
    const headers: Record<string, string> = {
      ...this.#headers,
      accept: credit === undefined ? envelopeType : `${eventStreamType}, ${envelopeType}`,
    };
    if (token !== undefined && token !== "") {
      if (!/^[\x21-\x7e]+$/.test(token)) throw invalidHeader("token");
      headers["authorization"] = `Bearer ${token}`;
    }
    if (timeout !== undefined) headers["prefer"] = `wait=${Math.ceil(timeout / 1_000)}`;
    if (metadata !== undefined) headers["operation-metadata"] = this.#formatMetadata(metadata);
    const body = toJSONText(input, `input of ${quote(operationId)}`, this.#limits.jsonDepth, notRun);
    if (body !== undefined) headers["content-type"] = "application/json";
    return { method: "POST", headers, redirect: "manual", signal, ...(body !== undefined && { body }) };
  }

  #formatMetadata(metadata: Record<string, unknown>): string {
    const json = toJSONText(metadata, "metadata", this.#limits.jsonDepth, notRun) ?? "{}";
    // Header values are ASCII. In JSON, any other character has an escaped form.
    const ascii = json.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
    if (ascii.length <= maxMetadataLength) return ascii;
    const message = `The metadata of a call over HTTP has at most ${maxMetadataLength} characters. Pass large values as input.`;
    throw new CallError("PAYLOAD_TOO_LARGE", message, { allowed: maxMetadataLength }, { mayHaveRun: false });
  }

  /** Converts a failure. The message of a network error is not passed on, because it may contain header values and URLs. */
  #toCallError(operationId: string, error: unknown, hasResponse: boolean): CallError {
    if (isCallError(error)) return error;
    const id = quote(operationId);
    if (error instanceof BodyTooLarge || error instanceof EventTooLarge) {
      const limit = error instanceof BodyTooLarge ? "responseBytes" : "eventBytes";
      const allowed = this.#limits[limit];
      const message = `The response to ${id} is larger than ${allowed} bytes. If this is intended, raise limits.${limit}.`;
      return new CallError("PAYLOAD_TOO_LARGE", message, { limit, allowed });
    }
    const failure = findNetworkFailure(error);
    const problem =
      error instanceof MalformedResponse ? error.message : failure?.kind === "malformed" && failure.reason;
    if (problem) return new CallError("BAD_RESPONSE", `The response to ${id} ${problem}.`, { operationId });
    const isLost = error instanceof ConnectionLost;
    const known = failure && `: ${failure.reason ?? "the connection failed"} (${failure.code})`;
    const reason = isLost ? `: ${error.message}` : (known ?? "");
    if (hasResponse || isLost) {
      const message = `The connection to ${this.#origin} was lost before ${id} ended${reason}.`;
      return new CallError("UNAVAILABLE", message, undefined, { retryable: true });
    }
    return new CallError("UNAVAILABLE", `The server at ${this.#origin} could not be reached${reason}.`, undefined, {
      retryable: failure?.kind !== "tls", // A certificate that was refused once is refused again.
      mayHaveRun: failure?.kind !== "connect" && failure?.kind !== "tls",
    });
  }
}

/** Returns the path of an operation below the server's base path. */
function toPath(operationId: string): string {
  const { namespace = ".", name = "" } = parseOperationId(operationId) ?? {};
  const path = formatOperationPath(namespace, name);
  if (path === undefined) throw operationNotFound(operationId);
  return path;
}

/** `VALIDATION_ERROR`: `fetch` would report the value itself, which may be a secret. */
function invalidHeader(label: string): CallError {
  const message = `The ${label} contains characters that are not allowed in a header. Use printable ASCII.`;
  return new CallError("VALIDATION_ERROR", message, undefined, { mayHaveRun: false });
}
