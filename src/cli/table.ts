import { truncate } from "../internal/text.ts";
import { type OutputStream, toPrintableLine } from "./output-stream.ts";

/** Minimum width of the last column on a terminal, in characters. */
const minLastWidth = 20;

/**
 * Formats rows as a table for a person, and as lines with tabs between the cells for programs. All rows have the same number
 * of cells. The last column is cut at the end of the line.
 * @param colors - functions that color the columns
 */
export function formatTable(
  rows: ReadonlyArray<readonly string[]>,
  { columns }: OutputStream,
  colors: ReadonlyArray<(text: string) => string> = [],
): string {
  const lines = rows.map((row) => row.map(toPrintableLine));
  if (columns === undefined) return lines.map((row) => `${row.join("\t")}\n`).join("");
  const widths = lines[0]?.map((_, index) => Math.max(...lines.map((row) => row[index]!.length))) ?? [];
  const room = columns - widths.slice(0, -1).reduce((sum, width) => sum + width + 2, 0);
  const color = (text: string, index: number) => colors[index]?.(text) ?? text;
  return lines
    .map((row) => {
      const last = truncate(row.at(-1)!, Math.max(room, minLastWidth));
      const left = row.slice(0, -1).map((cell, index) => color(cell.padEnd(widths[index]!), index));
      return `${[...left, ...(last === "" ? [] : [color(last, row.length - 1)])].join("  ").trimEnd()}\n`;
    })
    .join("");
}

/** Formats a point in time for a person, in the time zone of this machine. */
export function formatTime(time: number): string {
  return new Date(time).toLocaleString("sv-SE"); // The locale with this form: 2026-01-31 12:00:00.
}

/** Formats a duration in milliseconds. */
export function formatDuration(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  return ms < 10_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
