import { configure, type LogRecord, reset } from "@logtape/logtape";
import { afterEach, expect, test, vi } from "vitest";
import { clientLogger, fillPlaceholders } from "./client-log.ts";

afterEach(async () => {
  vi.restoreAllMocks();
  await reset();
});

test("without LogTape each message is written to the console once, on one line", () => {
  const lines: unknown[] = [];
  vi.spyOn(console, "warn").mockImplementation((line) => void lines.push(line));
  const log = clientLogger("transport", "websocket");

  log.warn("lost: {error}", { error: new Error("gone\nfor good") });
  log.warn("lost: {error}", { error: "again" });
  log.error("failed", {});

  expect(lines).toEqual([
    "[alkdev.operations.transport.websocket] lost: Error: gone for good",
    "[alkdev.operations.transport.websocket] failed",
  ]);
});

test("in a program that has loaded LogTape, messages are written to it", async () => {
  const warn = vi.spyOn(console, "warn");
  const records: LogRecord[] = [];
  await configure({
    sinks: { memory: (record) => records.push(record) },
    loggers: [
      { category: ["alkdev", "operations"], sinks: ["memory"] },
      { category: ["logtape", "meta"], lowestLevel: "error", sinks: ["memory"] },
    ],
  });
  const log = clientLogger("call");
  const { logger } = await import("./log.ts");
  logger("registry");

  log.error("failed: {error}", { error: "gone" });

  expect(records.map(({ category, level, properties }) => ({ category, level, properties }))).toEqual([
    { category: ["alkdev", "operations", "call"], level: "error", properties: { error: "gone" } },
  ]);
  expect(warn).not.toHaveBeenCalled();
});

test.each([
  ["a\u001b[31m\u009b31m\r\nb", "a [31m 31m b"],
  ["safe\u202etxt.exe\u200b", "safe txt.exe "],
  [Object.create(null), "object"],
  ["x".repeat(3_000), `${"x".repeat(1_999)}…`],
])("a foreign value fills one line, without characters that control a terminal", (value, expected) => {
  expect(fillPlaceholders("{value}!", { value })).toBe(`${expected}!`);
});
