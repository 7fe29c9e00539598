import { deepStrictEqual } from "node:assert/strict";
import { importBuilt, operations } from "./built.ts";
import { type Block, formatNoise, measure } from "./measure.ts";
import { formatTime, type Row } from "./table.ts";
import { expected, identity, input, taskOperation } from "./task-operation.ts";

const { circuitBreaker, concurrency, retry } =
  await importBuilt<typeof import("../../src/middleware/index.ts")>("middleware/index.js");

type Middleware = ReturnType<typeof retry>;

function execute(...middleware: Middleware[]): Block {
  const registry = new operations.OperationRegistry();
  registry.register(taskOperation);
  for (const each of middleware) registry.use(each);
  return async (times) => {
    let last: unknown;
    for (let i = 0; i < times; i++) last = await registry.execute("task.create", input, { identity });
    return last;
  };
}

/** Measures a successful call through retry, circuit breaker and concurrency limit against empty middleware. */
export async function run(): Promise<Row[]> {
  const empty: Middleware = (_call, next) => next();
  const floor = execute(empty, empty, empty);
  const cases = { all: execute(circuitBreaker(), retry(), concurrency({ limit: 100 })) };
  for (const block of [floor, cases.all]) deepStrictEqual(((await block(1)) as { data: unknown }).data, expected);
  const measured = await measure(floor, cases, { clock: "cpu" });
  const { ns, ratio } = measured.cases.all;
  const note = `${formatTime(ns)}, empty middleware ${formatTime(measured.floor.ns)}, ${formatNoise(measured)}`;
  return [{ work: "execute through retry, circuit breaker and concurrency", ratio, note }];
}
