// #region operations
import { createRegistry, defineOperation, Type } from "@alkdev/operations";

const people = ["Ada", "Grace", "Barbara", "Radia", "Frances"];

const listPeople = defineOperation({
  namespace: "people",
  name: "list",
  type: "query",
  description: "Lists people, two at a time",
  inputSchema: Type.Object({ from: Type.Integer({ default: 0 }) }),
  outputSchema: Type.Object({ names: Type.Array(Type.String()), next: Type.Optional(Type.Integer()) }),
  accessControl: { requiredScopes: ["people:read"] },
  handler: ({ from }) => {
    const names = people.slice(from, from + 2);
    return from + 2 < people.length ? { names, next: from + 2 } : { names };
  },
  nextPage: (_input, { data }) => (data.next === undefined ? undefined : { from: data.next }),
});

const greet = defineOperation({
  namespace: "text",
  name: "greet",
  type: "query",
  description: "Returns a greeting",
  inputSchema: Type.Object({ name: Type.String() }),
  outputSchema: Type.String(),
  handler: ({ name }) => `Hello, ${name}!`,
});
// #endregion operations

// #region env
const greetFirst = defineOperation({
  namespace: "team",
  name: "greetFirst",
  type: "query",
  description: "Greets the first person of the list",
  inputSchema: Type.Object({}),
  outputSchema: Type.String(),
  handler: async (_input, { call }) => {
    const { names } = await call(listPeople, { from: 0 });
    return call(greet, { name: names[0]! });
  },
});
// #endregion env

// #region client
const registry = createRegistry({ operations: [listPeople, greet, greetFirst] });

const anonymous = registry.client();
console.log(await anonymous.team.greetFirst());

const reader = registry.client({ identity: { id: "rex", scopes: ["people:read"] }, timeout: 10_000 });
console.log(await reader.people.list({ from: 4 }));
const { meta } = await reader.people.list.envelope({ from: 4 });
console.log(meta.source);
// #endregion client

// #region pages
for await (const { data } of reader.people.list.pages({ from: 0 })) console.log(data.names.join(" and "));

// #endregion pages

// #region build-env
import { buildEnv } from "@alkdev/operations";

const context = { identity: { id: "cron", scopes: [] }, metadata: { job: "nightly" } };
const env = buildEnv({ registry, context, allowedNamespaces: ["text", "people"] });

console.log(Object.keys(env));
console.log((await env.text.greet({ name: "night" })).data);
const denied = await env.people.list({ from: 0 }).catch((error) => error);
console.log(denied.message);

// #endregion build-env

import assert from "node:assert/strict";

assert.equal(await anonymous.team.greetFirst(), "Hello, Ada!");
assert.deepEqual(await reader.people.list({ from: 4 }), { names: ["Frances"] });
assert.deepEqual(Object.keys(env), ["people", "text"]);
assert.equal(denied.code, "ACCESS_DENIED");
