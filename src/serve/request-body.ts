import { type Limits, validationError } from "../operation/inside.ts";
import { isNestedDeeper } from "../transport/json-depth.ts";
import type { Exchange } from "./exchange.ts";
import { HTTPError, unsupportedType } from "./refusals.ts";

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
  if (isJSONType(headers.get("content-type")) && headers.get("content-encoding") === null) {
    const bytes = await exchange.bytes(limits.requestBytes);
    return bytes.byteLength === 0 ? undefined : parseJSON(decode(bytes), limits.jsonDepth, "body");
  }
  // Only reading shows whether there is a body, for example after `curl -X POST`, which sends neither type nor length.
  await exchange.bytes(0).catch((error) => {
    throw error instanceof HTTPError && error.status === 413 ? unsupportedType() : error;
  });
  return undefined;
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

/** Decodes UTF-8, without a byte order mark. Other bytes are refused: replacing them would change the input. */
function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw unsupportedType();
  }
}
