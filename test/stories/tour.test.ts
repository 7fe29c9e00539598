import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { runProgram } from "../../scripts/run-program.ts";
import { root } from "../../scripts/subpaths.ts";

const program = "examples/tour/main.ts";

test("the tour without options prints at most 60 lines, without colours in a pipe", { timeout: 120_000 }, async () => {
  const { exitCode, stdout, stderr } = await runProgram(program); // starts a worker and an MCP server from the sources

  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(stdout.split("\n").length).toBeLessThanOrEqual(60);
  expect(stdout).not.toContain("\x1b");
});

test("Ctrl-C ends the tour and the processes that it started", { timeout: 120_000 }, async () => {
  const tour = spawn(process.execPath, ["--import", "tsx", program], { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  const errors: string[] = [];
  tour.stderr.on("data", (chunk) => errors.push(String(chunk)));
  let printed = "";
  tour.stdout.on("data", (chunk) => {
    printed += String(chunk);
    if (!tour.killed && printed.includes("calls packing.suggest")) tour.kill("SIGINT");
  });

  const [exitCode] = await once(tour, "close"); // "close" waits for every process that holds its stderr

  expect({ exitCode, errors }).toEqual({ exitCode: 130, errors: [] });
});
