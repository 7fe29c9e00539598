/** Receives the lines of a {@link LineReader}. */
export interface LineListener {
  /** Receives a line. Return `false` if it is not a message; it then counts as noise. */
  onLine(line: Buffer): boolean | void;
  /** Called when a line was too long and was dropped. `head` and `tail` are its first and last characters. */
  onTooLong(head: string, tail: string): void;
  /** Called when a line, or the noise between messages, does not end. The reader ignores everything after it. */
  onEndless(): void;
}

const newline = 0x0a;
/** Number of bytes that are kept at each end of a dropped line. */
const keptBytes = 256;
/** A line, or noise, that exceeds the limit by this factor counts as endless. */
const endlessFactor = 8;
/** Number of noise bytes that a rejected line counts as, because parsing costs far more than skipping. */
const refusedLineBytes = 16 * 1024;

/**
 * Splits a byte stream into lines and keeps at most `limit` bytes of each. Empty lines are skipped. With a `marker`,
 * lines without it are noise and are skipped without being decoded.
 */
export class LineReader {
  readonly #limit: number;
  readonly #listener: LineListener;
  readonly #marker: string | undefined;
  /** Bytes of noise since the last accepted line. */
  #noise = 0;
  #parts: Buffer[] = [];
  /** Bytes of the current line, including a line that is being dropped. */
  #size = 0;
  #head: Buffer = nothing();
  #tail: Buffer = nothing();
  #stopped = false;

  constructor(limit: number, listener: LineListener, marker?: string) {
    this.#limit = limit;
    this.#listener = listener;
    this.#marker = marker;
  }

  push(chunk: Buffer): void {
    let start = 0;
    while (!this.#stopped) {
      if (this.#size === 0) start = this.#skipNoise(chunk, start);
      const end = chunk.indexOf(newline, start);
      if (end === -1) {
        if (start < chunk.length) this.#keep(start === 0 ? chunk : chunk.subarray(start));
        return;
      }
      this.#finish(chunk.subarray(start, end));
      start = end + 1;
    }
  }

  /** Skips all lines before the next line with the marker, and returns the start of that line. */
  #skipNoise(chunk: Buffer, start: number): number {
    if (this.#marker === undefined) return start;
    const marked = chunk.indexOf(this.#marker, start);
    const next = chunk.lastIndexOf(newline, marked === -1 ? chunk.length : marked) + 1;
    if (next <= start) return start;
    this.#countNoise(next - start);
    return next;
  }

  #accept(line: Buffer): void {
    if (this.#listener.onLine(line) === false) this.#countNoise(refusedLineBytes);
    else this.#noise = 0;
  }

  #countNoise(noise: number): void {
    this.#noise += noise;
    if (this.#noise > this.#limit * endlessFactor) this.#stop();
  }

  #stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#listener.onEndless();
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
    if (this.#head.length < keptBytes) this.#head = Buffer.concat([this.#head, more]).subarray(0, keptBytes);
    this.#tail = Buffer.concat([this.#tail, more.subarray(-keptBytes)]).subarray(-keptBytes);
    if (this.#size > this.#limit * endlessFactor) this.#stop();
  }

  #finish(last: Buffer): void {
    if (this.#size > 0 || last.length > this.#limit) this.#keep(last);
    if (this.#stopped) return;
    const whole = this.#size === 0 ? last : this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts);
    const tooLong = this.#size > this.#limit;
    this.#parts = [];
    this.#size = 0;
    if (!tooLong) {
      if (this.#marker !== undefined && !whole.includes(this.#marker)) this.#countNoise(whole.length);
      else if (whole.length > 0) this.#accept(whole);
      return;
    }
    const head = this.#head.toString("utf8");
    const tail = this.#tail.toString("utf8");
    this.#head = nothing();
    this.#tail = nothing();
    this.#listener.onTooLong(head, tail);
  }
}

/**
 * Finds the id of a JSON-RPC message in the two ends of its line. Members may have any order; the long member is the
 * result, or the parameters.
 */
export function findMessageId(head: string, tail: string): string | number | undefined {
  const id = '"id"\\s*:\\s*(\\d+|"[^"\\\\]*")\\s*';
  const version = '"jsonrpc"\\s*:\\s*"2\\.0"\\s*';
  const atStart = new RegExp(`^\\s*\\{\\s*(?:${version},\\s*)?${id},`).exec(head);
  const atEnd = new RegExp(`,\\s*${id}(?:,\\s*${version})?\\}\\s*$`).exec(tail);
  const found = atStart ?? atEnd;
  return found === null ? undefined : JSON.parse(found[1]!);
}

function nothing(): Buffer {
  return Buffer.alloc(0);
}
