// #region define
import { defineOperation, OperationRegistry, Type } from "@alkdev/operations";

const convert = defineOperation({
  namespace: "money",
  name: "convert",
  type: "query",
  title: "Convert money",
  description: "Converts euros into another currency",
  tags: ["finance"],
  inputSchema: Type.Object({ euros: Type.Number({ minimum: 0 }), to: Type.String({ default: "USD" }) }),
  outputSchema: Type.Object({ amount: Type.Number(), currency: Type.String() }),
  handler: ({ euros, to }) => ({ amount: euros * 2, currency: to }),
});

const registry = new OperationRegistry();
registry.register(convert);

const { data } = await registry.execute("money.convert", { euros: 21 });
console.log(data);
// #endregion define

// #region later
registry.registerSpec({
  namespace: "money",
  name: "transfer",
  version: "1.0.0",
  type: "mutation",
  description: "Moves money between accounts",
  inputSchema: Type.Object({ from: Type.String(), to: Type.String(), amount: Type.Number() }),
  outputSchema: Type.Object({ receipt: Type.String() }),
  accessControl: { requiredScopes: ["money:move"] },
});

const input = { from: "a", to: "b", amount: 5 };
const options = { identity: { id: "ada", scopes: ["money:move"] } };
const early = await registry.execute("money.transfer", input, options).catch((error) => error);
console.log(early.message);

registry.registerHandler("money.transfer", async () => ({ receipt: "r-1" }));
console.log((await registry.execute("money.transfer", input, options)).data);
// #endregion later

// #region find
for (const { namespace, name, type } of registry.search("money")) console.log(`${namespace}.${name} is a ${type}`);
console.log(registry.search("", { tag: "finance" }).length, registry.has("money.burn"));

const typo = await registry.execute("money.convrt", { euros: 1 }).catch((error) => error);
console.log(typo.message);
// #endregion find

// #region change
registry.replace({ ...convert, version: "1.1.0", handler: ({ euros, to }) => ({ amount: euros * 3, currency: to }) });
console.log(registry.getSpec("money.convert")?.version, registry.unregister("money.transfer"));
// #endregion change

// #region json
const text = JSON.stringify(registry.getSpec("money.convert"));

const elsewhere = new OperationRegistry();
elsewhere.registerSpec(JSON.parse(text));
elsewhere.registerHandler("money.convert", ({ euros, to }) => ({ amount: euros, currency: to }));
console.log((await elsewhere.execute("money.convert", { euros: 7 })).data);

// #endregion json

import assert from "node:assert/strict";

assert.deepEqual(data, { amount: 42, currency: "USD" });
assert.equal(early.code, "OPERATION_NOT_FOUND");
assert.equal(typo.details.nearest, "money.convert");
assert.deepEqual((await elsewhere.execute("money.convert", { euros: 7 })).data, { amount: 7, currency: "USD" });
assert.deepEqual(
  registry.getAllSpecs().map(({ name }) => name),
  ["convert"],
);
