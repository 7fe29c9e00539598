// #region operations
import { createRegistry, defineOperation, type Middleware, Type } from "@alkdev/operations";

const withdraw = defineOperation({
  namespace: "account",
  name: "withdraw",
  type: "mutation",
  description: "Takes money out",
  inputSchema: Type.Object({ amount: Type.Number({ exclusiveMinimum: 0 }) }),
  outputSchema: Type.Object({ left: Type.Number() }),
  errors: { NOT_ENOUGH: Type.Object({ left: Type.Number() }) },
  accessControl: { requiredScopes: ["account:use"] },
  handler: ({ amount }, { errors }) => {
    if (amount > 100) throw errors.NOT_ENOUGH({ left: 100 }, "There is not enough money.");
    return { left: 100 - amount };
  },
});
const registry = createRegistry({ operations: [withdraw] });
const client = registry.client({ identity: { id: "ada", scopes: ["account:use"] } });
// #endregion operations

// #region audit
const audit: string[] = [];
const stopListening = registry.on("call", (event) => {
  const who = event.identity?.id ?? "anonymous";
  if (event.kind === "succeeded") audit.push(`${who} did ${event.operationId}`);
  if (event.kind === "failed") audit.push(`${who} failed at ${event.operationId} with ${event.error.code}`);
});

await client.account.withdraw({ amount: 30 });
await client.account.withdraw({ amount: 500 }).catch(() => {});
await registry.execute("account.withdraw", { amount: 1 }).catch(() => {});
stopListening();
for (const line of audit) console.log(line);
// #endregion audit

// #region changes
registry.on("change", ({ kind, operationId, spec }) => console.log(kind, operationId, spec.version));
registry.replace({ ...withdraw, version: "1.1.0" });
// #endregion changes

// #region middleware
const onceOnly: Middleware = async ({ operationId, input, context }, next) => {
  const key = `${operationId} ${JSON.stringify(input)} ${context.metadata["idempotencyKey"]}`;
  if (context.metadata["idempotencyKey"] === undefined) return next();
  if (!results.has(key)) results.set(key, await next());
  return results.get(key);
};
const results = new Map<string, unknown>();
const remove = registry.use(onceOnly);

let ran = 0;
registry.use((_call, next) => {
  ran += 1;
  return next();
});

const metadata = { idempotencyKey: "k-1" };
await client.account.withdraw({ amount: 10 }, { metadata });
await client.account.withdraw({ amount: 10 }, { metadata });
console.log(`two calls, ${ran} run of the handler`);
remove();
// #endregion middleware

// #region selection
const timed: string[] = [];
registry.use(
  async ({ operationId }, next) => {
    const start = performance.now();
    try {
      return await next();
    } finally {
      timed.push(`${operationId} took ${(performance.now() - start).toFixed(1)} ms`);
    }
  },
  { include: ["account.*", "tag:slow"], exclude: ["account.balance"] },
);
// #endregion selection
await client.account.withdraw({ amount: 10 });

import assert from "node:assert/strict";

assert.deepEqual(audit, [
  "ada did account.withdraw",
  "ada failed at account.withdraw with NOT_ENOUGH",
  "anonymous failed at account.withdraw with ACCESS_DENIED",
]);
assert.equal(ran, 2);
assert.match(timed.join(), /^account\.withdraw took [\d.]+ ms$/);
