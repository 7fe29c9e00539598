import { Validator } from "@seriousme/openapi-schema-validator";
import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import { readPointer } from "../../internal/json-pointer.ts";
import type { JSONObject } from "../../internal/objects.ts";
import { defineOperation, type IOperationDefinition } from "../../operation/index.ts";
import { operation, registryOf } from "../../registry/testing.ts";
import { type FetchServer, type IdentifyCaller, type ServeHTTPOptions, serveHTTP } from "./index.ts";

/** Requests the document of a server as a caller with these scopes, separated by spaces. */
function ask(server: FetchServer, scopes?: string, headers: Record<string, string> = {}): Promise<Response> {
  const authorization: Record<string, string> = scopes === undefined ? {} : { authorization: `Bearer ${scopes}` };
  const request = new Request("http://localhost/openapi.json", { headers: { ...headers, ...authorization } });
  return Promise.resolve(server.fetch(request));
}

/** Identifies callers by the scopes in their token. */
const byScopes: IdentifyCaller = ({ token }) =>
  token === undefined ? undefined : { id: "ada", scopes: token.split(" ") };

async function documentOf(
  definitions: readonly IOperationDefinition[],
  options: Partial<ServeHTTPOptions> = {},
): Promise<JSONObject> {
  await using server = serveHTTP(registryOf(...definitions), { authenticate: "none", ...options });
  const document = (await (await ask(server)).json()) as JSONObject;
  const { valid, errors } = await new Validator().validate(structuredClone(document));
  expect(errors).toBeUndefined();
  expect(valid).toBe(true);
  expect(danglingIn(document, document)).toEqual([]);
  return document;
}

/** Returns the references that do not resolve in the document. */
function danglingIn(value: unknown, document: JSONObject): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, held]) => {
    if (key !== "$ref" || typeof held !== "string") return danglingIn(held, document);
    const isResolved = held.startsWith("#") && readPointer(document, decodeURIComponent(held.slice(1))) !== undefined;
    return isResolved ? [] : [held];
  });
}

const create = defineOperation({
  namespace: "task",
  name: "create",
  type: "mutation",
  title: "Create a task",
  description: "Creates a task.\nIts title must be unique.",
  tags: ["tasks"],
  inputSchema: Type.Object({ title: Type.String(), priority: Type.Integer({ default: 3 }) }),
  outputSchema: Type.Object({ id: Type.String() }),
  errors: {
    TITLE_TAKEN: {
      schema: Type.Object({ title: Type.String() }),
      description: "Another task has the title.",
      httpStatus: 409,
    },
    NO_SPACE: Type.Object({ limit: Type.Integer() }),
    NO_TIME: Type.Unknown(),
  },
  accessControl: { requiredScopes: [], customAuth: "mayCreate" },
  _meta: { team: "secret" },
  handler: () => ({ id: "1" }),
});

describe("the OpenAPI document", () => {
  test("describes a mutation completely", async () => {
    const document = await documentOf([create], { info: { title: "Tasks", version: "2.0.0", description: "All." } });
    const problem = (schema: object) => ({
      "application/problem+json": { schema: { allOf: [{ $ref: "#/components/schemas/Problem" }, schema] } },
    });
    const declared = (code: string) => ({
      type: "object",
      properties: { code: { const: code }, details: { $ref: `#/components/schemas/task.create.${code}` } },
      required: ["code"],
    });
    expect(document).toEqual({
      openapi: "3.1.0",
      info: { title: "Tasks", version: "2.0.0", description: "All." },
      servers: [{ url: "." }],
      security: [],
      paths: {
        "/task/create": {
          post: {
            operationId: "task.create",
            summary: "Create a task",
            description: "Creates a task.\nIts title must be unique.",
            tags: ["tasks"],
            requestBody: {
              required: true,
              content: { "application/json": { schema: { $ref: "#/components/schemas/task.create.input" } } },
            },
            responses: {
              200: {
                description: "The result.",
                content: { "application/json": { schema: { $ref: "#/components/schemas/task.create.output" } } },
              },
              409: { description: "Another task has the title.", content: problem(declared("TITLE_TAKEN")) },
              422: {
                description: "NO_SPACE NO_TIME",
                content: problem({ anyOf: [declared("NO_SPACE"), declared("NO_TIME")] }),
              },
              default: { $ref: "#/components/responses/Problem" },
            },
            "x-alkdev-operation": {
              namespace: "task",
              name: "create",
              version: "1.0.0",
              type: "mutation",
              title: "Create a task",
              description: "Creates a task.\nIts title must be unique.",
              tags: ["tasks"],
              inputSchema: { $ref: "#/components/schemas/task.create.input" },
              outputSchema: { $ref: "#/components/schemas/task.create.output" },
              errorSchemas: [
                {
                  code: "TITLE_TAKEN",
                  description: "Another task has the title.",
                  httpStatus: 409,
                  schema: { $ref: "#/components/schemas/task.create.TITLE_TAKEN" },
                },
                { code: "NO_SPACE", schema: { $ref: "#/components/schemas/task.create.NO_SPACE" } },
                { code: "NO_TIME", schema: { $ref: "#/components/schemas/task.create.NO_TIME" } },
              ],
            },
          },
        },
      },
      components: {
        schemas: {
          Problem: expect.objectContaining({ type: "object", required: ["code"] }),
          "task.create.input": {
            type: "object",
            properties: { title: { type: "string" }, priority: { type: "integer", default: 3 } },
            required: ["title"],
          },
          "task.create.output": { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
          "task.create.TITLE_TAKEN": {
            type: "object",
            properties: { title: { type: "string" } },
            required: ["title"],
          },
          "task.create.NO_SPACE": { type: "object", properties: { limit: { type: "integer" } }, required: ["limit"] },
          "task.create.NO_TIME": {},
        },
        responses: {
          Problem: {
            description: "The call failed.",
            content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
          },
        },
      },
    });
  });

  test("describes queries and subscriptions by parameters, an unknown output, and event streams", async () => {
    const inputSchema = Type.Object({
      id: Type.String({ description: "Which one." }),
      "a/b ~c": Type.Optional(Type.Array(Type.Integer())),
      filter: Type.Object({ open: Type.Boolean() }, { default: { open: true } }),
      words: Type.Array(Type.String()),
      tags: Type.Array(Type.String(), { minItems: 1 }),
    });
    const { paths } = await documentOf([
      operation({ inputSchema, description: "" }),
      operation({ name: "any", inputSchema: Type.Unknown(), outputSchema: Type.Object({}) }),
      operation({ name: "ticks", type: "subscription", inputSchema: Type.Object({}), outputSchema: Type.Number() }),
    ]);
    const property = (name: string) => ({ $ref: `#/components/schemas/test.echo.input/properties/${name}` });
    expect(paths).toMatchObject({
      "/test/echo": {
        get: {
          summary: "test.echo",
          tags: ["test"],
          parameters: [
            { name: "id", in: "query", required: true, description: "Which one.", schema: property("id") },
            { name: "a/b ~c", in: "query", required: false, schema: property("a~1b%20~0c") },
            {
              name: "filter",
              in: "query",
              required: false,
              content: { "application/json": { schema: property("filter") } },
            },
            { name: "words", in: "query", required: false, schema: property("words") }, // A URL has no empty list.
            { name: "tags", in: "query", required: true, schema: property("tags") },
          ],
          responses: {
            200: { content: { "application/json": {}, "application/octet-stream": {} } },
            204: { description: "There is no result." },
          },
        },
      },
      "/test/any": { post: { requestBody: { required: true } } },
      "/test/ticks": {
        get: {
          responses: {
            200: {
              content: {
                "text/event-stream": {
                  schema: {
                    type: "array",
                    items: {
                      type: "string",
                      contentMediaType: "application/json",
                      contentSchema: { $ref: "#/components/schemas/test.ticks.output" },
                    },
                  },
                },
              },
            },
          },
        },
      },
    });
    expect(paths).not.toHaveProperty(["/test/any", "get"]);
  });

  test("describes the chosen route of an operation, with the rest of the input in the body", async () => {
    const inputSchema = Type.Object({ id: Type.String(), title: Type.String(), note: Type.Optional(Type.String()) });
    const { paths } = await documentOf(
      [
        operation({ name: "get", inputSchema }),
        operation({ name: "put", inputSchema, type: "mutation" }),
        operation({ name: "drop", inputSchema: Type.Object({ key: Type.String() }), type: "mutation" }),
      ],
      {
        routes: {
          "test.get": "GET /things/{id}",
          "test.put": "PUT /things/{id}",
          "test.drop": "DELETE /things/{key}",
        },
      },
    );
    const property = (name: string) => ({ $ref: `#/components/schemas/test.get.input/properties/${name}` });
    const parameter = { name: "id", in: "path", required: true, schema: property("id") };
    expect(Object.keys(paths as object)).toEqual(["/things/{id}"]);
    expect(paths).toMatchObject({
      "/things/{id}": {
        get: { parameters: [parameter, { name: "title", in: "query" }, { name: "note", in: "query" }] },
        delete: {
          parameters: [
            { name: "id", in: "path", schema: { $ref: "#/components/schemas/test.drop.input/properties/key" } },
          ],
        },
        put: {
          parameters: [parameter],
          requestBody: {
            required: true,
            content: {
              "application/json": {
                schema: {
                  type: "object",
                  properties: { title: property("title"), note: property("note") },
                  required: ["title"],
                },
              },
            },
          },
        },
      },
    });
  });

  test("writes each schema once, and references of different operations do not clash", async () => {
    const node = (value: object) => ({
      $id: "https://example.com/node",
      type: "object",
      properties: { value, next: { $ref: "node" }, other: { $ref: "#/$defs/leaf" } },
      $defs: { leaf: { $anchor: "leaf", type: "null" } },
    });
    const pointers = {
      type: "object",
      properties: { all: { $ref: "#" }, leaf: { $ref: "#/$defs/leaf" } },
      $defs: { leaf: { type: "string" } },
    };
    const tree = () => Type.Cyclic({ Tree: Type.Object({ children: Type.Array(Type.Ref("Tree")) }) }, "Tree");
    const schemas = [node({ type: "string" }), node({ type: "number" }), pointers, { ...pointers }, tree(), tree()];
    const { components, paths } = (await documentOf(
      schemas.map((schema, index) =>
        operation({
          name: `op ${index}`,
          type: "mutation",
          inputSchema: schema as never,
          outputSchema: schema as never,
        }),
      ),
    )) as { components: { schemas: Record<string, JSONObject> }; paths: JSONObject };
    expect(Object.keys(components.schemas)).toEqual([
      "Problem",
      "test.op_0.input",
      "test.op_1.input",
      "test.op_2.input",
      "test.op_4.input",
      "test.op_4.input.Tree",
    ]);
    expect(Object.keys(paths)).toEqual(schemas.map((_, index) => `/test/op%20${index}`));
    expect(paths).toMatchObject({ "/test/op%200": { post: { operationId: "test.op_0" } } });
    const at = (name: string) => `#/components/schemas/${name}`;
    expect(components.schemas["test.op_1.input"]).toEqual({
      type: "object",
      properties: {
        value: { type: "number" },
        next: { $ref: at("test.op_1.input") },
        other: { $ref: at("test.op_1.input/$defs/leaf") },
      },
      $defs: { leaf: { type: "null" } },
      "x-alkdev-source": JSON.stringify(node({ type: "number" })),
    });
    expect(components.schemas["test.op_2.input"]).toEqual({
      type: "object",
      properties: {
        all: { $ref: at("test.op_2.input") },
        leaf: { $ref: at("test.op_2.input/$defs/leaf") },
      },
      $defs: { leaf: { type: "string" } },
    });
    expect(components.schemas["test.op_4.input"]).toEqual({
      $ref: at("test.op_4.input.Tree"),
      "x-alkdev-definitions": { Tree: "test.op_4.input.Tree" },
      "x-alkdev-source": JSON.stringify(tree()),
    });
  });

  test("omits keywords that tools of OpenAPI 3.1 refuse, and keeps the schema for importers", async () => {
    const reference = { $ref: "#/nowhere" };
    const inputSchema = {
      type: "object",
      properties: {
        a: { type: "string", nullable: true, "x-policies": [reference], "x-kept": 1, default: null },
        b: { type: "number", minimum: 1, exclusiveMinimum: true, example: reference, "x-alkdev-kept": 1 },
      },
      examples: [{ deep: [reference] }],
      default: reference,
      "x-alkdev-source": "{",
      "x-alkdev-definitions": {},
    };
    const { components } = await documentOf([operation({ name: "find", inputSchema: inputSchema as never })]);
    expect((components as { schemas: JSONObject }).schemas["test.find.input"]).toEqual({
      type: "object",
      properties: {
        a: { type: ["string", "null"], "x-kept": 1, default: null },
        b: { type: "number", exclusiveMinimum: 1, "x-alkdev-kept": 1 },
      },
      "x-alkdev-source": JSON.stringify(inputSchema),
    });
  });

  test("contains the security schemes of the authenticator, of which a caller needs one", async () => {
    const securitySchemes = {
      token: { type: "http", scheme: "bearer" },
      key: { type: "apiKey", in: "header", name: "x-api-key" },
    } as const;
    const describe = () => ({ securitySchemes, headers: ["authorization", "x-api-key"] });
    const document = await documentOf([create], {
      authenticate: { authenticate: byScopes, describe },
      allowAnonymous: true,
    });
    expect(document).toMatchObject({ security: [{ token: [] }, { key: [] }], components: { securitySchemes } });
  });

  test("has ids that differ and that a URL can contain", async () => {
    const names = ["a b", "a_b", "a\u00a0b", "issues/create"];
    const { paths } = await documentOf(names.map((name) => operation({ name, type: "mutation" })));
    const ids = Object.values(paths as Record<string, { post: JSONObject }>).map(({ post }) => post["operationId"]);
    expect(ids).toEqual(["test.a_b", "test.a_b_2", "test.a_b_3", "test.issues/create"]);
  });

  test("leaves out an operation whose schema is not JSON", async () => {
    const inputSchema = Type.Object({ size: Type.Optional(Type.Any({ default: 1n })) });
    const { paths } = await documentOf([operation({ name: "broken", inputSchema }), operation()]);
    expect(Object.keys(paths as object)).toEqual(["/test/echo"]);
  });

  test("is shared by callers who see the same operations, and written again after a change", async () => {
    const registry = registryOf(
      operation({ name: "open" }),
      operation({ name: "closed", accessControl: { requiredScopes: ["read"] } }),
    );
    await using server = serveHTTP(registry, { authenticate: byScopes, allowAnonymous: true });
    const etagFor = async (scopes?: string) => (await ask(server, scopes)).headers.get("etag");
    expect(await etagFor("other")).toBe(await etagFor());
    expect(await etagFor("read")).not.toBe(await etagFor());
    const body = await (await ask(server)).text();
    expect(body).toContain("test.open");
    expect(body).not.toMatch(/closed|"read"/);

    const before = await etagFor();
    registry.unregister("test.closed");
    expect(await etagFor("read")).toBe(before);
    registry.register(operation({ name: "third" }));
    expect(await etagFor()).not.toBe(before);
  });

  test("is revalidated by its hash, and varies with the headers that identify callers", async () => {
    await using server = serveHTTP(registryOf(operation()), { authenticate: byScopes, allowAnonymous: true });
    const first = await ask(server);
    const etag = first.headers.get("etag")!;
    expect(Object.fromEntries(first.headers)).toEqual({
      "cache-control": "private, no-cache",
      "content-security-policy": "sandbox",
      "content-type": "application/json",
      etag: expect.stringMatching(/^"[A-Za-z0-9+/=]{44}"$/),
      vary: "authorization",
      "x-content-type-options": "nosniff",
    });
    for (const known of [etag, `"other", W/${etag}`, "*"]) {
      const response = await ask(server, undefined, { "if-none-match": known });
      expect([response.status, await response.text(), response.headers.get("etag")]).toEqual([304, "", etag]);
    }
    expect((await ask(server, undefined, { "if-none-match": '"other"' })).status).toBe(200);
  });

  test("is read with GET and HEAD only", async () => {
    await using server = serveHTTP(registryOf(), { authenticate: "none" });
    const outcomes = ["HEAD", "OPTIONS", "POST", "DELETE"].map(async (method) => {
      const { status, headers } = await server.fetch(new Request("http://localhost/openapi.json", { method }));
      return [status, headers.get("allow")];
    });
    const allow = "GET, HEAD, OPTIONS";
    expect(await Promise.all(outcomes)).toEqual([
      [200, null],
      [204, allow],
      [405, allow],
      [405, allow],
    ]);
  });

  test("is not written for a caller whose credentials are refused", async () => {
    await using server = serveHTTP(registryOf(operation()), {
      authenticate: () => {
        throw new Error("unknown token");
      },
    });
    const response = await ask(server, "read");
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ code: "ACCESS_DENIED" });
  });
});
