/** Frames wait for company up to this many characters. */
export const fullLetter = 64 * 1024;

/**
 * Gathers the frames that go to one address in one turn into one message, because for every engine a message costs
 * many times what a frame does.
 */
export class Mailbag {
  readonly #send: (address: string, text: string) => void;
  readonly #maxMessage: () => number;
  readonly #letters = new Map<string, string>();
  #isDeferred = false;

  /** @param maxMessage how large a message may be now, in bytes */
  constructor(send: (address: string, text: string) => void, maxMessage: () => number) {
    this.#send = send;
    this.#maxMessage = maxMessage;
  }

  push(address: string, text: string): void {
    const waiting = this.#letters.get(address);
    if (waiting === undefined) {
      this.#letters.set(address, text);
    } else if (waiting.length + text.length < this.#room()) {
      this.#letters.set(address, `${waiting}\n${text}`);
    } else {
      this.#send(address, waiting);
      this.#letters.set(address, text);
    }
    if (this.#isDeferred) return;
    this.#isDeferred = true;
    setImmediate(this.#flushDeferred);
  }

  /** Sends everything that waits. */
  flush(): void {
    for (const [address, text] of this.#letters) this.#send(address, text);
    this.#letters.clear();
  }

  /** In characters, of which each takes three bytes at most. */
  #room(): number {
    return Math.min(fullLetter, this.#maxMessage() / 3);
  }

  readonly #flushDeferred = (): void => {
    this.#isDeferred = false;
    this.flush();
  };
}
