import { quote } from "../internal/text.ts";
import { waitFor } from "../internal/wait.ts";
import { CallError, type Limits, type ResponseEnvelope } from "../operation/inside.ts";
import { cancelBody, readBody } from "../transport/http-body.ts";
import {
  envelopeLevels,
  envelopeType,
  eventStreamType,
  problemType,
  readEnvelope,
  readProblem,
} from "../transport/http-form.ts";
import { isNestedDeeper } from "../transport/json-depth.ts";
import { EventReader } from "./event-reader.ts";

/** Maximum silence of the server of a subscription, in ms. It sends a comment every 15 seconds. */
const maxSilenceMs = 60_000;

type ReplyLimits = Pick<Required<Limits>, "responseBytes" | "eventBytes" | "jsonDepth">;

/** A response that cannot be read. The message completes "The response to …". */
export class MalformedResponse extends Error {}

/** A connection that was lost. The message is the reason. */
export class ConnectionLost extends Error {}

/** Rejects if the server of a subscription is silent: its connection is lost, which is otherwise not noticed. */
export function awaitServer<T>(promise: Promise<T>): Promise<T> {
  const toError = () => new ConnectionLost(`no data arrived within ${maxSilenceMs} ms`);
  return waitFor(promise, { timeout: maxSilenceMs }, toError);
}

/**
 * Reads the values of a response: one, or those of a subscription. Throws the error of a call that failed. The caller
 * checks that the values are envelopes.
 */
export async function* readValues(
  operationId: string,
  response: Response,
  isSubscription: boolean,
  limits: ReplyLimits,
): AsyncGenerator<ResponseEnvelope, void> {
  const { body, ok } = response;
  const type = essence(response);
  if (type === problemType) throw readProblem(await readJSON(response, limits)) ?? unexpected(operationId, response);
  if (ok && isSubscription && type === eventStreamType && body !== null) yield* readStream(body, limits);
  else if (ok && !isSubscription && type === envelopeType) yield toEnvelope(await readJSON(response, limits));
  else {
    cancelBody(body);
    throw unexpected(operationId, response);
  }
}

async function* readStream(
  body: ReadableStream<Uint8Array>,
  limits: ReplyLimits,
): AsyncGenerator<ResponseEnvelope, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const events = new EventReader(limits.eventBytes);
  try {
    for (;;) {
      const part = await awaitServer(reader.read());
      if (part.done) throw new ConnectionLost("the stream ended without its last event");
      for (const { type, data } of events.read(decode(decoder, part.value))) {
        if (type === "end") return;
        if (data === undefined) continue;
        const json = parse(data, limits);
        if (type === "problem") throw readProblem(json) ?? new MalformedResponse("contains a problem without a code");
        yield toEnvelope(json);
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

async function readJSON(response: Response, limits: ReplyLimits): Promise<unknown> {
  const bytes = await readBody(response, limits.responseBytes);
  return parse(decode(new TextDecoder("utf-8", { fatal: true }), bytes), limits);
}

function decode(decoder: TextDecoder, bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes, { stream: true });
  } catch {
    throw new MalformedResponse("is not UTF-8");
  }
}

function parse(text: string, { jsonDepth }: ReplyLimits): unknown {
  if (isNestedDeeper(text, jsonDepth + envelopeLevels)) {
    throw new MalformedResponse(`is nested more than ${jsonDepth} levels deep`);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new MalformedResponse("is not JSON"); // no cause: the parser's message quotes the input
  }
}

function toEnvelope(json: unknown): ResponseEnvelope {
  const envelope = readEnvelope(json);
  if (envelope === undefined) throw new MalformedResponse("has data in an unknown encoding");
  return envelope;
}

/** Codes of the statuses of proxies whose meaning is certain. */
const foreignCodes: Readonly<Record<number, string>> = {
  401: "UPSTREAM_DENIED",
  403: "UPSTREAM_DENIED",
  413: "PAYLOAD_TOO_LARGE",
  429: "LIMIT_EXCEEDED",
  502: "UNAVAILABLE",
  503: "UNAVAILABLE",
  504: "UNAVAILABLE",
};

/**
 * Creates the error for a response that a server of this package does not send, such as the page of a proxy, or a
 * redirect, which is not followed, because the token must not reach another server.
 */
function unexpected(operationId: string, { status, headers }: Response): CallError {
  const contentType = headers.get("content-type") ?? "";
  const message = `The response to ${quote(operationId)} is not from a server of operations: it has status ${status} and content type ${quote(contentType)}. Check the URL of the server.`;
  const code = foreignCodes[status] ?? "BAD_RESPONSE";
  const retryable = code === "UNAVAILABLE" || code === "LIMIT_EXCEEDED";
  return new CallError(code, message, { operationId, status, contentType: contentType.slice(0, 200) }, { retryable });
}

/** Returns the media type of a response, in lower case and without parameters. */
function essence(response: Response): string {
  const [type = ""] = (response.headers.get("content-type") ?? "").split(";", 1);
  return type.trim().toLowerCase();
}
