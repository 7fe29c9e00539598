/**
 * `npm run examples`: runs every example. An example checks itself and exits with a non-zero code if
 * a check fails. `npm run examples -- <name> [arguments]` runs one example in the terminal. Brokers are started as
 * needed.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { ExampleRunner, exampleOf, listPrograms } from "./examples.ts";
import { root } from "./subpaths.ts";

const [name, ...args] = process.argv.slice(2);
await using runner = new ExampleRunner();
process.exitCode = name === undefined ? await runAll() : await runOne(name);

async function runAll(): Promise<number> {
  const count = { passed: 0, failed: 0 };
  await runner.runAll(listPrograms(), (path, result) => {
    if (result.skipped !== undefined) return console.log(`- ${path} is skipped: ${result.skipped} is missing`);
    const took = `${Math.round(result.durationMs)} ms`;
    if (result.exitCode === 0) {
      count.passed++;
      console.log(`✓ ${path} (${took})`);
    } else {
      count.failed++;
      const reason =
        result.exitCode === undefined ? "was stopped after the time limit" : `exited with ${result.exitCode}`;
      console.log(`✗ ${path} ${reason} (${took})\n${result.stdout}${result.stderr}`);
    }
  });
  console.log(`\n${count.passed} passed, ${count.failed} failed`);
  return count.failed === 0 ? 0 : 1;
}

async function runOne(example: string): Promise<number> {
  const found = listPrograms().find((path) => exampleOf(path) === example);
  if (found === undefined) {
    console.error(`No example is called "${example}". Examples: ${listPrograms().map(exampleOf).join(", ")}.`);
    return 2;
  }
  const prepared = await runner.prepare(example, args);
  if ("missing" in prepared) return 1; // The reason was already printed.
  const program = ["--import", "tsx", found, ...args];
  const child = spawn(process.execPath, program, { cwd: root, env: prepared.env, stdio: "inherit" });
  process.on("SIGINT", () => {}); // Ctrl-C also reaches the example. Brokers are stopped after it.
  const [exitCode] = await once(child, "close");
  return exitCode ?? 1;
}
