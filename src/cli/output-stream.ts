import type { WriteStream } from "node:tty";
import { format } from "node:util";
import picocolors from "picocolors";
import type { Environment } from "../hub/index.ts";
import { toPrintable } from "../internal/text.ts";

export { toPrintable };

/** Functions that color a string, or return it unchanged where colors are off. */
export type Colors = ReturnType<typeof picocolors.createColors>;

/** Standard output or standard error: what can be written to it, and how. */
export class OutputStream {
  /** Whether a person reads it. */
  readonly isTerminal: boolean;
  /** Functions that color a string. */
  readonly colors: Colors;
  readonly #stream: NodeJS.WriteStream;
  readonly #write: NodeJS.WriteStream["write"];

  /** Keeps the function that writes, so that later redirections of the stream do not concern this one. */
  constructor(stream: NodeJS.WriteStream, environment: Environment, allowsColors: boolean) {
    this.#stream = stream;
    this.#write = stream.write.bind(stream);
    this.isTerminal = stream.isTTY === true;
    this.colors = picocolors.createColors(allowsColors && wantsColors(this.isTerminal, environment));
  }

  /** Number of characters per line; `undefined` if no person reads it. */
  get columns(): number | undefined {
    return this.isTerminal ? (this.#stream as WriteStream).columns || 80 : undefined;
  }

  /** Writes a string or bytes unchanged. Resolves when the reader has room for more. */
  write(text: string | Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#write(text, (error) => (error ? reject(error) : resolve()));
    });
  }
}

/** Colors by the conventions of no-color.org, force-color.org and bixense.com/clicolors, decided per stream. */
function wantsColors(isTerminal: boolean, environment: Environment): boolean {
  const { NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE, TERM } = environment;
  if (NO_COLOR) return false;
  const forced = FORCE_COLOR || CLICOLOR_FORCE;
  if (forced) return forced !== "0" && forced !== "false";
  return isTerminal && TERM !== "dumb";
}

/**
 * Redirects everything that the code of users and the library prints to stderr, because stdout is for the result.
 * Streams that exist keep their target. Returns a function that undoes it.
 */
export function redirectOutput(stderr: OutputStream): () => void {
  const { stdout } = process;
  const { write } = stdout;
  const { warn } = console;
  stdout.write = process.stderr.write.bind(process.stderr) as typeof write;
  // Warnings of the library contain foreign strings.
  console.warn = (...values) => void stderr.write(`${toPrintable(format(...values))}\n`).catch(() => {});
  return () => {
    stdout.write = write;
    console.warn = warn;
  };
}

/** Makes a foreign string safe for one line of a terminal: also line feeds and tabs become spaces. */
export function toPrintableLine(text: string): string {
  return toPrintable(text.replace(/\s+/g, " ").trim());
}
