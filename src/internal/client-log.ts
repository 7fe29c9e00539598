import { truncate } from "./text.ts";

/** Writes messages of one part to the log. `properties` fill the placeholders of a message. */
export interface ClientLogger {
  warn(message: string, properties: Record<string, unknown>): void;
  error(message: string, properties: Record<string, unknown>): void;
}

/** Finds the logger of one part, in a program that loads LogTape. */
let findLogger: ((part: readonly string[]) => ClientLogger) | undefined;

/** Makes every {@link clientLogger} write to the log of the program. */
export function setClientLog(find: (part: readonly string[]) => ClientLogger): void {
  findLogger = find;
}

/**
 * A logger for code that also runs in a client without LogTape, which is larger than the client itself. It writes to LogTape
 * where another part of this package has loaded it, and otherwise to the console, each message once.
 */
export function clientLogger(...part: string[]): ClientLogger {
  const written = new Set<string>();
  const write = (level: keyof ClientLogger, message: string, properties: Record<string, unknown>) => {
    if (findLogger !== undefined) return findLogger(part)[level](message, properties);
    if (written.has(message)) return;
    written.add(message);
    // biome-ignore lint/suspicious/noConsole: there is no log, and so nothing else would be seen.
    console.warn(`[${["alkdev", "operations", ...part].join(".")}] ${fillPlaceholders(message, properties)}`);
  };
  return {
    warn: (message, properties) => write("warn", message, properties),
    error: (message, properties) => write("error", message, properties),
  };
}

/** Fills the placeholders of a message, for one line on a console. */
export function fillPlaceholders(message: string, properties: Record<string, unknown>): string {
  return message.replace(/\{(\w+)\}/g, (_, name: string) => toOneLine(properties[name]));
}

/** Of one value on a console, in characters. */
const maxValueLength = 2_000;

/** Foreign values must not break the line, reorder it, or send control sequences to a terminal. */
function toOneLine(value: unknown): string {
  return truncate(toText(value), maxValueLength).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ");
}

/** A value without a string form, such as an object without a prototype, must not make logging fail. */
function toText(value: unknown): string {
  try {
    return String(value);
  } catch {
    return typeof value;
  }
}
