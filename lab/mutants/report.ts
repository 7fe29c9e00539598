import type { TestRun } from "./slot.ts";

/** A mutant and what its tests showed. */
export interface Result extends Omit<TestRun, "durations"> {
  /** The path of the file, relative to the root of the repository. */
  file: string;
  line: number;
  /** What was changed, such as `comparison`. */
  kind: string;
  /** The change on one line. */
  change: string;
  /** Number of test files that were to run. */
  tests: number;
}

/** Formats the counts of each folder and the list of mutants that no test noticed. */
export function formatReport(results: readonly Result[], folders: readonly string[]): string {
  const groups = [
    ...folders.map((folder) => ({ name: folder, own: results.filter(({ file }) => file.startsWith(`${folder}/`)) })),
    { name: "total", own: results },
  ];
  const header = ["folder", "mutants", "noticed", "of them by timeout", "survived", "share"];
  const rows = groups.map(({ name, own }) => {
    const noticed = own.filter(({ outcome }) => outcome !== "passed").length;
    const timeouts = own.filter(({ outcome }) => outcome === "timeout").length;
    const share = own.length === 0 ? "" : `${((100 * noticed) / own.length).toFixed(1)} %`;
    return [name, String(own.length), String(noticed), String(timeouts), String(own.length - noticed), share];
  });
  const lines = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  const table = lines.map((line) =>
    line
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
      .join("  "),
  );
  const survivors = results
    .filter(({ outcome }) => outcome === "passed")
    .sort((one, other) => (one.file === other.file ? one.line - other.line : one.file < other.file ? -1 : 1))
    .map(({ file, line, change, tests }) => `${file}:${line} ${change}${tests === 0 ? " (no test reaches it)" : ""}`);
  return [...table, "", "Survivors:", ...survivors].join("\n");
}
