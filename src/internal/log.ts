import { getConfig, getLogger, type Logger } from "@logtape/logtape";
import { BoundedSet } from "./bounded.ts";

export type { Logger } from "@logtape/logtape";

/**
 * The logger of one part, below the category `["alkdev", "operations"]`. Silent until the application configures
 * LogTape.
 */
export function logger(...part: string[]): Logger {
  return getLogger(["alkdev", "operations", ...part]);
}

/**
 * Warns about what would otherwise be lost without a trace: in the log, and on the console until the application
 * configures LogTape. `properties` fill the placeholders of the message.
 */
export function warnVisibly(log: Logger, message: string, properties: Record<string, unknown>): void {
  log.warn(message, properties);
  if (getConfig() !== null) return;
  const text = message.replace(/\{(\w+)\}/g, (_, name: string) => String(properties[name]));
  // biome-ignore lint/suspicious/noConsole: the log is silent, and so nothing else would be seen.
  console.warn(`[${log.category.join(".")}] ${text}`);
}

/** Warns about a thing the first time its key comes up. `properties` fill the placeholders of the message. */
export type WarnOnce = (key: string, message: string, properties?: Record<string, unknown>) => void;

/**
 * Makes a function that warns once per key. It remembers the last `memory` keys, so that a thing that comes up again
 * after many others is reported again, and foreign keys cannot fill the memory.
 */
export function createWarnOnce(log: Logger, memory = 1_000): WarnOnce {
  const known = new BoundedSet<string>(memory);
  return (key, message, properties) => {
    if (known.has(key)) return;
    known.add(key);
    log.warn(message, properties);
  };
}
