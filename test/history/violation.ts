import type { HistoryEvent } from "./events.ts";

/** What must hold, in the order and with the numbers of the documentation. */
export const invariants = {
  I1: "every call settles exactly once, by its deadline",
  I2: "no handler starts after the deadline or after its caller gave up",
  I3: "a call is started at most once; more often only if it is idempotent, on a broker",
  I4: "an answer belongs to the call that it answers, and to a handler that ran",
  I5: "mayHaveRun: false means that no handler started",
  I6: "nothing is left behind: no handler, no connection, no process",
  I7: "memory is bounded",
  I8: "the event loop is not held up",
  I9: "no rejection goes unhandled and no secret gets out",
  I10: "no value of a subscription is lost, doubled or swapped without an error",
  I11: "a new call works soon after everything is whole again",
  I12: "what is denied stays denied",
  I13: "a call settles within three heartbeats and a second after its worker was killed",
} as const;

/** The number of an invariant. */
export type Invariant = keyof typeof invariants;

/** What broke, and the lines of the history that show it. */
export interface Violation {
  invariant: Invariant;
  /** What happened instead. */
  message: string;
  /** The call that it happened to. */
  call?: string;
  events: HistoryEvent[];
}

/** A few lines for a terminal. Times are ms since the first of the events. */
export function formatViolation({ invariant, message, call, events }: Violation): string {
  const first = events[0]?.at ?? 0;
  const subject = call === undefined ? "" : ` (call ${call})`;
  const lines = events.map((event) => `    ${formatTime(event.at - first).padStart(12)}  ${formatEvent(event, first)}`);
  return [`${invariant} ${invariants[invariant]}`, `  ${message}${subject}`, ...lines].join("\n");
}

function formatTime(milliseconds: number): string {
  return `+${milliseconds.toFixed(1)} ms`;
}

function formatEvent({ at: _at, by, kind, ...rest }: HistoryEvent, first: number): string {
  const { call: _call, deadline, ...fields } = rest as Record<string, unknown>;
  const told = Object.entries(fields).filter(([, value]) => value !== undefined);
  if (typeof deadline === "number") told.push(["deadline", formatTime(deadline - first)]);
  return [kind.padEnd(8), by, ...told.map(([name, value]) => `${name}=${formatValue(value)}`)].join(" ");
}

function formatValue(value: unknown): string {
  if (typeof value === "number") return String(Math.round(value * 10) / 10);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
