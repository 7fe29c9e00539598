import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { OperationRegistry, type SourceReport } from "@alkdev/operations";
import { type OpenAPISpec, openAPISource } from "@alkdev/operations/from-openapi";
import { afterEach, beforeEach, expect, test } from "vitest";

let server: Server;
let origin: string;
let directory: string;
/** What the server serves as its document. */
let served: OpenAPISpec;

const price = { type: "object", properties: { price: { type: "number" } }, required: ["price"] };

function shop(paths: Record<string, unknown>): OpenAPISpec {
  return { openapi: "3.1.0", info: { title: "Shop", version: "1" }, servers: [{ url: origin }], paths };
}

function respond(schema: unknown) {
  return { responses: { 200: { description: "", content: { "application/json": { schema } } } } };
}

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "openapi source "));
  server = createServer((request, response) => {
    const body = request.url === "/openapi.json" ? served : { price: "9.5", secret: 1 };
    response.setHeader("content-type", "application/json").end(JSON.stringify(body));
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  served = shop({
    "/price": { get: { operationId: "price", tags: ["read"], ...respond(price) }, delete: { operationId: "drop" } },
  });
});
afterEach(async () => {
  await rm(directory, { recursive: true });
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

test.each([
  ["a URL", () => `${origin}/openapi.json`],
  ["a URL object", () => new URL(`${origin}/openapi.json`)],
  ["a path", () => join(directory, "shop.json")],
  ["the URL of a file", () => pathToFileURL(join(directory, "shop.json"))],
  ["a document", () => served],
  ["a function", () => async () => served],
])("a registry follows %s with one line", async (_name, place) => {
  await writeFile(join(directory, "shop.json"), JSON.stringify(served));
  const reports: SourceReport[] = [];
  await using registry = new OperationRegistry();

  await registry.follow(openAPISource(place(), { namespace: "shop", baseUrl: origin }), {
    namespace: "store",
    rename: { "shop.price": "cost" },
    exclude: ["store.drop"],
    accessControl: { requiredScopes: ["buy"] },
    onReport: (report) => reports.push(report),
  });
  const { data, meta } = await registry.execute("store.cost", {}, { identity: { id: "ada", scopes: ["buy"] } });

  expect(data).toEqual({ price: 9.5 });
  expect(meta).toMatchObject({ source: "http", statusCode: 200 });
  expect(await registry.execute("store.cost", {}).catch(({ code }) => code)).toBe("ACCESS_DENIED");
  expect(reports).toEqual([
    {
      imported: ["store.cost"],
      skipped: [{ where: "shop.drop", reason: "The configuration excludes it." }],
      warnings: [],
    },
  ]);
});

test("a document that is read again changes the registry", async () => {
  await using registry = new OperationRegistry();
  const source = openAPISource(`${origin}/openapi.json`, { namespace: "shop", onReport: () => {} });
  const following = await registry.follow(source);
  const first = await registry.execute("shop.price", {});

  served = shop({
    "/price": { get: { operationId: "price", ...respond({ type: "object" }) }, post: { operationId: "add" } },
  });
  await source.reload();

  expect(first.data).toEqual({ price: 9.5 });
  expect((await registry.execute("shop.price", {})).data).toEqual({ price: "9.5", secret: 1 });
  expect(registry.list().map(({ name }) => name)).toEqual(["price", "add"]);
  await following.close();
  expect(registry.list()).toEqual([]);
});

test("follow rejects if the document cannot be fetched, and leaves nothing open", async () => {
  await using registry = new OperationRegistry();

  await expect(
    registry.follow(openAPISource("http://127.0.0.1:1/openapi.json", { namespace: "shop" })),
  ).rejects.toMatchObject({ code: "UNAVAILABLE", message: expect.stringContaining("http://127.0.0.1:1/openapi.json") });
  expect(registry.list()).toEqual([]);
});
