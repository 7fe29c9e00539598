import { formatViolation, type HistoryEvent, type Violation } from "../../test/history/index.ts";

/** More violations than this are counted, not shown: the first ones are the most useful. */
const shown = 20;

/** What happened on each transport, and what broke, for a terminal. */
export function summarise(events: readonly HistoryEvent[], violations: readonly Violation[]): string {
  const transports = [...new Set(events.flatMap((event) => (event.kind === "asked" ? [event.transport] : [])))];
  const sections = transports.sort().map((transport) => summariseTransport(transport, events, violations));
  return [...sections, ...summariseViolations(violations)].join("\n\n");
}

function summariseTransport(
  transport: string,
  events: readonly HistoryEvent[],
  violations: readonly Violation[],
): string {
  const calls = new Set(
    events.flatMap((event) => (event.kind === "asked" && event.transport === transport ? [event.call] : [])),
  );
  const ends = events.filter((event) => event.kind === "settled").filter(({ call }) => calls.has(call));
  const starts = events.filter((event) => event.kind === "started" && calls.has(event.call)).length;
  const outcomes = ends.map(({ outcome, code }) => (outcome === "failed" ? code! : outcome));
  const faults = events.flatMap((event) =>
    event.kind === "injected" && event.transport === transport ? [event.fault] : [],
  );
  const broken = violations.filter((violation) => transportOf(violation) === transport);
  const rows: Array<[string, string]> = [
    ["calls", `${calls.size}, started ${starts}`],
    ["outcomes", formatCounts(outcomes)],
    ["faults", formatCounts(faults)],
    ["violations", broken.length === 0 ? "none" : formatCounts(broken.map(({ invariant }) => invariant))],
  ];
  return [transport, ...rows.map(([name, text]) => `  ${name.padEnd(11)}${text}`)].join("\n");
}

/** All names begin with the transport: calls, workers and callers. */
function transportOf({ call, events }: Violation): string {
  const name =
    call ?? events.map((event) => ("transport" in event ? event.transport : "who" in event ? event.who : event.by))[0];
  return name?.split(" ")[0] ?? "";
}

function formatCounts(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const sorted = [...counts].sort(([a, many], [b, few]) => few - many || a.localeCompare(b));
  return sorted.map(([name, count]) => `${name} ${count}`).join(" · ") || "none";
}

function summariseViolations(violations: readonly Violation[]): string[] {
  const more = violations.length - shown;
  return [
    ...violations.slice(0, shown).map(formatViolation),
    ...(more > 0 ? [`… and ${more} more violations`] : []),
    `${violations.length} ${violations.length === 1 ? "violation" : "violations"}`,
  ];
}
