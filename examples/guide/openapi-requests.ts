import assert from "node:assert/strict";
import { documentFile as file, startShop } from "./openapi-requests/server.ts";

const shop = await startShop();
const { origin } = shop;

// #region rotating
import { FromOpenAPIFile, OperationRegistry } from "@alkdev/operations";

let issued = 0;
const registry = new OperationRegistry({ log: false });
registry.registerAll(
  await FromOpenAPIFile(file, {
    namespace: "shop",
    baseUrl: `${origin}/v1`,
    auth: { type: "bearer", token: async () => `shop-token-${++issued}` }, // called for every request
    headers: { "user-agent": "shop-example/1.0" },
    timeout: 10_000,
    retry: true,
    breaker: true,
    concurrency: 8,
    reconnect: true,
    idleTimeout: 60_000,
  }),
);
const { shop: api } = registry.client();
// #endregion rotating
assert.ok(api);

// #region oauth
const byOAuth = await FromOpenAPIFile(file, {
  namespace: "oauth",
  baseUrl: `${origin}/v1`,
  auth: {
    type: "oauth2",
    tokenUrl: `${origin}/token`,
    clientId: "hub",
    clientSecret: () => process.env["SHOP_SECRET"] ?? "for-this-example",
    scopes: ["items:read"],
  },
});
// #endregion oauth
registry.registerAll(byOAuth);
assert.equal((await registry.execute("oauth.getItem", { id: 2 })).meta.source, "http");

// #region schemes
const byScheme = await FromOpenAPIFile(file, {
  namespace: "scheme",
  baseUrl: `${origin}/v1`,
  auth: { schemes: { bearer: { type: "bearer", token: "shop-token-0" } } }, // named as in the document
});
// #endregion schemes
registry.registerAll(byScheme);
assert.deepEqual((await registry.execute("scheme.getItem", { id: 2 })).data, { id: 2, name: "Table", price: 10 });

// #region request
await api.listItems!({ limit: 1, tags: ["new", "home & garden"], price: { from: 5, to: 20 } });
console.log(shop.lastTarget());

const added = await api.addItem!({ body: { name: "Mirror", price: 30 } });
console.log(added);
// #endregion request
assert.deepEqual(added, { id: 6, name: "Mirror", price: 30 });

// #region upload
const photo = new File(["not really a picture"], "lamp.png", { type: "image/png" });
console.log(await api.setPhoto!({ id: 1, body: { caption: "A lamp", file: photo } }));

// Callers without binary values, such as a model or a JSON file, send base64:
const encoded = { base64: "aGVsbG8=", filename: "hello.txt", type: "text/plain" };
console.log(await api.setPhoto!({ id: 1, body: { file: encoded } }));

console.log(await api.getPhoto!({ id: 1 }));
// #endregion upload

// #region wishes
const { meta } = await registry.execute(
  "shop.getItem",
  { id: 1 },
  { metadata: { http: { headers: { "x-request-source": "docs", authorization: "Bearer mine" } } } },
);
// #endregion wishes
assert.equal(meta.source, "http");

// #region errors
import type { CallError } from "@alkdev/operations";

const report = ({ code, message, retryable, mayHaveRun }: CallError) =>
  console.log(code, `(${message})`, { retryable, mayHaveRun });

await registry.execute("shop.getItem", { id: 99 }).catch(report);
await registry.execute("shop.getItem", { id: "seven" }).catch(report);

const anonymous = await FromOpenAPIFile(file, { namespace: "anonymous", baseUrl: `${origin}/v1` });
registry.registerAll(anonymous);
await registry.execute("anonymous.getItem", { id: 1 }).catch(report);
// #endregion errors

// #region retry
console.log(await api.get_stock!()); // the first response was 503 with Retry-After
// #endregion retry

// #region pages
for await (const { data } of api.listItems!.pages({ limit: 2 })) {
  const { items } = data as { items: Array<{ name: string }> };
  console.log(items.map(({ name }) => name));
}
console.log(registry.getSpec("shop.listItems")?._meta);

// #endregion pages

// #region stream
for await (const { data, meta } of registry.subscribe("shop.watchOrders")) {
  if (meta.source === "http") console.log(meta.event, data);
  if (meta.source === "http" && meta.event?.id === "4") break; // the connection closes here
}
// #endregion stream

// #region both
console.log(await api.advise!({ body: { question: "What shall I buy?" } }));
for await (const data of api.advise_stream!({ body: { question: "What shall I buy?" } })) console.log(data);
// #endregion both

await shop.close();
