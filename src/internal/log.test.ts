import { configure, type LogRecord, reset } from "@logtape/logtape";
import { afterEach, expect, test, vi } from "vitest";
import { createWarnOnce, logger } from "./log.ts";

afterEach(async () => {
  vi.restoreAllMocks();
  await reset();
});

/** Collects what is logged below our category. */
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

test("nothing is written until the application configures logging", () => {
  const outputs = (["log", "warn", "error", "info", "debug"] as const).map((name) => vi.spyOn(console, name));
  const streams = [vi.spyOn(process.stdout, "write"), vi.spyOn(process.stderr, "write")];

  logger("registry").error("lost");

  expect([...outputs, ...streams].map((spy) => spy.mock.calls)).toEqual([...outputs, ...streams].map(() => []));
});

test("a configured application hears each part under its category", async () => {
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

test("the oldest keys are forgotten when there are too many", async () => {
  const records = await record();
  const warnOnce = createWarnOnce(logger("registry"), 2);

  for (const key of ["a", "b", "a", "c", "b", "a"]) warnOnce(key, key);

  expect(records.map(({ message }) => message[0])).toEqual(["a", "b", "c", "a"]);
});
