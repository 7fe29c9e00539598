/** Needs a Redis server, at `REDIS_URL` or on 127.0.0.1:6379. `npm run examples -- redis-workers` starts one. */
import assert from "node:assert/strict";

const url = process.env["REDIS_URL"];

// #region worker
import { createRegistry, defineOperation, PendingRequestMap, serveCalls, Type } from "@alkdev/operations";
import { createRedisTransport } from "@alkdev/operations/transport-redis";

const render = defineOperation({
  namespace: "report",
  name: "render",
  type: "mutation",
  description: "Renders a report; repeating it has no further effect",
  idempotent: true, // may be repeated
  inputSchema: Type.Object({ month: Type.String() }),
  outputSchema: Type.Object({ pages: Type.Integer(), at: Type.Unsafe<Date>({}) }),
  handler: ({ month }) => ({ pages: month.length, at: new Date(0) }),
});

const registry = createRegistry({ operations: [render] });
const worker = await serveCalls(registry, await createRedisTransport({ url }));
// #endregion worker

// #region caller
const calls = new PendingRequestMap(await createRedisTransport({ url }));
const { data } = await calls.call("report.render", { month: "2026-11" }, { timeout: 5_000 });
console.log(data);
// #endregion caller
assert.deepEqual(data, { pages: 7, at: new Date(0) });

// #region stop
await worker.close();
const gone = await calls.call("report.render", { month: "2026-12" }).catch((error) => error);
console.log(gone.code, { mayHaveRun: gone.mayHaveRun });
// #endregion stop
assert.equal(gone.code, "UNAVAILABLE"); // a worker may be restarting; after three heartbeats it is not found

await calls.close();
