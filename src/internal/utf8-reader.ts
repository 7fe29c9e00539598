/**
 * Decodes UTF-8 that comes in pieces, without the one byte order mark that it may begin with. The decoder of Node 24
 * takes two of them away when the first piece is shorter than a mark, so this one is told to leave them alone.
 */
export class UTF8Reader {
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #isFresh = true;

  /** The text of the next piece, but for characters that are not whole yet. Without a piece: what is left. */
  read(bytes?: Uint8Array): string {
    const text = bytes === undefined ? this.#decoder.decode() : this.#decoder.decode(bytes, { stream: true });
    if (!this.#isFresh || text === "") return text;
    this.#isFresh = false;
    return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  }
}
