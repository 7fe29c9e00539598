import { inspect } from "node:util";
import { CallError, createRegistry, FromOpenAPI, localEnvelope } from "@alkdev/operations";
import { openAPISource } from "@alkdev/operations/from-openapi";
import { expect, test } from "vitest";

test("an envelope shows its data and meta", () => {
  const { data, meta } = localEnvelope({ id: 1 }, "task.create");
  const envelope = { data, meta: { ...meta, timestamp: 1 } };

  expect(inspect(envelope)).toBe(
    "{\n  data: { id: 1 },\n  meta: { source: 'local', operationId: 'task.create', timestamp: 1 }\n}",
  );
});

test("an error shows code, details and flags beside message and stack", () => {
  const error = new CallError("TITLE_TAKEN", "The title is taken.", { title: "x" }, { mayHaveRun: false });
  error.stack = "CallError: The title is taken.\n    at handler";

  expect(inspect(error)).toBe(
    [
      "CallError: The title is taken.",
      "    at handler {",
      "  code: 'TITLE_TAKEN',",
      "  retryable: false,",
      "  mayHaveRun: false,",
      "  details: { title: 'x' }",
      "}",
    ].join("\n"),
  );
});

const document = {
  openapi: "3.1.0",
  info: { title: "Shop", version: "1.0.0" },
  paths: { "/items": { get: { operationId: "listItems", responses: { 200: { description: "Items" } } } } },
};
const config = { namespace: "shop", baseUrl: "http://127.0.0.1", auth: { type: "bearer", token: "secret-1" } } as const;

test("an imported operation shows its spec without making its schemas, and no secret", () => {
  const registry = createRegistry({ operations: [] });
  registry.registerAll(FromOpenAPI(document, config));

  expect(inspect(registry.get("shop.listItems"))).toBe(
    [
      "{",
      "  namespace: 'shop',",
      "  name: 'listItems',",
      "  version: '1.0.0',",
      "  type: 'query',",
      "  description: 'GET /items',",
      "  inputSchema: [Getter],",
      "  outputSchema: [Getter],",
      "  accessControl: { requiredScopes: [] },",
      "  errorSchemas: [Getter],",
      "  idempotent: true,",
      "  _meta: [Getter],",
      "  handler: [Function: handler],",
      "  fillDefaults: false,",
      "  nextPage: [Getter]",
      "}",
    ].join("\n"),
  );
});

test("a source shows its name and no secret", () => {
  expect(inspect(openAPISource(document, config))).toBe(
    "OpenAPISource {\n  name: 'openapi:shop',\n  traits: { replacesAccess: true }\n}",
  );
});
