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
  /** The current line; of a line that is too long, its two ends. */
  #parts: Buffer[] = [];
  /** Bytes of the current line, including those that were dropped. */
  #size = 0;
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
      this.#keep(chunk.subarray(start, end === -1 ? chunk.length : end));
      if (end === -1) return;
      this.#finish();
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

  #countNoise(noise: number): void {
    this.#noise += noise;
    this.#stopAbove(this.#noise);
  }

  #stopAbove(bytes: number): void {
    if (this.#stopped || bytes <= this.#limit * endlessFactor) return;
    this.#stopped = true;
    this.#listener.onEndless();
  }

  #keep(part: Buffer): void {
    if (part.length === 0) return;
    this.#parts.push(part);
    this.#size += part.length;
    if (this.#size <= this.#limit) return;
    const kept = Buffer.concat(this.#parts);
    const isLong = kept.length > 2 * keptBytes;
    this.#parts = isLong ? [kept.subarray(0, keptBytes), kept.subarray(-keptBytes)] : [kept];
    this.#stopAbove(this.#size);
  }

  #finish(): void {
    if (this.#stopped || this.#size === 0) return;
    const line = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts);
    const isTooLong = this.#size > this.#limit;
    this.#parts = [];
    this.#size = 0;
    if (isTooLong) {
      this.#listener.onTooLong(`${line.subarray(0, keptBytes)}`, `${line.subarray(-keptBytes)}`);
    } else if (this.#marker !== undefined && !line.includes(this.#marker)) this.#countNoise(line.length);
    else if (this.#listener.onLine(line) === false) this.#countNoise(refusedLineBytes);
    else this.#noise = 0;
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
