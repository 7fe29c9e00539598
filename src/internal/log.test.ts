import { configure, type LogRecord, reset } from "@logtape/logtape";
import { afterEach, expect, test, vi } from "vitest";
import { createWarnOnce, logger, warnVisibly } from "./log.ts";

afterEach(async () => {
  vi.restoreAllMocks();
  await reset();
});

/** Collects the records below the category of this package. */
async function record(): Promise<LogRecord[]> {
  const records: LogRecord[] = [];
  await configure({
    sinks: { memory: (entry) => records.push(entry) },
    loggers: [
      { category: ["alkdev", "operations"], lowestLevel: "debug", sinks: ["memory"] },
      { category: ["logtape", "meta"], lowestLevel: "error", sinks: ["memory"] },
    ],
  });
  return records;
}

test("ordinary records are not written until the application configures logging", () => {
  const outputs = (["log", "warn", "error", "info", "debug"] as const).map((name) => vi.spyOn(console, name));
  const streams = [vi.spyOn(process.stdout, "write"), vi.spyOn(process.stderr, "write")];

  logger("registry").error("lost");

  expect([...outputs, ...streams].map((spy) => spy.mock.calls)).toEqual([...outputs, ...streams].map(() => []));
});

test("a visible warning is one line on the console until the application configures logging", async () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  const log = logger("registry");

  const properties = { what: "two\r\nlines\u001b[2J", place: new Error("x") };
  warnVisibly(log, [{ message: "{what} is missing in {place}{unknown}", properties }]);
  createWarnOnce(log)("key", "no placeholders");
  await record();
  warnVisibly(log, [{ message: "to the log only", properties: {} }]);

  expect(warn.mock.calls).toEqual([
    ["[alkdev.operations.registry] two lines [2J is missing in Error: xundefined"],
    ["[alkdev.operations.registry] no placeholders"],
  ]);
});

test("the console shows ten of many warnings and a count", () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  const warnings = Array.from({ length: 25 }, (_, n) => ({ message: "item {n}", properties: { n } }));

  warnVisibly(logger("from"), warnings);

  expect(warn.mock.calls.map(([line]) => line)).toEqual([
    ...Array.from({ length: 10 }, (_, n) => `[alkdev.operations.from] item ${n}`),
    "[alkdev.operations.from] There are 15 more warnings. Configure LogTape or pass onReport to see them all.",
  ]);
});

test("a configured application receives each part under its category", async () => {
  const records = await record();

  logger("from", "openapi").warn("skipped {where}", { where: "/paths/~1a" });

  expect(records.map(({ category, level, message }) => ({ category, level, message }))).toEqual([
    {
      category: ["alkdev", "operations", "from", "openapi"],
      level: "warning",
      message: ["skipped ", "/paths/~1a", ""],
    },
  ]);
});

test("the same key warns once", async () => {
  const records = await record();
  const warnOnce = createWarnOnce(logger("registry"));

  warnOnce("task.create stripped", "drift in {id}", { id: "task.create" });
  warnOnce("task.create stripped", "drift in {id}", { id: "task.create" });
  warnOnce("task.create filled", "drift in {id}", { id: "task.create" });

  expect(records.map(({ properties }) => properties)).toEqual([{ id: "task.create" }, { id: "task.create" }]);
});

test("a log that is configured later receives the same warning once", async () => {
  vi.spyOn(console, "warn").mockImplementation(() => {});
  const warnOnce = createWarnOnce(logger("registry"));

  warnOnce("key", "drift");
  const records = await record();
  for (let count = 0; count < 3; count++) warnOnce("key", "drift");

  expect([vi.mocked(console.warn).mock.calls.length, records.length]).toEqual([1, 1]);
});

test("the oldest keys are removed when there are too many", async () => {
  const records = await record();
  const warnOnce = createWarnOnce(logger("registry"), 2);

  for (const key of ["a", "b", "a", "c", "b", "a"]) warnOnce(key, key);

  expect(records.map(({ message }) => message[0])).toEqual(["a", "b", "c", "a"]);
});

test("the console receives a limited number of lines, and the last one explains that", async () => {
  vi.resetModules(); // The lines of a process are counted. Other tests must not run out of them.
  const { logger, warnVisibly } = await import("./log.ts");
  const lines: string[] = [];
  vi.spyOn(console, "warn").mockImplementation((line) => void lines.push(line));

  for (let index = 0; index < 2_000; index++) warnVisibly(logger("call"), [{ message: `${index}`, properties: {} }]);

  expect(lines.length).toBeLessThanOrEqual(1_000);
  expect(lines[0]).toBe("[alkdev.operations.call] 0");
  expect(lines.at(-1)).toBe("[alkdev.operations] Further warnings are not shown. Configure LogTape to see them.");
});
