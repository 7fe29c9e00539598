const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/**
 * Passes an event stream on until one of its events is larger than `limit` bytes. Then the connection is given up, the
 * stream ends, and `onTooLarge` is told.
 */
export function boundEvents(
  body: ReadableStream<Uint8Array>,
  limit: number,
  onTooLarge: () => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let eventSize = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) return controller.close();
      const rest = sizeAfterBlankLine(value);
      eventSize = rest ?? eventSize + value.byteLength;
      if (eventSize <= limit) return controller.enqueue(value);
      reader.cancel().catch(() => {});
      controller.close();
      onTooLarge();
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/**
 * How many bytes follow the last blank line, which ends an event; `undefined` without one. One that is cut in two by
 * the network is missed, which only makes the next event seem longer.
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
