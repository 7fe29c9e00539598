import type { Row } from "./run-soaks.ts";
import { megabyte } from "./soak.ts";

const head = ["transport", "soak", "count", "s", "kept MB", "held MB", "peak RSS MB", "verdict"];
const explanation =
  "Growth of caller / server (/ broker). kept: after it, held: in mid-run, both after a collection; peak RSS: of the process.";

/** Lays rows out as a table of aligned columns. */
export function formatSoaks(rows: readonly Row[]): string {
  const cells = [head, ...rows.map(toCells)];
  const widths = head.map((_, column) => Math.max(...cells.map((line) => line[column]!.length)));
  const format = (line: string[]) =>
    line.map((cell, column) => (isFigure(column) ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!)));
  const rule = widths.map((width) => "-".repeat(width));
  const lines = [format(head), rule, ...cells.slice(1).map(format)].map((line) => line.join("  ").trimEnd());
  return [...lines, "", explanation].join("\n");
}

function toCells({ transport, soak, count, time, kept, held, peakRSS, brokerRSS, problems }: Row): string[] {
  return [
    transport,
    soak,
    count?.toLocaleString("en") ?? "",
    time === undefined ? "" : (time / 1_000).toFixed(1),
    formatSizes(kept),
    formatSizes(held),
    formatSizes(peakRSS, brokerRSS),
    problems.length === 0 ? "ok" : `MISSED: ${problems.join("; ")}`,
  ];
}

function isFigure(column: number): boolean {
  return column >= 2 && column <= 6;
}

function formatSizes(sizes: readonly number[] = [], ...more: ReadonlyArray<number | undefined>): string {
  const known = [...sizes, ...more].filter((size) => size !== undefined);
  return known.map((size) => (size / megabyte).toFixed(1)).join(" / ");
}
