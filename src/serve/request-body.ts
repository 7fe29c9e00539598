import { BodyTooLarge, readBody } from "../internal/body.ts";
import { isNestedDeeper } from "../internal/json-depth.ts";
import { type Limits, validationError } from "../operation/inside.ts";
import type { Exchange } from "./exchange.ts";
import { bodyTooLarge, bodyUsed, HTTPError, unsupportedType } from "./refusals.ts";
import type { FetchInfo } from "./server.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads a JSON body. Returns `undefined` if there is no body. Throws or rejects with an `HTTPError` if the body has another
 * type or exceeds the limit. Rejects with another error if the client disconnects.
 */
export function readJSONBytes(
  request: Request,
  info: FetchInfo | undefined,
  { requestBytes }: Readonly<Required<Limits>>,
): Promise<ArrayBuffer | Uint8Array> | undefined {
  const headers = info?.headers ?? request.headers;
  const length = headers.get("content-length");
  if (length === "0" || (length === null && request.body === null)) return undefined;
  if (length !== null && !(Number(length) <= requestBytes)) throw bodyTooLarge(requestBytes);
  if (info?.readBytes === undefined && request.bodyUsed) throw bodyUsed();
  const isAccepted = isJSONType(headers.get("content-type")) && headers.get("content-encoding") === null;
  // Only reading shows whether there is a body, for example after `curl -X POST`, which sends neither type nor length.
  if (length === null) return readUnmeasured(request, isAccepted ? requestBytes : undefined);
  if (!isAccepted) throw unsupportedType();
  // Reading the stream is slow in Node, and unnecessary if the length is known: the parser of the host enforces it.
  return info?.readBytes?.() ?? request.arrayBuffer();
}

/**
 * Reads and parses the JSON body of an exchange. Returns `undefined` for an empty body. Rejects with an `HTTPError` if it has
 * another type or exceeds the limit, and with `VALIDATION_ERROR` if it is not JSON.
 */
export async function readJSONBody(
  exchange: Pick<Exchange, "headers" | "bytes">,
  limits: Readonly<Required<Limits>>,
): Promise<unknown> {
  const { headers } = exchange;
  if (isJSONType(headers.get("content-type")) && headers.get("content-encoding") === null) {
    return parseJSONBody(await exchange.bytes(limits.requestBytes), limits);
  }
  // Only reading shows whether there is a body, for example after `curl -X POST`, which sends neither type nor length.
  await exchange.bytes(0).catch((error) => {
    throw error instanceof HTTPError && error.status === 413 ? unsupportedType() : error;
  });
  return undefined;
}

/** Parses a body. Returns `undefined` for a missing or empty one. Throws if it is not JSON in UTF-8, or exceeds a limit. */
export function parseJSONBody(
  bytes: ArrayBuffer | Uint8Array | undefined,
  { requestBytes, jsonDepth }: Readonly<Required<Limits>>,
): unknown {
  if (bytes === undefined || bytes.byteLength === 0) return undefined;
  if (bytes.byteLength > requestBytes) throw bodyTooLarge(requestBytes);
  return parseJSON(decode(bytes), jsonDepth, "body");
}

/**
 * Parses JSON of a client. Throws `VALIDATION_ERROR` if it is malformed or nested too deeply.
 * @param label - names the value in messages
 * @param path - JSON pointer to the value in what the label names
 */
export function parseJSON(text: string, maxDepth: number, label: string, path = ""): unknown {
  const isTooDeep = isNestedDeeper(text, maxDepth);
  try {
    if (!isTooDeep) return JSON.parse(text);
  } catch {
    // Without a cause: the message of the parser quotes the input.
  }
  const message = isTooDeep ? `must not be nested more than ${maxDepth} levels deep` : "must be valid JSON";
  throw validationError(label, [{ path, message }]);
}

/** Only UTF-8, and no other parameter: a list of types or a type with trailing characters is refused. */
function isJSONType(type: string | null): boolean {
  if (type === "application/json") return true;
  return type !== null && /^application\/json[ \t]*(?:;[ \t]*(?:charset="?utf-8"?[ \t]*)?)?$/i.test(type);
}

/** @param limit - `undefined` if a body is refused, because of its type */
async function readUnmeasured(request: Request, limit: number | undefined): Promise<Uint8Array> {
  try {
    return await readBody(request, limit ?? 0);
  } catch (error) {
    if (!(error instanceof BodyTooLarge)) throw error;
    throw limit === undefined ? unsupportedType() : bodyTooLarge(limit);
  }
}

/** Decodes UTF-8, without a byte order mark. Other bytes are refused: replacing them would change the input. */
function decode(bytes: ArrayBuffer | Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw unsupportedType();
  }
}
