/**
 * Runs every `examples/<story>/main.ts` and every `<file>.examples.ts`. An example checks itself and exits non-zero
 * when something is wrong.
 */
import { existsSync, readdirSync } from "node:fs";
import { resolve } from "node:path";
import { runProgram } from "./run-program.ts";
import { root } from "./subpaths.ts";

/** What an example is also asked for, so that nothing of it goes unrun. */
const moreArguments: Record<string, string[]> = { "examples/tour/main.ts": ["--nats", "--redis"] };
const programs = [...find("examples", /^[^/]+\/main\.ts$/), ...find("src", /\.examples\.ts$/)];
let passed = 0;
let failed = 0;
for (const path of programs) {
  const started = performance.now();
  const { exitCode, stdout, stderr } = await runProgram(path, moreArguments[path]);
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

function find(folder: string, pattern: RegExp): string[] {
  if (!existsSync(resolve(root, folder))) return [];
  return readdirSync(resolve(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => pattern.test(name))
    .map((name) => `${folder}/${name}`)
    .sort();
}
