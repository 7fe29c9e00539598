// #region start
import { createRegistry, defineOperation, PendingRequestMap, serveCalls, Type } from "@alkdev/operations";

const createTask = defineOperation({
  namespace: "task",
  name: "create",
  type: "mutation",
  description: "Creates a task",
  inputSchema: Type.Object({ title: Type.String() }),
  outputSchema: Type.Object({ id: Type.String(), title: Type.String() }),
  accessControl: { requiredScopes: ["task:write"] },
  handler: async ({ title }) => ({ id: "task-1", title }),
});
const ticks = defineOperation({
  namespace: "clock",
  name: "ticks",
  type: "subscription",
  description: "Counts",
  inputSchema: Type.Object({}),
  outputSchema: Type.Integer(),
  handler: async function* () {
    for (let tick = 1; ; tick++) yield tick;
  },
});
const registry = createRegistry({ operations: [createTask, ticks] });

const calls = new PendingRequestMap(); // in process; or over a transport: new PendingRequestMap(transport)
const served = await serveCalls(registry, calls); // or serveCalls(registry, transport)

const identity = { id: "ada", scopes: ["task:write"] };
const envelope = await calls.call("task.create", { title: "Ship it" }, { identity, timeout: 5_000 });
console.log(envelope.data);

for await (const tick of calls.subscribe("clock.ticks", {}, { idleTimeout: 30_000 })) {
  console.log("tick", tick.data);
  if (tick.data === 3) break; // ends the handler, wherever it runs
}
// #endregion start

// #region identity
const bus = new EventTarget(); // stands for a network: identities from it are not trusted
const tokens = new Map([["secret-token", identity]]);
const worker = await serveCalls(registry, bus, { authenticate: (token) => tokens.get(token ?? "") });

const remote = new PendingRequestMap(bus);
const claimed = await remote.call("task.create", { title: "x" }, { identity }).catch((error) => error);
console.log(claimed.code);

const proven = await remote.call("task.create", { title: "x" }, { token: "secret-token" });
console.log(proven.data);

// #endregion identity

// #region peers
import { createInProcessTransport, InProcessBus, OperationRegistry, peerSource } from "@alkdev/operations";

const network = new InProcessBus();
const peer = await serveCalls(registry, createInProcessTransport(network));

const hub = new OperationRegistry();
await hub.follow(peerSource(createInProcessTransport(network)));

const viaHub = await hub.execute("task.create", { title: "From the hub" }, { identity });
console.log(viaHub.data);

await peer.close();
console.log("operations left:", hub.getAllSpecs().length);
// #endregion peers

// #region close
await served.close(); // receives no further request, ends subscriptions, and lets calls finish
await calls.close();
const late = await calls.call("task.create", { title: "too late" }).catch((error) => error);
console.log(late.code, { mayHaveRun: late.mayHaveRun });
// #endregion close

await Promise.all([worker.close(), remote.close(), hub.close()]);

import assert from "node:assert/strict";

assert.deepEqual(envelope.data, { id: "task-1", title: "Ship it" });
assert.equal(claimed.code, "ACCESS_DENIED");
assert.deepEqual(proven.data, { id: "task-1", title: "x" });
assert.deepEqual(viaHub.data, { id: "task-1", title: "From the hub" });
assert.deepEqual([late.code, late.mayHaveRun], ["UNAVAILABLE", false]);
