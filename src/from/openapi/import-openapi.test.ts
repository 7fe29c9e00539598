import { expect, test } from "vitest";
import { assertValidSpec } from "../../operation/inside.ts";
import { compileSchema } from "../../schema/index.ts";
import type { HTTPAuth } from "./config.ts";
import type { OpenAPISpec } from "./document.ts";
import { importOne, importQuietly, openAPI, openAPIWith, plain, sendOne } from "./testing.ts";

const json = (schema: unknown) => ({ content: { "application/json": { schema } } });

test("an operation has everything that the document declares about it", () => {
  const operation = importOne(
    openAPIWith({
      summary: "Makes a thing",
      description: "Makes a thing and keeps it.",
      tags: ["things"],
      deprecated: true,
      externalDocs: { url: "https://docs.test" },
    }),
    { outputPolicy: "check" },
  );

  expect({ ...operation, handler: undefined }).toMatchObject({
    namespace: "test",
    name: "op",
    version: "1.2.3",
    type: "mutation",
    title: "Makes a thing",
    description: "Makes a thing and keeps it.",
    tags: ["things"],
    accessControl: { requiredScopes: [] },
    idempotent: false,
    outputPolicy: "check",
    fillDefaults: false,
    _meta: {
      openapi: {
        method: "POST",
        path: "/things",
        pointer: "#/paths/~1things/post",
        operationId: "op",
        arguments: [],
        deprecated: true,
        externalDocs: { url: "https://docs.test" },
        server: "https://api.test/v1",
      },
    },
  });
});

test.each([
  ["get", "query", true],
  ["head", "query", true],
  ["put", "mutation", true],
  ["delete", "mutation", true],
  ["post", "mutation", false],
  ["patch", "mutation", false],
])("%s is a %s", (method, type, idempotent) => {
  expect(importOne(openAPIWith({}, {}, "/things", method))).toMatchObject({ type, idempotent });
});

test("access rules come from the operator, never from the document", () => {
  const accessControl = { requiredScopes: ["things:write"] };

  expect(importOne(openAPIWith({ accessControl: {} }), { accessControl }).accessControl).toBe(accessControl);
});

test("an access rule that is null is not replaced by one that allows every caller", () => {
  const operation = importOne(openAPIWith({}), { accessControl: null } as object);

  expect(() => assertValidSpec(operation)).toThrow("/accessControl must be an object");
});

test.each(["3.0.0", "3.0.4", "3.1.1", "3.2.0", "3.3.0"])("OpenAPI %s is read", (openapi) => {
  expect(importQuietly(openAPI({ openapi })).report.imported).toEqual(["test.list"]);
});

test.each([{ openapi: "4.0.0" }, { openapi: undefined }, { openapi: undefined, swagger: "1.2" }])(
  "%j is not read",
  (version) => {
    expect(() => importQuietly(openAPI(version))).toThrow(expect.objectContaining({ code: "VALIDATION_ERROR" }));
  },
);

test.each([null, [], "text", 1])("%j is not a document", (spec) => {
  expect(() => importQuietly(spec as never)).toThrow(expect.objectContaining({ code: "VALIDATION_ERROR" }));
});

test("a document without paths has no operations; webhooks and callbacks are reported", () => {
  const { operations, report } = importQuietly(openAPI({ paths: undefined, webhooks: { "new/pet": { post: {} } } }));
  const callbacks = importQuietly(openAPIWith({ callbacks: { done: {} } })).report;

  expect(operations).toEqual([]);
  expect(report.skipped).toEqual([
    { where: "#/webhooks/new~1pet", reason: "The service sends this request itself. Clients cannot call it." },
  ]);
  expect(callbacks.skipped).toEqual([
    {
      where: "#/paths/~1things/post/callbacks/done",
      reason: "The service sends this request itself. Clients cannot call it.",
    },
  ]);
});

test("3.2 brings the query method, additional operations and a parameter for the whole query", () => {
  const { operations } = importQuietly(
    openAPI({
      openapi: "3.2.0",
      paths: {
        "/things": {
          query: { operationId: "search", requestBody: json({ type: "object" }) },
          additionalOperations: { COPY: { operationId: "copy" } },
        },
        "/raw": {
          get: {
            operationId: "raw",
            parameters: [
              { name: "q", in: "querystring", content: { "application/json": { schema: { type: "object" } } } },
            ],
          },
        },
      },
    }),
  );

  expect(operations.map(({ name, type, _meta }) => [name, type, (_meta as { openapi: object }).openapi])).toMatchObject(
    [
      ["search", "query", { method: "QUERY", body: ["application/json"] }],
      ["copy", "mutation", { method: "COPY", pointer: "#/paths/~1things/additionalOperations/COPY" }],
      ["raw", "query", { arguments: [{ argument: "q", name: "q", in: "querystring" }] }],
    ],
  );
});

test("a path item may be a reference, and what is declared beside it wins", () => {
  const { report } = importQuietly(
    openAPI({
      paths: { "/a": { $ref: "#/components/pathItems/A", get: { operationId: "mine" } } },
      components: { pathItems: { A: { get: { operationId: "theirs" }, put: { operationId: "shared" } } } },
    }),
  );

  expect(report.imported).toEqual(["test.mine", "test.shared"]);
});

test.each([
  "//evil.test/x",
  "https://evil.test/x",
  "/\\evil.test",
  "/a\nb",
  "/a/../b",
  "/./b",
  "/a/%2e%2E/b",
  "/half\ud800",
  `/${"x".repeat(4096)}`,
])("the path %j is skipped", (path) => {
  const { operations, report } = importQuietly(openAPI({ paths: { [path]: { get: {} }, "/ok": { get: {} } } }));

  expect(operations.map(({ name }) => name)).toEqual(["get_ok"]);
  expect(report.skipped).toHaveLength(1);
});

test.each([
  ["/things?action=list", { id: "1" }, "https://api.test/v1/things?action=list&id=1"],
  ["/things#Target=Service.List", { id: "1" }, "https://api.test/v1/things?id=1"],
  ["things", {}, "https://api.test/v1/things"],
])("the path key %s is called as meant", async (path, input, expected) => {
  const parameters = [{ name: "id", in: "query", schema: { type: "string" } }];

  expect((await sendOne(openAPIWith({ parameters }, {}, path, "get"), input)).url).toBe(expected);
});

test("operations that cannot be sent are reported, and the others work", () => {
  const { operations, report } = importQuietly(
    openAPI({
      paths: {
        "/a": {
          get: {
            parameters: [
              { name: "half\ud800", in: "query" },
              { name: "two words", in: "header" },
            ],
            responses: { 200: { content: { "text/plain\r\nX-Admin: 1": {}, "text/\u2603": {}, "text/csv": {} } } },
          },
          additionalOperations: { trace: {}, Connect: {}, TRACK: {} },
        },
      },
    }),
  );

  expect(plain(operations.map(({ inputSchema }) => inputSchema))).toEqual([
    { type: "object", properties: {}, additionalProperties: false },
  ]);
  expect(report.warnings.map(({ where }) => where)).toEqual([
    "#/paths/~1a/get/parameters/0",
    "#/paths/~1a/get/responses/200/content/text~1plain\r\nX-Admin: 1",
    "#/paths/~1a/get/responses/200/content/text~1\u2603",
    "#/paths/~1a/get/parameters/1",
  ]);
  expect(report.skipped.map(({ reason }) => reason)).toEqual([
    "The method trace cannot be sent with fetch.",
    "The method Connect cannot be sent with fetch.",
    "The method TRACK cannot be sent with fetch.",
  ]);
});

test("a reference that passes through itself skips only its own operation", () => {
  const A = { $ref: "#/components/schemas/A/properties/x" };
  const P = { $ref: "#/components/parameters/P/x" };
  const { report } = importQuietly(
    openAPI({
      components: { schemas: { A }, parameters: { P } },
      paths: {
        "/a": { get: { parameters: [{ name: "q", in: "query", schema: { $ref: "#/components/schemas/A" } }] } },
        "/p": { get: { parameters: [{ $ref: "#/components/parameters/P" }] } },
        "/ok": { get: {} },
      },
    }),
  );

  expect(report.imported).toEqual(["test.get_ok"]);
  expect(report.skipped.map(({ where }) => where)).toEqual(["#/paths/~1a/get", "#/paths/~1p/get"]);
});

test("malformed entries are reported, and the others work", () => {
  const { operations, report } = importQuietly(
    openAPI({
      paths: {
        "/a": {
          get: null,
          trace: {},
          bogus: {},
          put: { operationId: "good", parameters: [{}, null, { name: "x", in: "sky" }] },
        },
        "/b": null,
        "x-extension": { get: {} },
      },
    }),
  );

  expect(operations.map(({ name }) => name)).toEqual(["good"]);
  expect(report.skipped.map(({ where, reason }) => `${where}: ${reason}`)).toEqual([
    "#/paths/~1a/get: The operation is not an object.",
    "#/paths/~1a/trace: The method TRACE cannot be sent with fetch.",
    '#/paths/~1a/bogus: "bogus" is not an HTTP method.',
    "#/paths/~1b: The path item is not an object.",
  ]);
  expect(report.warnings.map(({ where }) => where)).toEqual([
    "#/paths/~1a/put/parameters/0",
    "#/paths/~1a/put/parameters/1",
    "#/paths/~1a/put/parameters/2",
  ]);
});

test.each(["http://evil.test/schema.json", "file:///etc/passwd", "../secrets.yaml#/a", "/etc/passwd"])(
  "an operation that needs %s is skipped with the pointer, and nothing is fetched",
  ($ref) => {
    const fetch = () => Promise.reject(new Error("fetched"));
    const deep = { type: "object", properties: { a: { $ref: "#/components/schemas/Outer" } } };
    const { operations, report } = importQuietly(
      openAPI({
        paths: {
          "/in": { post: { operationId: "in", requestBody: json(deep) } },
          "/out": { get: { operationId: "out", responses: { 200: json({ $ref }) } } },
          "/error": { get: { operationId: "error", responses: { 404: json({ $ref }) } } },
          "/parameter": { get: { operationId: "parameter", parameters: [{ $ref }] } },
          "/item": { $ref },
          "/ok": { get: { operationId: "ok" } },
        },
        components: { schemas: { Outer: { items: { $ref } } } },
      }),
      { fetch },
    );

    expect(operations.map(({ name }) => name)).toEqual(["ok"]);
    const reason = `${JSON.stringify($ref)} points outside the document. Allow it with externalRefs.`;
    expect(report.skipped).toEqual([
      { where: "#/paths/~1item", reason },
      { where: "#/paths/~1in/post", reason: `At #/components/schemas/Outer/items/$ref: ${reason}` },
      {
        where: "#/paths/~1out/get",
        reason: `At #/paths/~1out/get/responses/200/content/application~1json/schema/$ref: ${reason}`,
      },
      {
        where: "#/paths/~1error/get",
        reason: `At #/paths/~1error/get/responses/404/content/application~1json/schema/$ref: ${reason}`,
      },
      { where: "#/paths/~1parameter/get", reason: `At #/paths/~1parameter/get/parameters/0: ${reason}` },
    ]);
  },
);

test("a dangling reference in the input skips the operation; in the output its schema accepts any value", () => {
  const nowhere = { $ref: "#/components/schemas/Missing" };
  const { operations, report } = importQuietly(
    openAPI({
      paths: {
        "/in": { post: { operationId: "in", requestBody: json(nowhere) } },
        "/out": { get: { operationId: "out", responses: { 200: json(nowhere), 404: json(nowhere), 409: json({}) } } },
      },
    }),
  );

  expect(operations.map(({ name, outputSchema }) => [name, plain(outputSchema)])).toEqual([["out", {}]]);
  expect(report.skipped.map(({ where }) => where)).toEqual(["#/paths/~1in/post"]);
  expect(report.warnings.map(({ reason }) => reason.slice(reason.indexOf(": ") + 2))).toEqual([
    '"#/components/schemas/Missing" cannot be resolved. The output is not described.',
    '"#/components/schemas/Missing" cannot be resolved. The error 404 is not described.',
  ]);
});

test("schemas with known mistakes are repaired, and that is reported once", () => {
  const schema = {
    type: "object",
    properties: {
      any: { type: "any" },
      flag: { type: "boolean", required: true },
      list: { type: "array", items: [], minItems: "2", pattern: 1 },
      props: { properties: "none" },
    },
    required: true,
  };
  const { operations, report } = importQuietly(
    openAPI({ paths: { "/a": { post: { requestBody: json(schema) }, put: { requestBody: json(schema) } } } }),
  );

  expect(compileSchema(operations[0]!.inputSchema).check({ body: { any: 1, list: [] } })).toBe(true);
  expect(compileSchema(operations[0]!.inputSchema).check({ body: { flag: "x" } })).toBe(false);
  expect(report.warnings.map(({ reason }) => reason).sort()).toEqual([
    '"\\"any\\"" is not a JSON Schema type and is ignored.',
    "The value of properties is malformed and is ignored.",
  ]);
});

test("an input that is not a schema skips the operation in its input", () => {
  const { operations, report } = importQuietly(openAPIWith({ requestBody: json({ properties: { a: "string" } }) }));

  expect(operations).toEqual([]);
  expect(report.skipped[0]?.reason).toMatch(/^At #.*: "string" is not a schema\.$/);
});

test("200,000 references in one schema, and a server of 200,000 slashes, are read in time", () => {
  const schema = { anyOf: Array.from({ length: 200_000 }, () => ({ $ref: "#/components/schemas/A" })) };
  const { report } = importQuietly(
    openAPI({
      servers: [{ url: `https://api.test${"/".repeat(200_000)}v1` }],
      components: { schemas: { A: {} } },
      paths: { "/a": { get: { parameters: [{ name: "q", in: "query", schema }] } }, "/ok": { get: {} } },
    }),
  );

  expect(report.imported).toEqual(["test.get_ok"]);
  expect(report.skipped).toEqual([
    { where: "#/paths/~1a/get", reason: expect.stringContaining("Raise limits.subschemas") },
  ]);
});

test("names from Object.prototype are names like any other, wherever they are", async () => {
  const spec = JSON.parse(`{
    "openapi": "3.1.0", "servers": [{ "url": "https://api.test/{__proto__}", "variables": { "__proto__": { "default": "v1" } } }],
    "paths": { "__proto__": { "get": {
      "operationId": "__proto__", "tags": ["__proto__"], "security": [{ "__proto__": [] }],
      "parameters": [
        { "name": "__proto__", "in": "query", "schema": { "$ref": "#/components/schemas/__proto__" } },
        { "name": "constructor", "in": "header" }
      ],
      "responses": { "200": { "content": { "application/json": { "schema": { "properties": { "__proto__": { "type": "string" } } } } } } }
    } } },
    "components": {
      "schemas": { "__proto__": { "type": "string" } },
      "securitySchemes": { "__proto__": { "type": "apiKey", "in": "query", "name": "toString" } }
    }
  }`) as OpenAPISpec;
  const input = JSON.parse('{ "__proto__": "x", "constructor": "y" }') as unknown;
  const schemes = JSON.parse('{ "__proto__": { "type": "apiKey", "token": "secret" } }') as Record<string, HTTPAuth>;

  const request = await sendOne(spec, input, { auth: { schemes }, allowedOrigins: ["https://api.test"] });
  const bare = await sendOne(spec, {}, { auth: { schemes: {} }, allowedOrigins: ["https://api.test"] });

  expect([request.url, request.headers["constructor"]]).toEqual([
    "https://api.test/v1/__proto__?__proto__=x&toString=secret",
    "y",
  ]);
  expect([bare.url, bare.headers]).toEqual(["https://api.test/v1/__proto__", { accept: "application/json" }]);
  expect(importQuietly(spec).report).toEqual({ imported: ["test.__proto__"], skipped: [], warnings: [] });
});

test("5,000 operations load, 50,000 are over the limit", () => {
  const entry = {
    get: { parameters: [{ name: "q", in: "query", schema: { type: "string" } }], responses: { 200: json({}) } },
  };
  const paths = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`/p${index}`, entry]));

  expect(importQuietly(openAPI({ paths: paths(5_000) })).operations).toHaveLength(5_000);
  expect(() => importQuietly(openAPI({ paths: paths(50_000) }))).toThrow(
    expect.objectContaining({ code: "LIMIT_EXCEEDED", details: { limit: "operations" } }),
  );
});

test("a listing of everything ends, also with schemas in cycles", () => {
  const schemas = {
    A: { properties: { b: { $ref: "#/components/schemas/B" } } },
    B: { allOf: [{ $ref: "#/components/schemas/C" }] },
    C: { type: "array", items: { $ref: "#/components/schemas/A" } },
    Self: { $ref: "#/components/schemas/Self" },
  };
  const { operations, report } = importQuietly(
    openAPI({
      paths: {
        "/cycle": { post: { operationId: "cycle", requestBody: json({ $ref: "#/components/schemas/A" }) } },
        "/self": { post: { operationId: "self", requestBody: json({ $ref: "#/components/schemas/Self" }) } },
      },
      components: { schemas },
    }),
  );

  expect(JSON.stringify(operations)).toContain("#/$defs/A");
  expect(operations.map(({ name }) => name)).toEqual(["cycle"]);
  expect(report.skipped[0]?.reason).toContain("refers to itself");
});

test("an input schema over a limit skips the operation; an output schema over a limit accepts any value", () => {
  const deep = (depth: number): unknown => (depth === 0 ? { type: "string" } : { items: deep(depth - 1) });
  const wide = {
    type: "object",
    properties: Object.fromEntries(Array.from({ length: 200 }, (_, key) => [`p${key}`, {}])),
  };
  const pattern = { type: "string", pattern: "a".repeat(101) };
  const limits = { schemaDepth: 20, subschemas: 100, patternLength: 100 };
  const { operations, report } = importQuietly(
    openAPI({
      paths: {
        "/deep": { post: { operationId: "deep", requestBody: json(deep(30)) } },
        "/wide": { post: { operationId: "wide", requestBody: json(wide) } },
        "/answer": { get: { operationId: "answer", responses: { 200: json(wide) } } },
        "/pattern": { post: { operationId: "pattern", requestBody: json(pattern) } },
        "/fine": { post: { operationId: "fine", requestBody: json(deep(12)) } },
      },
    }),
    { limits },
  );

  expect(operations.map(({ name }) => name)).toEqual(["answer", "pattern", "fine"]);
  expect(operations.map(({ outputSchema }) => plain(outputSchema))).toEqual([{}, {}, {}]);
  expect(compileSchema(operations[1]!.inputSchema).check({ body: "b" })).toBe(true);
  expect(compileSchema(operations[2]!.inputSchema).check({ body: [[["x"]]] })).toBe(true);
  expect(report.skipped.map(({ reason }) => /limits\.\w+/.exec(reason)?.[0])).toEqual([
    "limits.schemaDepth",
    "limits.subschemas",
  ]);
  expect(report.warnings).toHaveLength(2);
});

test.each([[3], ["/x"], [[]]])("paths that are not an object are reported: %j", (paths) => {
  const { report } = importQuietly({ openapi: "3.1.0", paths } as never);

  expect(report.skipped).toEqual([{ where: "#/paths", reason: "It is not an object." }]);
});
