import { readFileSync } from "node:fs";
import { parseOpenAPI } from "@alkdev/operations/from-openapi";
import { serveHTTP } from "@alkdev/operations/serve-http";
import { Validator } from "@seriousme/openapi-schema-validator";
import createClient from "openapi-fetch";
import { expect, test } from "vitest";
import { createServedRegistry } from "./registry.ts";
import { callServedAPI } from "./served-api.ts";

// `npm run lab -- server-tools` uses more tools, and serves GitHub's API.

test("the document of a server with operations of every kind is valid", async () => {
  await using server = serveHTTP(createServedRegistry(), { authenticate: "none" });
  const response = await server.fetch(new Request("http://localhost/openapi.json"));
  expect(await new Validator().validate((await response.json()) as Record<string, unknown>)).toEqual({ valid: true });
});

test("openapi-fetch calls a server by the paths of its document", async () => {
  await using server = serveHTTP(createServedRegistry(), { authenticate: "none" });
  const fetch = async (request: Request) => server.fetch(request);
  const client = createClient<Record<string, Record<string, never>>>({
    baseUrl: "http://localhost",
    fetch,
  }) as unknown as {
    GET(path: string, options: object): Promise<{ data?: unknown; error?: unknown }>;
    POST(path: string, options: object): Promise<{ data?: unknown; error?: unknown }>;
  };
  const query = { limit: 3, tags: ["a", "b"] };
  const { data } = await client.GET("/task/list%20all", { params: { query } });
  expect(data).toEqual([{ id: "3 undefined", title: "first", tags: ["a", "b"] }]);
  const { error } = await client.POST("/task/create", { body: { title: "taken" } });
  expect(error).toMatchObject({ code: "TITLE_TAKEN", details: { title: "taken" } });
});

test.each([false, true])(
  "an imported API returns the same when it is served, with keepRoutes %s",
  async (keepRoutes) => {
    const file = new URL("../../test/fixtures/openapi/redocly-museum.yaml", import.meta.url);
    const spec = await parseOpenAPI(readFileSync(file, "utf8"));
    const { operations, called, problems } = await callServedAPI(spec, { keepRoutes, count: 8 });
    expect(problems).toEqual([]);
    expect({ operations, called }).toEqual({ operations: 8, called: 8 });
  },
);
