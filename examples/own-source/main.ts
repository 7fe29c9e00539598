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

assert.equal(gone.code, "OPERATION_NOT_FOUND");
assert.deepEqual(registry.list(), []);
