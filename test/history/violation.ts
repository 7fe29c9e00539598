import type { HistoryEvent } from "./events.ts";

/** The guarantees, in the order and with the numbers of docs/faults.md. */
export const invariants = {
  I1: "every call settles exactly once, by its deadline",
  I2: "no handler starts after the deadline or after an abort",
  I3: "a call is started at most once; more often only if it is idempotent, on a broker",
  I4: "a response belongs to the call that it settles, and to a handler that ran",
  I5: "mayHaveRun: false means that no handler started",
  I6: "nothing is left behind: no handler, no connection, no process",
  I7: "memory is bounded",
  I8: "the event loop is not blocked",
  I9: "no rejection is unhandled, and no error contains a token",
  I10: "no value of a subscription is lost, duplicated or reordered without an error",
  I11: "new calls succeed soon after all faults have ended",
  I12: "a denied or forged call never starts",
  I13: "a call settles within three heartbeats and a second after its worker was killed",
} as const;

/** The number of an invariant. */
export type Invariant = keyof typeof invariants;

/** A violated guarantee, and the events that show it. */
export interface Violation {
  invariant: Invariant;
  /** Describes the violation. */
  message: string;
  /** The call that violated the guarantee. */
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
