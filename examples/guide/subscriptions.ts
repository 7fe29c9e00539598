// #region define
import { setTimeout as sleep } from "node:timers/promises";
import { createRegistry, defineOperation, Type } from "@alkdev/operations";

const ticks = defineOperation({
  namespace: "clock",
  name: "ticks",
  type: "subscription",
  description: "Counts until the consumer leaves",
  inputSchema: Type.Object({ every: Type.Integer({ minimum: 1, description: "in milliseconds" }) }),
  outputSchema: Type.Object({ tick: Type.Integer() }),
  handler: async function* ({ every }, { signal }) {
    try {
      for (let tick = 1; ; tick += 1) {
        await sleep(every, undefined, { signal });
        yield { tick };
      }
    } finally {
      console.log("the handler cleans up");
    }
  },
});

const registry = createRegistry({ operations: [ticks] });
// #endregion define

// #region loop
for await (const { data, meta } of registry.subscribe("clock.ticks", { every: 5 })) {
  console.log(data, meta.source);
  if (data.tick === 3) break;
}
console.log("left");
// #endregion loop

// #region client
for await (const { tick } of registry.client().clock.ticks({ every: 5 })) {
  console.log(`tick ${tick}`);
  if (tick === 2) break;
}
// #endregion client

// #region abort
const controller = new AbortController();
try {
  for await (const { data } of registry.subscribe("clock.ticks", { every: 5 }, { signal: controller.signal })) {
    if (data.tick === 2) controller.abort();
  }
} catch (error) {
  console.log(String(error));
}
// #endregion abort

// #region slow
const slow = registry.subscribe("clock.ticks", { every: 60_000 });
const pending = slow.next();
await sleep(20); // by now the handler waits for its first minute to pass
await slow.return?.();
console.log(await pending);
// #endregion slow

// #region lazy
const wrong = registry.subscribe("clock.ticks", { every: 0 });
const failure = await wrong.next().catch((error) => error);
console.log(failure.message);

// #endregion lazy

import assert from "node:assert/strict";

assert.deepEqual(await pending, { done: true, value: undefined });
assert.equal(failure.code, "VALIDATION_ERROR");
