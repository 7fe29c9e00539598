import { inspect } from "node:util";

const colors = process.stdout.isTTY === true && process.env["NO_COLOR"] === undefined;

/** Prints the heading of a section, in bold in a terminal. */
export function heading(title: string): void {
  console.log(colors ? `\n\x1b[1m${title}\x1b[22m` : `\n${title}`);
}

/** Prints a call and its result, one line each. */
export function show(call: string, result: unknown): void {
  console.log(`${call}\n  → ${oneLine(result)}`);
}

/** Formats a value on one line. */
export function oneLine(value: unknown): string {
  return inspect(value, { colors, depth: 2, breakLength: Infinity, compact: true });
}

/** Prints rows below column names. */
export function table(columns: string[], rows: string[][]): void {
  const widths = columns.map((name, column) => Math.max(name.length, ...rows.map((row) => row[column]!.length)));
  const format = (row: string[]) => row.map((cell, column) => cell.padEnd(widths[column]!)).join("  ");
  for (const row of [columns, ...rows]) console.log(format(row).trimEnd());
}
