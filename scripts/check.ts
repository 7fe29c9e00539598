/**
 * `npm test`: runs all checks of the CI and ends with the total, `N passed, N failed`. The tests mostly wait, so the
 * other steps run in parallel with them, one after the other. The output of each step is printed when it ends.
 */
import { ensureProgram, programNames } from "./ensure-program.ts";
import { type Count, runStep } from "./run-step.ts";

type Step = readonly [name: string, command: string];

const tests: Step = ["tests", "npm run --silent test:unit"];
const others: Step[] = [
  ["format and lint", "npm run --silent lint"],
  // One checker: more of them would repeat work, and the cores are busy with tests.
  ["types", "npm run --silent types -- --checkers 1"],
  ["unused code", "npx --no-install knip --no-config-hints"],
  ["build, package, examples and docs", "npx --no-install vitest run --project package"],
  ["API reference", "npx --no-install tsx scripts/api-reference.ts"],
];
const total: Count = { passed: 0, failed: 0 };
const summary: string[] = [];

const started = performance.now();
await Promise.all(programNames.map((name) => ensureProgram(name)));
await Promise.all([run(tests, console.log), runInTurn(others)]);
console.log(
  `\n── summary\n${summary.join("\n")}\n\n${total.passed} passed, ${total.failed} failed (${elapsed(started)})`,
);
process.exitCode = total.failed === 0 ? 0 : 1;

async function runInTurn(steps: readonly Step[]): Promise<void> {
  for (const step of steps) {
    const printed: string[] = [];
    const result = await run(step, (line) => printed.push(line));
    console.log([`\n── ${step[0]}`, ...printed, result, ""].join("\n"));
  }
}

async function run([name, command]: Step, print: (line: string) => void): Promise<string> {
  const started = performance.now();
  const count = await runStep(command, print);
  total.passed += count.passed;
  total.failed += count.failed;
  const mark = count.failed === 0 ? "✓" : "✗";
  const result = `${mark} ${name}: ${count.passed} of ${count.passed + count.failed}, ${elapsed(started)}`;
  summary.push(result);
  return result;
}

function elapsed(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}
