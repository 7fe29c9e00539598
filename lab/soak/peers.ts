import { buildCallHandler, type PendingRequestMap } from "../../src/call/index.ts";
import { OperationRegistry } from "../../src/registry/index.ts";
import { inLanes } from "./lanes.ts";
import { visitOperation } from "./operations.ts";
import type { Soak } from "./soak.ts";

/** One peer that offers an operation and takes it back, again and again. */
export const offers: Soak = {
  name: "offers",
  about: "operations that are added and removed again do not leak",
  count: 5_000,
  async run(run) {
    const { registry, stop } = await serveNothingYet(run.calls);
    await inLanes(run, 1, async (n) => {
      registry.register(visitOperation(n));
      await run.calls.call("soak.echo", { n });
      registry.unregister(`visit.n${n}`);
    });
    await stop();
    return [];
  },
};

/** Peers that connect, serve an operation, are called by the server, and leave. */
export const visits: Soak = {
  name: "visits",
  about: "peers that join, serve imported operations and leave do not leak",
  count: 1_000,
  async run(run) {
    let wrong = 0;
    await inLanes(run, 4, async (n) => {
      const visitor = await run.way.connect();
      const { registry, stop } = await serveNothingYet(visitor);
      registry.register(visitOperation(n));
      const { data } = await visitor.call("soak.receive", { n });
      if (data !== n) wrong++;
      await stop();
      await visitor.close();
    });
    return wrong === 0 ? [] : [`${wrong} visitors were not heard`];
  },
};

async function serveNothingYet(calls: PendingRequestMap) {
  const registry = new OperationRegistry();
  const stop = calls.handle(buildCallHandler({ registry, callMap: calls }));
  await stop.ready;
  return { registry, stop };
}
