/** One measured figure. */
export interface Row {
  /** Short description of the measured work. */
  work: string;
  /** The result: a multiple of the floor, or a figure in `unit`. Smaller is better. */
  ratio: number;
  /** Maximum value. Absent for figures that are only reported. */
  bar?: number;
  /** Desired value. */
  aim?: number;
  /** Absolute times, and notes that explain the figure. */
  note?: string;
  /** @default "×" */
  unit?: string;
}

/** Verdict on a figure. Empty without a bar. */
export type Verdict = "aim met" | "met" | "missed" | "";

/** Judges a row by its bar and aim. */
export function judge({ ratio, bar, aim }: Row): Verdict {
  if (aim !== undefined && ratio <= aim) return "aim met";
  if (bar === undefined) return "";
  return ratio <= bar ? "met" : "missed";
}

/** Formats rows as a table with aligned columns. */
export function formatTable(rows: readonly Row[]): string {
  const lines = rows.map((row) => [
    row.work,
    formatFigure(row.ratio, row.unit),
    formatFigure(row.bar, row.unit),
    formatFigure(row.aim, row.unit),
    judge(row),
    row.note ?? "",
  ]);
  const cells = [["work", "ratio", "bar", "aim", "verdict", "note"], ...lines];
  const widths = cells[0]!.map((_, column) => Math.max(...cells.map((line) => line[column]!.length)));
  const format = (line: string[]) =>
    line
      .map((cell, column) => (isFigure(column) ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!)))
      .join("  ")
      .trimEnd();
  const rule = widths.map((width) => "-".repeat(width)).join("  ");
  return [format(cells[0]!), rule, ...cells.slice(1).map(format)].join("\n");
}

function isFigure(column: number): boolean {
  return column >= 1 && column <= 3;
}

function formatFigure(figure: number | undefined, unit = "×"): string {
  if (figure === undefined) return "";
  return `${figure >= 100 ? figure.toFixed(0) : figure.toFixed(2)} ${unit}`;
}

/** Formats nanoseconds in a suitable unit. */
export function formatTime(nanoseconds: number): string {
  if (nanoseconds < 10_000) return `${nanoseconds.toFixed(0)} ns`;
  if (nanoseconds < 10_000_000) return `${(nanoseconds / 1_000).toFixed(1)} µs`;
  return `${(nanoseconds / 1_000_000).toFixed(1)} ms`;
}
