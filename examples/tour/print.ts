import { inspect } from "node:util";

const colors = process.stdout.isTTY && process.env.NO_COLOR === undefined;

/** Begins a part of the tour. */
export function chapter(title: string): void {
  console.log(`\n— ${title} —`);
}

/** Prints what was called and what came back. */
export function show(call: string, value: unknown): void {
  console.log(`\n${call}\n${inspect(value, { colors, depth: 6, breakLength: 100 })}`);
}

/** Prints rows under headings. */
export function table(headings: string[], rows: string[][]): void {
  const widths = headings.map((heading, column) => Math.max(heading.length, ...rows.map((row) => row[column]!.length)));
  const line = (row: string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join("  ")
      .trimEnd();
  console.log(`\n${[headings, ...rows].map(line).join("\n")}`);
}
