// #region scopes
import { buildEnv, createRegistry, defineNamespace, defineOperation, Type } from "@alkdev/operations";

const define = defineNamespace("invoice");

const list = define({
  name: "list",
  type: "query",
  description: "Lists invoices",
  inputSchema: Type.Object({}),
  outputSchema: Type.String(),
  accessControl: { requiredScopes: ["invoice:read"], requiredScopesAny: ["accounting", "audit"] },
  handler: () => "all invoices",
});
// #endregion scopes

// #region resource
const open = define({
  name: "open",
  type: "query",
  description: "Opens one invoice",
  inputSchema: Type.Object({ id: Type.String() }),
  outputSchema: Type.String(),
  accessControl: { requiredScopes: [], resourceType: "invoice", resourceAction: "read", resourceId: "/id" },
  handler: ({ id }) => `invoice ${id}`,
});
// #endregion resource

// #region custom
const pay = define({
  name: "pay",
  type: "mutation",
  description: "Pays one invoice",
  inputSchema: Type.Object({ id: Type.String(), amount: Type.Number({ default: 50 }) }),
  outputSchema: Type.String(),
  accessControl: { requiredScopes: ["invoice:pay"], customAuth: "withinBudget" },
  handler: ({ id, amount }) => `paid ${amount} for ${id}`,
});
// #endregion custom

// #region nested
const close = defineOperation({
  namespace: "month",
  name: "close",
  type: "mutation",
  description: "Pays what is due, also for callers who may not pay",
  inputSchema: Type.Object({}),
  outputSchema: Type.String(),
  accessControl: { requiredScopes: ["month:close"] },
  handler: async (_input, context) => {
    const paid = await context.call(pay, { id: "7", amount: 400 });
    return `month closed, ${paid}`;
  },
});

const closeCarefully = defineOperation({
  ...close,
  name: "closeCarefully",
  handler: async (_input, context) => {
    const env = buildEnv({ registry, context, allowedNamespaces: ["invoice"], nested: "attenuate" });
    return String((await env.invoice!.pay!({ id: "7", amount: 400 })).data);
  },
});

// #endregion nested

// #region registry
import type { Identity, OperationRegistry } from "@alkdev/operations";

const registry: OperationRegistry = createRegistry({
  operations: [list, open, pay, close, closeCarefully],
  customAuth: { withinBudget: ({ input }) => input.amount <= 100 },
});

const ada: Identity = {
  id: "ada",
  scopes: ["invoice:read", "audit", "invoice:pay"],
  resources: { "invoice:7": ["read"] },
};
const bob: Identity = { id: "bob", scopes: ["month:close"] };
// #endregion registry

async function tryCall(id: string, input: unknown, identity?: Identity): Promise<void> {
  const who = identity?.id ?? "anonymous";
  const line = await registry.execute(id, input, { identity }).then(
    ({ data }) => String(data),
    (error) => error.message,
  );
  console.log(`${who}: ${line}`);
}

await tryCall("invoice.list", {}, ada);
await tryCall("invoice.list", {}, bob);
await tryCall("invoice.list", {});
console.log();
await tryCall("invoice.open", { id: "7" }, ada);
await tryCall("invoice.open", { id: "8" }, ada);
console.log();
await tryCall("invoice.pay", { id: "7" }, ada);
await tryCall("invoice.pay", { id: "7", amount: 400 }, ada);
console.log();
await tryCall("month.close", {}, bob);
await tryCall("month.closeCarefully", {}, bob);

// #region ask
import { checkAccess } from "@alkdev/operations";

const visible = registry.getAllSpecs().filter(({ accessControl }) => checkAccess(accessControl, bob));
console.log(visible.map(({ name }) => name));

// #endregion ask

import assert from "node:assert/strict";

await assert.rejects(registry.execute("invoice.list", {}, { identity: bob }), { code: "ACCESS_DENIED" });
await assert.rejects(registry.execute("invoice.open", { id: "8" }, { identity: ada }), { code: "ACCESS_DENIED" });
await assert.rejects(registry.execute("month.closeCarefully", {}, { identity: bob }), { code: "EXECUTION_ERROR" });
assert.equal((await registry.execute("month.close", {}, { identity: bob })).data, "month closed, paid 400 for 7");
assert.deepEqual(
  visible.map(({ name }) => name),
  ["close", "closeCarefully"],
);
