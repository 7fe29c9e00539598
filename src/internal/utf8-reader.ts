/** Thrown by {@link UTF8Reader} for bytes that are not UTF-8. `text` is what came before them in the same piece. */
export class InvalidUTF8 extends Error {
  readonly text: string;

  constructor(text: string) {
    super("The bytes are not valid UTF-8.");
    this.text = text;
  }
}

/**
 * Decodes UTF-8 that comes in pieces, without the one byte order mark that it may begin with. The decoder of Node 24
 * takes two of them away when the first piece is shorter than a mark, so this one is told to leave them alone.
 */
export class UTF8Reader {
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  /** The last two bytes: U+FFFD may be sent as such, in two pieces. */
  #last: number[] = [];
  #isFresh = true;

  /**
   * The text of the next piece, but for characters that are not whole yet. Without a piece: what is left.
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

  /** The decoder writes U+FFFD for what it cannot read; here it must have been sent as often as it is in the text. */
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
