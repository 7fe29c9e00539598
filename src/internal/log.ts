import { getConfig, getLogger, type Logger } from "@logtape/logtape";
import { BoundedSet } from "./bounded.ts";
import { fillPlaceholders, setClientLog } from "./client-log.ts";

export type { Logger } from "@logtape/logtape";

/**
 * The logger of one part, below the category `["alkdev", "operations"]`. Silent until the application configures
 * LogTape.
 */
export function logger(...part: string[]): Logger {
  setClientLog(findLogger); // here, because a statement of its own would be lost in a bundle
  return findLogger(part);
}

function findLogger(part: readonly string[]): Logger {
  return getLogger(["alkdev", "operations", ...part]);
}

/** A message for the log. `properties` fill its placeholders. */
export interface Warning {
  readonly message: string;
  readonly properties: Record<string, unknown>;
}

/** One document can lead to thousands of warnings. */
const maxConsoleLines = 10;

/**
 * Writes warnings that users must see: to the log, and to the console until the application configures LogTape. The console
 * shows the first ten of them and the number of the others.
 */
export function warnVisibly(log: Logger, warnings: readonly Warning[]): void {
  for (const { message, properties } of warnings) log.warn(message, properties);
  if (getConfig() !== null) return;
  const lines = warnings
    .slice(0, maxConsoleLines)
    .map(({ message, properties }) => fillPlaceholders(message, properties));
  if (warnings.length > lines.length) {
    lines.push(
      `There are ${warnings.length - lines.length} more warnings. Configure LogTape or pass onReport to see them all.`,
    );
  }
  for (const line of lines) writeLine(`[${log.category.join(".")}] ${line}`);
}

/** A peer can cause a new warning with each message that it sends. */
const maxConsoleTotal = 1_000;
let writtenLines = 0;

function writeLine(line: string): void {
  writtenLines += 1;
  if (writtenLines > maxConsoleTotal) return;
  const isLast = writtenLines === maxConsoleTotal;
  // biome-ignore lint/suspicious/noConsole: the log is silent, and so nothing else would be seen.
  console.warn(isLast ? "[alkdev.operations] Further warnings are not shown. Configure LogTape to see them." : line);
}

/** Warns the first time that a key is used. `properties` fill the placeholders of the message. */
export type WarnOnce = (key: string, message: string, properties?: Record<string, unknown>) => void;

/**
 * Creates a function that warns once per key, visibly as {@link warnVisibly} does. It remembers the last `memory` keys, so
 * that foreign keys cannot fill the memory. A key that is used again after many others warns again.
 */
export function createWarnOnce(log: Logger, memory = 1_000): WarnOnce {
  const known = new BoundedSet<string>(memory);
  return (key, message, properties = {}) => {
    if (known.has(key)) return;
    known.add(key);
    warnVisibly(log, [{ message, properties }]);
  };
}
