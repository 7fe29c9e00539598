import { CallError } from "../../../operation/index.ts";

/** `PAYLOAD_TOO_LARGE` for a response over HTTP. */
export function responseTooLarge(limit: number): CallError {
  return new CallError("PAYLOAD_TOO_LARGE", `The response has more than ${limit} bytes.`, {
    limit: "responseBytes",
    allowed: limit,
  });
}

/** Ends a body after `limit` decoded bytes, so that a small compressed response cannot exhaust the memory. */
export function truncateBody(body: ReadableStream<Uint8Array>, limit: number): ReadableStream<Uint8Array> {
  let size = 0;
  return passWhile(body, (chunk) => {
    size += chunk.byteLength;
    return size <= limit ? undefined : chunk.subarray(0, chunk.byteLength - (size - limit));
  });
}

/**
 * Forwards an event stream until one of its events has more than `limit` bytes. Then it ends the stream and calls
 * `onTooLarge`.
 */
export function boundEvents(
  body: ReadableStream<Uint8Array>,
  limit: number,
  onTooLarge: () => void,
): ReadableStream<Uint8Array> {
  let eventSize = 0;
  return passWhile(body, (chunk) => {
    eventSize = sizeAfterBlankLine(chunk) ?? eventSize + chunk.byteLength;
    if (eventSize <= limit) return undefined;
    onTooLarge();
    return chunk.subarray(0, 0);
  });
}

/** Forwards chunks until `check` returns the last part to forward. Then it closes the connection. */
function passWhile(
  body: ReadableStream<Uint8Array>,
  check: (chunk: Uint8Array) => Uint8Array | undefined,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) return controller.close();
      const last = check(value);
      if (last === undefined) return controller.enqueue(value);
      reader.cancel().catch(() => {});
      if (last.byteLength > 0) controller.enqueue(last);
      controller.close();
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/**
 * Returns the number of bytes after the last blank line, which ends an event, or `undefined` without a blank line. A
 * blank line that is split between two chunks is not found. This only makes the next event appear longer.
 */
function sizeAfterBlankLine(chunk: Uint8Array): number | undefined {
  for (let at = chunk.byteLength - 1; at > 0; at--) {
    at = chunk.lastIndexOf(lineFeed, at);
    if (at <= 0) break;
    const before = chunk[at - 1];
    if (before === lineFeed || (before === carriageReturn && chunk[at - 2] === lineFeed)) {
      return chunk.byteLength - at - 1;
    }
  }
  return undefined;
}

/**
 * Limits `text()` and `json()` of a response to `limit` decoded bytes, and closes the connection above the limit. The
 * SDK uses only these two methods to read responses that are not streams. Wrapping the body in a stream would make a
 * call 20% slower.
 */
export function boundReading(response: Response, limit: number): Response {
  const text = () => readText(response, limit);
  Object.defineProperty(response, "text", { value: text });
  Object.defineProperty(response, "json", { value: async () => JSON.parse(await text()) });
  return response;
}

async function readText({ body }: Response, limit: number): Promise<string> {
  if (body === null) return "";
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (let size = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.byteLength;
    if (size > limit) {
      reader.cancel().catch(() => {});
      throw responseTooLarge(limit);
    }
    text += decoder.decode(value, { stream: true });
  }
}
