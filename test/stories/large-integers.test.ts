import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { OperationRegistry, type OutputPolicy, subscribe } from "@alkdev/operations";
import { FromOpenAPI, type OpenAPISpec } from "@alkdev/operations/from-openapi";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const bodies: Record<string, string> = {
  "/order": '{"id":9007199254740993,"total":9007199254740993,"note":1e400,"exact":9007199254740992,"more":{"n":1e400}}',
  "/orders": '[{"id":1},{"id":9007199254740993,"internal":9007199254740993}]',
  "/count": "9007199254740993",
};

const order = {
  type: "object",
  required: ["id"],
  properties: {
    id: { type: "string" },
    total: { type: "integer" },
    note: { type: "string" },
    exact: { type: "integer" },
    more: {},
  },
};

function operation(operationId: string, schema: unknown, mediaType = "application/json") {
  return { get: { operationId, responses: { 200: { description: "", content: { [mediaType]: { schema } } } } } };
}

const document = {
  openapi: "3.1.0",
  info: { title: "Orders", version: "1.0.0" },
  paths: {
    "/order": operation("order", order),
    "/orders": operation("orders", { type: "array", items: order }),
    "/count": operation("count", { type: "string" }),
    "/anything": operation("anything", {}),
    "/events": operation("events", order, "text/event-stream"),
    "/lines": operation("lines", order, "application/x-ndjson"),
  },
};

const server = createServer((request, response) => {
  const path = new URL(request.url!, "http://orders.test").pathname;
  if (path === "/events") {
    response.writeHead(200, { "content-type": "text/event-stream" }).end('data: {"id":9007199254740993}\n\n');
  } else if (path === "/lines") {
    response.writeHead(200, { "content-type": "application/x-ndjson" }).end('{"id":9007199254740993}\n');
  } else {
    response.writeHead(200, { "content-type": "application/json" }).end(bodies[path] ?? '{"n":[9007199254740993]}');
  }
});
let baseUrl: string;

beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
});

function registryWith(outputPolicy: OutputPolicy = "cast"): OperationRegistry {
  const registry = new OperationRegistry({ outputPolicy });
  registry.registerAll(FromOpenAPI(document as unknown as OpenAPISpec, { namespace: "shop", baseUrl }));
  return registry;
}

async function call(name: string, outputPolicy?: OutputPolicy) {
  const { data, meta } = await registryWith(outputPolicy).execute(`shop.${name}`, {});
  return { data, drift: meta.drift?.map(({ path, kind }) => `${kind} ${path}`).sort() };
}

describe("integers beyond 2^53 in a response", () => {
  test("are never converted to a string, and reported wherever they are", async () => {
    expect(await call("order")).toEqual({
      data: {
        id: 9007199254740992,
        total: 9007199254740992,
        note: Number.POSITIVE_INFINITY,
        exact: 9007199254740992,
        more: { n: Number.POSITIVE_INFINITY },
      },
      drift: ["mismatch /exact", "mismatch /id", "mismatch /more/n", "mismatch /note", "mismatch /total"],
    });
  });

  test("are reported with advice", async () => {
    const { meta } = await registryWith().execute("shop.count", {});

    expect(meta.drift).toEqual([
      { path: "", kind: "mismatch", message: "may have lost digits; ask the API for strings" },
    ]);
  });

  test("are found in lists, and not reported where they are stripped", async () => {
    expect(await call("orders")).toEqual({
      data: [{ id: "1" }, { id: 9007199254740992 }],
      drift: ["converted /0/id", "mismatch /1/id", "stripped /1/internal"],
    });
  });

  test("are reported where nothing is declared", async () => {
    expect(await call("anything")).toEqual({ data: { n: [9007199254740992] }, drift: ["mismatch /n/0"] });
  });

  test("are reported under check", async () => {
    expect(await call("count", "check")).toEqual({ data: 9007199254740992, drift: ["mismatch "] });
  });

  test("do not fit a string under strict, and are reported where they fit", async () => {
    await expect(call("count", "strict")).rejects.toMatchObject({ code: "OUTPUT_INVALID" });
    expect(await call("anything", "strict")).toEqual({ data: { n: [9007199254740992] }, drift: ["mismatch /n/0"] });
  });

  test.each(["events", "lines"])("are reported in the items of a stream: %s", async (name) => {
    const items: unknown[] = [];

    for await (const { data, meta } of subscribe(registryWith(), `shop.${name}`, {})) {
      items.push([data, meta.drift?.map(({ path, kind }) => `${kind} ${path}`)]);
    }

    expect(items).toEqual([[{ id: 9007199254740992 }, ["mismatch /id"]]]);
  });
});

describe("an integer beyond 2^53 that a handler returns", () => {
  test("is never converted to a string, and valid as a number", async () => {
    const registry = registryWith();
    registry.register({
      namespace: "local",
      name: "order",
      version: "1.0.0",
      type: "query",
      description: "",
      inputSchema: {},
      outputSchema: order as never,
      accessControl: { requiredScopes: [] },
      handler: () => ({ id: 2 ** 53, total: 2 ** 60 }),
    });

    const { data, meta } = await registry.execute("local.order", {});

    expect(data).toEqual({ id: 2 ** 53, total: 2 ** 60 });
    expect(meta.drift).toEqual([{ path: "/id", kind: "mismatch", message: "expected string" }]);
  });
});
