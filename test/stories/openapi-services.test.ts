import { expect, test } from "vitest";
import { OpenAPIServiceRegistry, type OpenAPISpec } from "../../src/from/openapi/index.ts";
import { OperationRegistry } from "../../src/registry/index.ts";

function shop(paths: Record<string, unknown>): OpenAPISpec {
  return { openapi: "3.1.0", info: { title: "Shop", version: "1" }, servers: [{ url: "https://shop.test" }], paths };
}

function answer(schema: unknown) {
  return { responses: { 200: { description: "", content: { "application/json": { schema } } } } };
}

test("a registry follows services that come, change and go", async () => {
  const price = { type: "object", properties: { price: { type: "number" } }, required: ["price"] };
  let spec = shop({ "/price": { get: { operationId: "price", ...answer(price) } } });
  const fetch = async () => Response.json({ price: "9.5", secret: 1 });
  const registry = new OperationRegistry();
  const services = new OpenAPIServiceRegistry();
  await registry.follow(services);

  const service = await services.add({ namespace: "shop", spec: () => spec, fetch, onReport: () => {} });
  const { data, meta } = await registry.execute("shop.price", {});
  expect(data).toEqual({ price: 9.5 });
  expect(meta).toMatchObject({
    source: "http",
    statusCode: 200,
    drift: [
      { path: "/price", kind: "converted" },
      { path: "/secret", kind: "stripped" },
    ],
  });

  spec = shop({
    "/price": { get: { operationId: "price", ...answer({ type: "object" }) }, delete: { operationId: "drop" } },
  });
  await service.reload();
  expect((await registry.execute("shop.price", {})).data).toEqual({ price: "9.5", secret: 1 });
  expect(registry.has("shop.drop")).toBe(true);

  await services.remove("shop");
  expect(registry.list()).toEqual([]);
  await services.close();
});
