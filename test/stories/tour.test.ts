import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { runProgram } from "../../scripts/run-program.ts";
import { root } from "../../scripts/subpaths.ts";

const program = "examples/tour/main.ts";

test.each([
  [
    "in the repository",
    "examples",
    ["npm run examples -- tour --all", "npm run examples -- tour --nats --redis", "npm start"],
  ],
  ["as a copy", "", [`npx tsx ${program} --all`, `npx tsx ${program} --nats --redis`, "npx @alkdev/operations init"]],
])("the tour %s prints at most 60 lines and ends with three commands to try", async (_, script, commands) => {
  // Starts a worker and an MCP server from the sources.
  const { exitCode, stdout, stderr } = await runProgram(program, [], { ...process.env, npm_lifecycle_event: script });

  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(stdout.split("\n").length).toBeLessThanOrEqual(60);
  expect(stdout).not.toContain("\x1b");
  const [, next = ""] = stdout.split("Try next\n");
  const lines = next.trim().split("\n").slice(1);
  expect(lines.map((line) => line.split(/ {2,}/)[0])).toEqual(commands);
});

test("Ctrl-C ends the tour and the processes that it started", async () => {
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
