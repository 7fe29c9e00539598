import { redact } from "./secrets.ts";

const mostLines = 50;
const longestLine = 500;

/** Keeps the last lines that a program wrote, bounded in number and length and without control characters. */
export class StderrLines {
  readonly #lines: string[] = [];
  readonly #secrets: Iterable<string>;
  #open = "";

  constructor(secrets: Iterable<string>) {
    this.#secrets = secrets;
  }

  push(text: string): void {
    const parts = text.split(/\r\n|\n|\r/);
    parts[0] = this.#open + parts[0];
    this.#open = parts.pop()!.slice(0, longestLine * 2);
    this.#add(parts);
  }

  /** The lines so far, an unfinished one included. */
  get lines(): string[] {
    const open = this.#clean(this.#open);
    return open === "" ? [...this.#lines] : [...this.#lines, open].slice(-mostLines);
  }

  /** Cleans the last lines only: a program can write faster than lines are cleaned. */
  #add(lines: readonly string[]): void {
    const added: string[] = [];
    for (let index = lines.length - 1; index >= 0 && added.length < mostLines; index--) {
      const clean = this.#clean(lines[index]!);
      if (clean !== "") added.unshift(clean);
    }
    this.#lines.push(...added);
    this.#lines.splice(0, this.#lines.length - mostLines);
  }

  #clean(line: string): string {
    if (line === "") return "";
    const plain = line
      .slice(0, longestLine * 2)
      // Colours and the like, whole, so that nothing of them stays as text.
      .replace(/\p{Cc}(?:\[[0-?]*[ -/]*[@-~]|\][^\p{Cc}]*)/gu, "")
      .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, " ")
      .trim();
    return redact(plain, this.#secrets).slice(0, longestLine);
  }
}
