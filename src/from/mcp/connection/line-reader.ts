/** What a {@link LineReader} tells. */
export interface LineListener {
  onLine(line: string): void;
  /** A line was too long and has been thrown away. `head` and `tail` are its first and last characters. */
  onTooLong(head: string, tail: string): void;
  /** A line does not end at all. Nothing comes after it. */
  onEndless(): void;
}

const newline = 0x0a;
/** How much of a line that was thrown away is shown, on both ends. */
const shownLength = 256;
/** A line that is this many times too long is no line. */
const endless = 8;

/** Cuts a stream of bytes into lines without keeping more than `limit` bytes of any. Empty lines are left out. */
export class LineReader {
  readonly #limit: number;
  readonly #listener: LineListener;
  #parts: Buffer[] = [];
  /** Bytes of the line so far, also of one that is thrown away. */
  #size = 0;
  #head: Buffer = nothing();
  #tail: Buffer = nothing();
  #stopped = false;

  constructor(limit: number, listener: LineListener) {
    this.#limit = limit;
    this.#listener = listener;
  }

  push(chunk: Buffer): void {
    let start = 0;
    while (!this.#stopped) {
      const end = chunk.indexOf(newline, start);
      if (end === -1) {
        if (start < chunk.length) this.#keep(start === 0 ? chunk : chunk.subarray(start));
        return;
      }
      this.#finish(chunk.subarray(start, end));
      start = end + 1;
    }
  }

  #keep(part: Buffer): void {
    const fitted = this.#size <= this.#limit;
    this.#size += part.length;
    if (this.#size <= this.#limit) {
      this.#parts.push(part);
      return;
    }
    const more = fitted ? Buffer.concat([...this.#parts, part]) : part;
    this.#parts = [];
    if (this.#head.length < shownLength) this.#head = Buffer.concat([this.#head, more]).subarray(0, shownLength);
    this.#tail = Buffer.concat([this.#tail, more.subarray(-shownLength)]).subarray(-shownLength);
    if (this.#size > this.#limit * endless) {
      this.#stopped = true;
      this.#listener.onEndless();
    }
  }

  #finish(last: Buffer): void {
    if (this.#size > 0 || last.length > this.#limit) this.#keep(last);
    if (this.#stopped) return;
    const whole = this.#size === 0 ? last : this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts);
    const tooLong = this.#size > this.#limit;
    this.#parts = [];
    this.#size = 0;
    if (!tooLong) {
      if (whole.length > 0) this.#listener.onLine(whole.toString("utf8"));
      return;
    }
    const head = this.#head.toString("utf8");
    const tail = this.#tail.toString("utf8");
    this.#head = nothing();
    this.#tail = nothing();
    this.#listener.onTooLong(head, tail);
  }
}

function nothing(): Buffer {
  return Buffer.alloc(0);
}
