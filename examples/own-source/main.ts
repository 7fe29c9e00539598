import assert from "node:assert/strict";
// #region follow
import { OperationRegistry } from "@alkdev/operations";
import { MenuSource } from "./menu-source.ts";

const registry = new OperationRegistry();
registry.on("change", ({ kind, operationId }) => console.log(kind, operationId));

const menu = new MenuSource({ soup: 6, curry: 11 });
const following = await registry.follow(menu);
console.log((await registry.execute("order.soup", { guests: 2 })).data);

menu.update({ soup: 7, salad: 8 });
console.log((await registry.execute("order.soup", { guests: 2 })).data);
const gone = await registry.execute("order.curry", { guests: 2 }).catch((error) => error);
console.log(gone.message);

await following.close();
console.log(registry.list().length);
// #endregion follow

// #region options
const restaurant = new OperationRegistry();
await restaurant.follow(new MenuSource({ soup: 6, curry: 11, wine: 9 }), {
  exclude: ["menu.wine"],
  namespace: "menu",
  rename: { "order.soup": "starter" },
  accessControl: { requiredScopes: ["guest"] },
});
const identity = { id: "ada", scopes: ["guest"] };
for (const { namespace, name } of restaurant.list()) {
  const { data } = await restaurant.execute(`${namespace}.${name}`, { guests: 1 }, { identity });
  console.log(`${namespace}.${name}`, data);
}
// #endregion options

assert.equal(gone.code, "OPERATION_NOT_FOUND");
assert.deepEqual(registry.list(), []);
assert.deepEqual(
  restaurant.list().map(({ name }) => name),
  ["starter", "curry"],
);
