import { truncate } from "./text.ts";

/** Writes the messages of one module to the log. `properties` fill the placeholders of a message. */
export interface ClientLogger {
  warn(message: string, properties: Record<string, unknown>): void;
  error(message: string, properties: Record<string, unknown>): void;
}

/** The log of the program. `find` returns the logger of one module; `log.ts` sets it in a program that loads LogTape. */
export const programLog: { find?: (part: readonly string[]) => ClientLogger } = {};

/**
 * Creates a logger for code that also runs in a client without LogTape, which is larger than the client itself. It writes
 * to LogTape if another module of this package has loaded it, otherwise to the console, each message once.
 */
export function clientLogger(...part: string[]): ClientLogger {
  const written = new Set<string>();
  const write = (level: keyof ClientLogger) => (message: string, properties: Record<string, unknown>) => {
    if (programLog.find !== undefined) return programLog.find(part)[level](message, properties);
    if (written.has(message)) return;
    written.add(message);
    // biome-ignore lint/suspicious/noConsole: without a log the message would be lost.
    console.warn(`[${["alkdev", "operations", ...part].join(".")}] ${fillPlaceholders(message, properties)}`);
  };
  return { warn: write("warn"), error: write("error") };
}

/** Fills the placeholders of a message, for one line on the console. */
export function fillPlaceholders(message: string, properties: Record<string, unknown>): string {
  return message.replace(/\{(\w+)\}/g, (_, name: string) => toOneLine(properties[name]));
}

/** Maximum length of one value on the console, in characters. */
const maxValueLength = 2_000;

/** Removes line breaks, bidirectional and control characters, which could reach a terminal. */
function toOneLine(value: unknown): string {
  return truncate(toText(value), maxValueLength).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ");
}

/** Converts a value to a string. Never throws, even for an object without a prototype, so that logging does not fail. */
function toText(value: unknown): string {
  try {
    return String(value);
  } catch {
    return typeof value;
  }
}
