/** Number of characters of messages that may wait for a client that does not read. A single message may exceed it. */
const maxWaiting = 16 * 1024;

/** Messages of which only the newest matters, such as progress. */
export interface Outbox<T> {
  /** Sends a message when the client has read the one before. If too much waits, it replaces the newest that waits. */
  add(message: T): void;
  /** Sends what waits, because the response follows. */
  flush(): void;
}

/**
 * Sends messages as fast as the client reads them. One that does not read would otherwise fill the memory.
 * @param send - resolves when the client has room for another message
 * @param sizeOf - returns the number of characters of a message. @default a single message may wait
 */
export function createOutbox<T>(
  send: (message: T) => Promise<unknown>,
  sizeOf: (message: T) => number = () => Number.POSITIVE_INFINITY,
): Outbox<T> {
  const waiting: T[] = [];
  let isSending = false;
  const sendAll = async () => {
    isSending = true;
    while (waiting.length > 0) await send(waiting.shift() as T).catch(() => {}); // The client has disconnected.
    isSending = false;
  };
  return {
    add(message) {
      if (waiting.reduce((sum, each) => sum + sizeOf(each), sizeOf(message)) > maxWaiting) waiting.pop();
      waiting.push(message);
      if (!isSending) void sendAll();
    },
    flush() {
      for (const message of waiting.splice(0)) send(message).catch(() => {});
    },
  };
}

/** The stream of a response of the SDK, which does not know whether the client reads what it sends. */
export class PacedStream {
  #isRead = false;
  #onRead = (): void => {};

  /** Resolves when the client has room for more. */
  readonly whenRead = (): Promise<void> => {
    return this.#isRead ? Promise.resolve() : new Promise((resolve) => (this.#onRead = resolve));
  };

  /** Passes on the stream to a client. */
  async pass(reader: ReadableStreamDefaultReader<Uint8Array>, write: (text: string) => Promise<void>): Promise<void> {
    const decoder = new TextDecoder();
    for (;;) {
      this.#isRead = true;
      this.#onRead();
      const { done, value } = await reader.read();
      this.#isRead = false;
      if (done) return;
      await write(decoder.decode(value, { stream: true }));
    }
  }
}
