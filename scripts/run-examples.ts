/** Runs every `examples/<story>/main.ts`. An example checks itself and exits non-zero when something is wrong. */
import { existsSync, readdirSync } from "node:fs";
import { resolve } from "node:path";
import { runProgram } from "./run-program.ts";
import { root } from "./subpaths.ts";

const folder = resolve(root, "examples");
const stories = existsSync(folder) ? readdirSync(folder).sort() : [];
let passed = 0;
let failed = 0;
for (const story of stories) {
  const path = `examples/${story}/main.ts`;
  if (!existsSync(resolve(root, path))) continue;
  const started = performance.now();
  const { exitCode, stdout, stderr } = await runProgram(path);
  const took = `${Math.round(performance.now() - started)} ms`;
  if (exitCode === 0) {
    passed++;
    console.log(`✓ ${path} (${took})`);
  } else {
    failed++;
    console.log(`✗ ${path} ended with ${exitCode ?? "a time-out"} (${took})\n${stdout}${stderr}`);
  }
}
console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
