/** Runs everything CI demands, one step after the other, and ends with the sum: `N passed, N failed`. */
import { type Count, runStep } from "./run-step.ts";

const steps = [
  ["format and lint", "npm run --silent lint"],
  ["types", "npm run --silent types"],
  ["unused code", "npm run --silent unused"],
  ["tests", "npm run --silent test:unit"],
  ["build and package tests", "npm run --silent test:package"],
  ["examples", "npm run --silent examples"],
  ["docs", "npm run --silent docs:check"],
] as const;

const total: Count = { passed: 0, failed: 0 };
for (const [name, command] of steps) {
  console.log(`\n── ${name}`);
  const started = performance.now();
  const count = await runStep(command, console.log);
  total.passed += count.passed;
  total.failed += count.failed;
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(
    `${count.failed === 0 ? "✓" : "✗"} ${name}: ${count.passed} of ${count.passed + count.failed}, ${seconds} s`,
  );
}
console.log(`\n${total.passed} passed, ${total.failed} failed`);
process.exitCode = total.failed === 0 ? 0 : 1;
