import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Type } from "typebox";
import { expect, test, vi } from "vitest";
import type { OperationContext } from "../operation/index.ts";
import { OperationRegistry, subscribe } from "./index.ts";
import { operation, subscription } from "./testing.ts";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

let running: (context: OperationContext) => void;
const started = new Promise<OperationContext>((resolve) => {
  running = resolve;
});
const registry = new OperationRegistry();
registry.registerAll([
  operation({ inputSchema: Type.Object({}), handler: async () => 1 }),
  operation({
    name: "outer",
    handler: async (_: unknown, { env }: OperationContext) => (await env["test"]!["echo"]!({})).data,
  }),
  operation({ name: "signal", handler: async (_: unknown, { signal }: OperationContext) => signal.aborted }),
  operation({
    name: "running",
    handler: (_: unknown, context: OperationContext) => new Promise(() => running(context)),
  }),
  subscription(async function* () {
    for (;;) yield 1;
  }),
]);
const shared = new AbortController().signal;
void registry.execute("test.running", {}, { signal: shared });
const { env } = await started;
const client = registry.client({ signal: shared });
const inAnHour = () => Date.now() + 3_600_000;
const fresh = () => new AbortController().signal;
let distinct = 0;
/** In bytes: less than 100 bytes for each call. */
const allowed = 1_000_000;

async function heapAfter(load: () => unknown, count: number): Promise<number> {
  for (let index = 0; index < count; index++) {
    await load();
    // The targets of weak references are kept until the end of the turn.
    if (index % 200 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  for (let pass = 0; pass < 3; pass++) {
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
  }
  return process.memoryUsage().heapUsed;
}

test.each<[name: string, count: number, load: () => unknown]>([
  ["calls", 100_000, () => registry.execute("test.echo", {})],
  ["calls that fail", 10_000, () => registry.execute("test.echo", 5).catch(() => {})],
  ["calls inside calls", 10_000, () => registry.execute("test.outer", {}, { signal: shared, deadline: inAnHour() })],
  ["nested calls of a handler that keeps running", 10_000, () => env["test"]!["signal"]!({})],
  ["calls with a shared signal", 10_000, () => registry.execute("test.signal", {}, { signal: shared })],
  ["calls with a signal each", 10_000, () => registry.execute("test.echo", {}, { signal: fresh() })],
  [
    "calls with a combined signal each",
    10_000,
    () => registry.execute("test.echo", {}, { signal: AbortSignal.any([fresh(), fresh()]) }),
  ],
  [
    "calls with a timeout signal each",
    10_000,
    () => registry.execute("test.echo", {}, { signal: AbortSignal.timeout(3_600_000) }),
  ],
  [
    "calls with deadlines far apart",
    20_000,
    () => registry.execute("test.echo", {}, { deadline: inAnHour() + 10 * distinct++ }),
  ],
  ["calls of a client with two signals", 20_000, () => client["test"]!["echo"]!({}, { signal: fresh() })],
  ["unknown names", 10_000, () => client[`ns${distinct++}`]!["x"]!({}).catch(() => {})],
  [
    "subscriptions that are ended",
    10_000,
    async () => {
      for await (const _ of subscribe(registry, "test.ticks", {}, { signal: shared })) break;
    },
  ],
  [
    "subscriptions that are aborted",
    10_000,
    async () => {
      const controller = new AbortController();
      const iterator = subscribe(registry, "test.ticks", {}, { signal: controller.signal, deadline: inAnHour() });
      await iterator.next();
      controller.abort();
      await iterator.next().catch(() => {});
    },
  ],
])("%s leave nothing in memory", async (_, count, load) => {
  let growth = Number.POSITIVE_INFINITY;
  let before = await heapAfter(load, count / 10);

  // A leak grows with every attempt; memory that the engine keeps for itself does not.
  for (let attempt = 0; attempt < 4 && growth >= allowed; attempt++) {
    const after = await heapAfter(load, count);
    growth = after - before;
    before = after;
  }

  expect(growth).toBeLessThan(allowed);
});

test("a call creates no controller or timer that is not used", async () => {
  const made: string[] = [];
  class CountedController extends AbortController {
    constructor() {
      super();
      made.push("controller");
    }
  }
  vi.stubGlobal("AbortController", CountedController);
  vi.spyOn(globalThis, "setTimeout").mockImplementation((() => made.push("timer")) as never);

  await registry.execute("test.echo", {});
  await registry.execute("test.echo", {}, { signal: shared });
  expect(made).toEqual([]);

  await registry.execute("test.signal", {}, { deadline: inAnHour() });
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  expect(made).toEqual(["timer", "controller"]);
});
