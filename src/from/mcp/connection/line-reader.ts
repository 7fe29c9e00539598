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
  #head = "";
  #tail: Buffer = Buffer.alloc(0);
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
    if (fitted) {
      this.#head = Buffer.concat([...this.#parts, part.subarray(0, shownLength)]).toString("utf8", 0, shownLength);
      this.#parts = [];
    }
    this.#tail = Buffer.concat([this.#tail, part.subarray(-shownLength)]).subarray(-shownLength);
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
    const head = this.#head;
    const tail = this.#tail;
    this.#parts = [];
    this.#size = 0;
    this.#head = "";
    this.#tail = Buffer.alloc(0);
    if (tooLong) this.#listener.onTooLong(head, tail.toString("utf8"));
    else if (whole.length > 0) this.#listener.onLine(whole.toString("utf8"));
  }
}
