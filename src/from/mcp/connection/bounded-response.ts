import { CallError } from "../../../operation/index.ts";

/** `PAYLOAD_TOO_LARGE` for a response over HTTP. */
export function responseTooLarge(limit: number): CallError {
  return new CallError("PAYLOAD_TOO_LARGE", `The response has more than ${limit} bytes.`, {
    limit: "responseBytes",
    allowed: limit,
  });
}

/** Ends a body after `limit` decoded bytes, so that a small compressed response cannot fill the memory. */
export function truncateBody(body: ReadableStream<Uint8Array>, limit: number): ReadableStream<Uint8Array> {
  let size = 0;
  return passWhile(body, (chunk) => {
    size += chunk.byteLength;
    return size <= limit ? undefined : chunk.subarray(0, chunk.byteLength - (size - limit));
  });
}

/**
 * Passes an event stream on until one of its events has more than `limit` bytes. Then the stream ends, and `onTooLarge`
 * is called.
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

/** Passes chunks on until `check` returns the last part to pass. Then the connection is closed. */
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
 * Number of bytes after the last blank line, which ends an event; `undefined` without one. A blank line that is split
 * between two chunks is missed, which only makes the next event seem longer.
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
 * Bounds `text()` and `json()` of a response to `limit` decoded bytes; the SDK reads responses without a stream by no
 * other method. Above the limit the connection is closed. A stream around the body would cost a fifth of a call.
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
