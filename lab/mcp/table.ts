/** Prints rows in aligned columns. */
export function printTable(columns: readonly string[], rows: ReadonlyArray<readonly string[]>): void {
  const widths = columns.map((name, index) => Math.max(name.length, ...rows.map((row) => row[index]!.length)));
  for (const row of [columns, widths.map((width) => "-".repeat(width)), ...rows]) {
    console.log(
      row
        .map((cell, index) => cell.padEnd(widths[index]!))
        .join("  ")
        .trimEnd(),
    );
  }
}
