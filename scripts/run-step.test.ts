import { expect, test } from "vitest";
import { runStep } from "./run-step.ts";

/** Runs a small program as a step, and returns its count and its output. */
async function run(program: string) {
  const printed: string[] = [];
  const count = await runStep(`"${process.execPath}" -e '${program}'`, (line) => printed.push(line));
  return { count, printed };
}

test("a step that counts is believed, and its count is not printed", async () => {
  expect(await run('console.log("first\\n3 passed, 0 failed\\nlast")')).toEqual({
    count: { passed: 3, failed: 0 },
    printed: ["first", "last"],
  });
});

test("a step that does not count is one", async () => {
  expect(await run("")).toEqual({ count: { passed: 1, failed: 0 }, printed: [] });
  expect(await run("process.exitCode = 2")).toEqual({ count: { passed: 0, failed: 1 }, printed: [] });
});

test("a step that fails never adds up to a pass", async () => {
  const failed = await run('process.stdout.write("5 passed, 0 failed"); process.exitCode = 1');

  expect(failed.count).toEqual({ passed: 5, failed: 1 });
});
