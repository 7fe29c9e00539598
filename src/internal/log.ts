import { getConfig, getLogger, type Logger } from "@logtape/logtape";
import { BoundedMap } from "./bounded.ts";
import { fillPlaceholders, programLog } from "./client-log.ts";

export type { Logger } from "@logtape/logtape";

/**
 * Returns the logger of one module, below the category `["alkdev", "operations"]`. It writes nothing until the application
 * configures LogTape.
 */
export function logger(...part: string[]): Logger {
  programLog.find ??= findLogger; // Set here, because bundlers would drop a top-level statement.
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

/** Maximum number of warnings on the console; one document can cause thousands. */
const maxConsoleLines = 10;

/**
 * Writes warnings or errors that users must see: to the log, and to the console until the application configures LogTape.
 * The console shows the first ten of them and the number of the others.
 */
export function warnVisibly(log: Logger, warnings: readonly Warning[], level: "warn" | "error" = "warn"): void {
  for (const { message, properties } of warnings) log[level](message, properties);
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

/** Writes a failure of this process that its operator must see. The message has a place for `{error}`. */
export function reportFailure(log: Logger, message: string, error: unknown): void {
  warnVisibly(log, [{ message, properties: { error } }], "error");
}

/** Maximum number of lines on the console per process: a peer can cause a warning with each message. */
const maxConsoleTotal = 1_000;
const written = { lines: 0 };

function writeLine(line: string): void {
  if (++written.lines > maxConsoleTotal) return;
  const isLast = written.lines === maxConsoleTotal;
  // biome-ignore lint/suspicious/noConsole: LogTape is not configured, so the warnings would be lost.
  console.warn(isLast ? "[alkdev.operations] Further warnings are not shown. Configure LogTape to see them." : line);
}

/** Logs a warning when a key is used for the first time. `properties` fill the placeholders of the message. */
export type WarnOnce = (key: string, message: string, properties?: Record<string, unknown>) => void;

/**
 * Creates a function that warns once per key, like {@link warnVisibly}, and once more if the application configures LogTape
 * later. It remembers the last `memory` keys, so that foreign keys cannot fill the memory. A key that is used again after
 * many others logs another warning.
 */
export function createWarnOnce(log: Logger, memory = 1_000): WarnOnce {
  const known = new BoundedMap<string, true>(memory);
  return (name, message, properties = {}) => {
    const key = getConfig() === null ? name : `log ${name}`;
    if (known.has(key)) return;
    known.set(key, true);
    warnVisibly(log, [{ message, properties }]);
  };
}
