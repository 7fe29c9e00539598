import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { CallError } from "@alkdev/operations";
import { startDeliveryAPI } from "./delivery-api.ts";

const delivery = await startDeliveryAPI();
process.env["DELIVERY_API"] = delivery.documentUrl;
const data = await mkdtemp(join(tmpdir(), "operations-hub-"));
process.env["SHOP_DATA"] = data;

// #region create
import { createToken } from "@alkdev/operations/auth";
import { createHub, loadConfig } from "@alkdev/operations/hub";

const file = fileURLToPath(new URL("operations.config.ts", import.meta.url));
const { config, folder } = await loadConfig(file);

const clerk = createToken();
const access = { tokens: [{ hash: clerk.hash, identity: { id: "clerk", scopes: ["shop"] } }] };
const ours = { ...config, access, serve: { port: 0 }, history: {} };
const hub = await createHub(ours, { file, folder, startTimeout: 60_000 }); // waits for all sources
for (const { name, kind, status, operations } of hub.sources()) console.log(name, kind, status, operations);
// #endregion create

function report({ code, message }: CallError): string {
  console.log(`${code}: ${message}`);
  return code;
}

// #region http
const headers = { authorization: `Bearer ${clerk.token}`, "content-type": "application/json" };
const body = JSON.stringify({ item: "Mug", city: "Oslo" });
const placed = await fetch(`${hub.url}/order/place`, { method: "POST", headers, body });
console.log(await placed.json());

// #endregion http

// #region client
import { connect } from "@alkdev/operations/client";

const client = connect(hub.url!, { token: clerk.token });
console.log(await client.order!.list!({ limit: 2 }));

for await (const tick of client.clock!.tick!({ seconds: 0.01 })) {
  console.log(tick);
  if ((tick as { count: number }).count === 3) break; // ends the subscription
}

const denied = await client.delivery!.book!({ body: { city: "Oslo" } }).catch(report);
// #endregion client

// #region reload
const rules = [...(config.rules ?? []), { match: "order.place", deny: true }];
console.log(await hub.reload({ ...ours, rules }));

const removed = await client.order!.place!({ item: "Mug", city: "Oslo" }).catch(report);
// #endregion reload

await client.close();
await hub.close();
await delivery.close();

import { openDatabase } from "./database.ts";

const database = await openDatabase(join(data, "shop.db")); // the orders are in the file
const orders = database.query<{ item: string }>("SELECT item FROM orders ORDER BY id");
database.close();
await rm(data, { recursive: true });

assert.equal(placed.status, 200);
assert.deepEqual(
  orders.map(({ item }) => item),
  ["Notebook", "Mug"],
);
assert.equal(denied, "ACCESS_DENIED");
assert.equal(removed, "OPERATION_NOT_FOUND");
