import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { checkDocument, type DocumentCheck } from "../test/corpora/check-document.ts";

/** `npm run lab -- corpora <folder>`: imports every OpenAPI document of a folder, compiles every schema, prints a table. */
async function main(folder: string): Promise<number> {
  const files = (await readdir(folder, { recursive: true })).filter((file) => /\.(json|ya?ml)$/.test(file)).sort();
  const columns = ["document", "entries", "operations", "skipped", "warnings", "schemas", "called", "ms", "problem"];
  const rows: string[][] = [];
  let failures = 0;
  for (const file of files) {
    const started = performance.now();
    const check = await checkDocument(await readFile(join(folder, file), "utf8")).catch(
      (error: unknown): DocumentCheck => ({ ...nothing, problems: [String(error)] }),
    );
    failures += check.problems.length > 0 ? 1 : 0;
    const { entries, operations, skipped, warnings, schemas, called, problems } = check;
    const figures = [entries, operations, skipped, warnings, schemas, called, Math.round(performance.now() - started)];
    rows.push([file, ...figures.map(String), problems[0]?.slice(0, 120) ?? ""]);
  }
  const widths = columns.map((name, index) => Math.max(name.length, ...rows.map((row) => row[index]!.length)));
  for (const row of [columns, widths.map((width) => "-".repeat(width)), ...rows]) {
    console.log(
      row
        .map((cell, index) => cell.padEnd(widths[index]!))
        .join("  ")
        .trimEnd(),
    );
  }
  console.log(`${rows.length - failures} of ${rows.length} documents have no problem`);
  // A folder without documents is an error.
  return rows.length === 0 ? 1 : failures;
}

const nothing: DocumentCheck = {
  entries: 0,
  operations: 0,
  skipped: 0,
  warnings: 0,
  schemas: 0,
  called: 0,
  problems: [],
};

const folder = process.argv[2];
if (folder === undefined || !existsSync(folder)) {
  console.error(
    folder === undefined ? "usage: npm run lab -- corpora <folder>" : `The folder ${folder} does not exist.`,
  );
  process.exitCode = 2;
} else {
  process.exitCode = (await main(folder)) > 0 ? 1 : 0;
}
