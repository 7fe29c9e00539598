import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { root } from "../../scripts/subpaths.ts";
import { testTimeoutMs } from "../../src/internal/testing.ts";

const chaosTimeoutMs = 2 * testTimeoutMs;

/** Runs `npm run lab -- chaos` as users do, in a separate process that must end without a signal. */
function chaos(...args: string[]): Promise<{ exitCode: number; output: string }> {
  return new Promise((resolve) => {
    const command = ["--import", "tsx", "lab/chaos/main.ts", ...args];
    execFile(process.execPath, command, { cwd: root, timeout: chaosTimeoutMs }, (error, stdout, stderr) => {
      resolve({ exitCode: error === null ? 0 : Number(error.code ?? -1), output: stdout + stderr });
    });
  });
}

// The tolerance is for busy machines: what is promised about durations holds on a machine without other work. The timeout
// is for 15 s of faults, and up to 22 s until peers whose broker is silent have closed.
test("a quarter of a minute of faults on all transports violates no guarantee", {
  timeout: chaosTimeoutMs,
}, async () => {
  const { exitCode, output } = await chaos("--minutes", "0.25", "--seed", "2026", "--patience", "20");

  expect(output).toMatch(/^seed 2026: .+/);
  expect(output).toMatch(/\n0 violations\n/);
  for (const transport of ["nats", "redis", "websocket", "worker"]) expect(output).toContain(`\n${transport}\n  calls`);
  expect(exitCode).toBe(0);
});

test("a saved history can be checked again, and its violations are reported", async () => {
  const folder = mkdtempSync(join(tmpdir(), "chaos-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "history");
  const asked = {
    kind: "asked",
    at: 0,
    by: "nats caller 1",
    call: "nats caller 1#1",
    operation: "x",
    transport: "nats",
  };
  writeFileSync(file, `${JSON.stringify(asked)}\n`);

  const { exitCode, output } = await chaos("--check", file);

  expect(output).toContain("I1 every call settles exactly once, by its deadline\n  it never settled");
  expect(output).toContain("\n1 violation\n");
  expect(exitCode).toBe(1);
});

test("an invalid option is reported with the help", async () => {
  const { exitCode, output } = await chaos("--transports", "pigeon");

  expect(output).toMatch(/^The transport "pigeon" does not exist\.\n\nnpm run lab -- chaos \[options\]\n/);
  expect(exitCode).toBe(2);
});
