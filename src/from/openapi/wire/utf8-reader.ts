/** Thrown by {@link UTF8Reader} for bytes that are not UTF-8. */
export class InvalidUTF8 extends Error {
  /** The valid string before these bytes in the same chunk. */
  readonly text: string;

  constructor(text: string) {
    super("The bytes are not valid UTF-8.");
    this.text = text;
  }
}

/**
 * Decodes chunks of UTF-8 and removes one leading byte order mark. The decoder of Node 24 removes two of them when the
 * first chunk is shorter than a mark, so it is configured to keep them.
 */
export class UTF8Reader {
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  /** The last two bytes: a U+FFFD in the input may be split between chunks. */
  #last: number[] = [];
  #isFresh = true;

  /**
   * Returns the string of the next chunk, without an incomplete last character. Without a chunk it returns the rest.
   * @throws InvalidUTF8
   */
  read(bytes?: Uint8Array): string {
    const text = bytes === undefined ? this.#decoder.decode() : this.#decoder.decode(bytes, { stream: true });
    if (text.includes("\ufffd")) this.#assertSent(text, bytes ?? new Uint8Array());
    if (bytes !== undefined) this.#last = [...this.#last, ...bytes.subarray(-2)].slice(-2);
    if (!this.#isFresh || text === "") return text;
    this.#isFresh = false;
    return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  }

  /** Throws for invalid bytes. The decoder replaces them by U+FFFD, so each U+FFFD in the string must also be in the bytes. */
  #assertSent(text: string, bytes: Uint8Array): void {
    const all = new Uint8Array([...this.#last, ...bytes]);
    let sent = 0;
    for (let at = all.indexOf(0xef); at !== -1; at = all.indexOf(0xef, at + 1)) {
      if (all[at + 1] === 0xbf && all[at + 2] === 0xbd) sent += 1;
    }
    const inText = text.split("\ufffd").length - 1;
    if (sent < inText) throw new InvalidUTF8(text.slice(0, text.indexOf("\ufffd")));
  }
}
