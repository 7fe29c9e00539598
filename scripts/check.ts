/** Runs everything CI demands, one step after the other, and ends with the sum: `N passed, N failed`. */
import { spawn } from "node:child_process";

const steps = [
  ["format and lint", "npm run --silent lint"],
  ["types", "npm run --silent types"],
  ["unused code", "npm run --silent unused"],
  ["tests", "npm run --silent test:unit"],
  ["build and package tests", "npm run --silent test:package"],
  ["examples", "npm run --silent examples"],
  ["docs", "npm run --silent docs:check"],
] as const;

interface Count {
  passed: number;
  failed: number;
}

/** A step that counts says so in a line of its own; any other step counts as one. */
const countLine = /^(\d+) passed, (\d+) failed$/;

const total: Count = { passed: 0, failed: 0 };
for (const [name, command] of steps) {
  console.log(`\n── ${name}`);
  const started = performance.now();
  const count = await run(command);
  total.passed += count.passed;
  total.failed += count.failed;
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(
    `${count.failed === 0 ? "✓" : "✗"} ${name}: ${count.passed} of ${count.passed + count.failed}, ${seconds} s`,
  );
}
console.log(`\n${total.passed} passed, ${total.failed} failed`);
process.exitCode = total.failed === 0 ? 0 : 1;

function run(command: string): Promise<Count> {
  return new Promise((resolve, reject) => {
    const env = process.stdout.isTTY ? { ...process.env, FORCE_COLOR: "1" } : process.env;
    const child = spawn(command, { shell: true, env, stdio: ["ignore", "pipe", "inherit"] });
    let counted: Count | undefined;
    let rest = "";
    const line = (text: string) => {
      const match = countLine.exec(text);
      if (match) counted = { passed: Number(match[1]), failed: Number(match[2]) };
      else console.log(text);
    };
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const text of lines) line(text);
    });
    child.on("error", reject);
    child.on("close", (exitCode) => {
      if (rest !== "") line(rest);
      const count = counted ?? { passed: exitCode === 0 ? 1 : 0, failed: 0 };
      // A step that exits with an error must never add up to a pass.
      resolve(exitCode === 0 || count.failed > 0 ? count : { ...count, failed: 1 });
    });
  });
}
