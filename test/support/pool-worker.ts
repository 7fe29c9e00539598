/** A worker of a pool: returns its ids to callers with the scope, and counts. */
import { threadId } from "node:worker_threads";
import { buildCallHandler, PendingRequestMap } from "../../src/call/index.ts";
import { operation, subscription } from "../../src/call/testing.ts";
import { OperationRegistry } from "../../src/registry/index.ts";
import { createWorkerTransport } from "../../src/transport/worker/index.ts";

const registry = new OperationRegistry();
registry.registerAll([
  {
    ...operation("who", (_input, { identity }) => ({ by: identity?.id, where: `${process.pid}:${threadId}` })),
    accessControl: { requiredScopes: ["work"] },
  },
  subscription("count", async function* ({ upTo }) {
    for (let n = 1; n <= upTo; n++) yield n;
  }),
]);
const calls = new PendingRequestMap(createWorkerTransport());
calls.handle(buildCallHandler({ registry, callMap: calls, trustedBus: true }));
