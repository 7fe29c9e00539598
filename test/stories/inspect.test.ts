import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { CallError, createRegistry, defineOperation, FromOpenAPI, localEnvelope, Type } from "@alkdev/operations";
import { MCPClientLoader } from "@alkdev/operations/from-mcp";
import { openAPISource } from "@alkdev/operations/from-openapi";
import { expect, test } from "vitest";

const create = defineOperation({
  namespace: "task",
  name: "create",
  type: "mutation",
  inputSchema: Type.Object({ title: Type.String() }),
  outputSchema: Type.String(),
  handler: ({ title }) => title,
});

test("a registry shows the ids of its operations, the first twenty of many", () => {
  const many = Array.from({ length: 30 }, (_, n) => ({ ...create, name: `n${n}` }));

  expect(inspect(createRegistry({ operations: [create, { ...create, name: "list" }] }))).toBe(
    '[OperationRegistry: "task.create", "task.list"]',
  );
  expect(inspect(createRegistry({ operations: many }))).toMatch(
    /^\[OperationRegistry: "task\.n0", .*"task\.n19", and 10 more\]$/,
  );
  expect(inspect(createRegistry({ operations: [] }))).toBe("[OperationRegistry]");
});

test("a client shows its names, and an operation its own", () => {
  const client = createRegistry({ operations: [create] }).client();

  expect(inspect(client)).toBe('[client: "task"]');
  expect(inspect(client.task)).toBe('[client.task: "create"]');
  expect(inspect(client.task.create)).toBe("[client.task.create]");
});

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

test("sources show their name or servers, and no secret", async () => {
  const server = fileURLToPath(new URL("../../examples/mcp-tools/server.mjs", import.meta.url));
  await using loader = new MCPClientLoader();
  const [notes] = await loader.load({
    notes: { command: process.execPath, args: [server], env: { TOKEN: "secret-2" }, onReport: () => {} },
  });

  expect(inspect(openAPISource(document, config))).toBe(
    "OpenAPISource {\n  name: 'openapi:shop',\n  traits: { replacesAccess: true }\n}",
  );
  expect(inspect(loader)).toBe('[MCPClientLoader: "notes"]');
  expect(inspect(notes)).toBe('[MCPClientWrapper notes (ready): "notes.add", "notes.search", "notes.share"]');
});
