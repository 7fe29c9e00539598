import { expect, test } from "vitest";
import { compileSchema } from "../../schema/index.ts";
import { importOne, importQuietly, openAPI, openAPIWith, plain } from "./testing.ts";

const json = (schema: unknown) => ({ "application/json": { schema } });

test("the input is one object: parameters by name, the body under body, required as declared", () => {
  const operation = importOne(
    openAPIWith(
      {
        parameters: [
          { name: "id", in: "path", required: true, schema: { type: "integer" }, description: "Which one" },
          { name: "dry.run", in: "query", schema: { type: "boolean" }, deprecated: true },
          { name: "X-Trace", in: "header", schema: { type: "string" } },
          { name: "session", in: "cookie", required: true, schema: { type: "string" } },
        ],
        requestBody: { required: true, description: "The thing", content: json({ type: "object" }) },
      },
      {},
      "/things/{id}",
    ),
  );

  expect(plain(operation.inputSchema)).toEqual({
    type: "object",
    properties: {
      id: { type: "integer", description: "Which one" },
      "dry.run": { type: "boolean", deprecated: true },
      "X-Trace": { type: "string" },
      session: { type: "string" },
      body: { type: "object", description: "The thing" },
    },
    required: ["id", "session", "body"],
    additionalProperties: false,
  });
  expect(operation._meta).toMatchObject({
    openapi: {
      method: "POST",
      path: "/things/{id}",
      arguments: [
        { argument: "id", name: "id", in: "path" },
        { argument: "dry.run", name: "dry.run", in: "query" },
        { argument: "X-Trace", name: "X-Trace", in: "header" },
        { argument: "session", name: "session", in: "cookie" },
      ],
    },
  });
});

test("a name that is declared twice is qualified for the later ones, and so is a parameter called body", () => {
  const parameters = [
    { name: "body", in: "query" },
    { name: "id", in: "cookie" },
    { name: "id", in: "header" },
    { name: "id", in: "query" },
    { name: "id", in: "path", required: true },
  ];
  const operation = importOne(openAPIWith({ parameters, requestBody: { content: json({}) } }, {}, "/things/{id}"));

  expect((operation._meta as { openapi: { arguments: unknown } }).openapi.arguments).toEqual([
    { argument: "id", name: "id", in: "path" },
    { argument: "query_body", name: "body", in: "query" },
    { argument: "query_id", name: "id", in: "query" },
    { argument: "header_id", name: "id", in: "header" },
    { argument: "cookie_id", name: "id", in: "cookie" },
  ]);
});

test("parameters of the path hold for every method, unless the method has its own", () => {
  const spec = openAPI({
    paths: {
      "/things": {
        parameters: [
          { $ref: "#/components/parameters/Page" },
          { name: "size", in: "query", schema: { type: "string" } },
        ],
        get: { operationId: "op", parameters: [{ name: "size", in: "query", schema: { type: "integer" } }] },
      },
    },
    components: { parameters: { Page: { name: "page", in: "query", required: true, schema: { type: "integer" } } } },
  });

  expect(plain(importOne(spec).inputSchema)).toMatchObject({
    properties: { page: { type: "integer" }, size: { type: "integer" } },
    required: ["page"],
  });
});

test.each([
  "authorization",
  "Host",
  "content-LENGTH",
  "Transfer-Encoding",
  "Connection",
  "Cookie",
  "Proxy-Authorization",
  "Content-Type",
  "Accept",
  "bad header",
])("the header %s is not for callers to set", (name) => {
  const { operations, report } = importQuietly(
    openAPIWith({ parameters: [{ name, in: "header", required: true, schema: { type: "string" } }] }),
  );

  expect(plain(operations[0]!.inputSchema)).toEqual({ type: "object", properties: {}, additionalProperties: false });
  expect(report.warnings).toEqual([
    {
      where: "#/paths/~1things/post/parameters/0",
      reason: `Callers must not set the header "${name}". The parameter is ignored.`,
    },
  ]);
});

test("an undeclared placeholder in the path is an argument; a parameter without a placeholder is not", () => {
  const { operations, report } = importQuietly(
    openAPIWith({ parameters: [{ name: "ghost", in: "path", required: true }] }, {}, "/a/{b}.{c}"),
  );

  expect(plain(operations[0]!.inputSchema)).toMatchObject({ required: ["b", "c"] });
  expect(report.warnings.map(({ reason }) => reason)).toEqual([
    'The path has no placeholder for "ghost". The parameter is ignored.',
    'No parameter is declared for "b" in the path. Any string is accepted.',
    'No parameter is declared for "c" in the path. Any string is accepted.',
  ]);
});

test("recursive schemas stay recursive and carry only the definitions that they reach", () => {
  const spec = openAPIWith(
    { requestBody: { content: json({ $ref: "#/components/schemas/Node" }) } },
    {
      components: {
        schemas: {
          Node: {
            type: "object",
            properties: { children: { type: "array", items: { $ref: "#/components/schemas/Node" } } },
          },
          Unrelated: { type: "string" },
        },
      },
    },
  );
  const { inputSchema } = importOne(spec);

  expect(plain(inputSchema)).toMatchObject({
    properties: { body: { $ref: "#/$defs/Node" } },
    $defs: { Node: { type: "object", properties: { children: { type: "array", items: { $ref: "#/$defs/Node" } } } } },
  });
  expect(Object.keys((inputSchema as unknown as { $defs: object }).$defs)).toEqual(["Node"]);
  expect(compileSchema(inputSchema).check({ body: { children: [{ children: [] }] } })).toBe(true);
  expect(compileSchema(inputSchema).check({ body: { children: [{ children: 1 }] } })).toBe(false);
});

test("a component used twice, a chain, a cycle through allOf and names that need escapes all resolve", () => {
  const spec = openAPIWith(
    {
      requestBody: {
        content: json({
          type: "object",
          properties: {
            one: { $ref: "#/components/schemas/a~1b%20c" },
            two: { $ref: "#/components/schemas/a~1b%20c" },
            alias: { $ref: "#/components/schemas/Alias" },
            self: { $ref: "#/components/schemas/Self" },
          },
        }),
      },
    },
    {
      components: {
        schemas: {
          "a/b c": { type: "string" },
          Alias: { $ref: "#/components/schemas/a~1b%20c" },
          Self: { allOf: [{ type: "object", properties: { next: { $ref: "#/components/schemas/Self" } } }] },
        },
      },
    },
  );
  const compiled = compileSchema(importOne(spec).inputSchema);

  expect(compiled.check({ body: { one: "x", two: "y", alias: "z", self: { next: { next: {} } } } })).toBe(true);
  expect(compiled.check({ body: { alias: 1 } })).toBe(false);
  expect(compiled.check({ body: { two: 1 } })).toBe(false);
  expect(compiled.check({ body: { self: { next: { next: 1 } } } })).toBe(false);
});

test("a document that contains itself as an object is read like a recursive one", () => {
  const node: Record<string, unknown> = { type: "object", properties: {} };
  (node["properties"] as Record<string, unknown>)["next"] = node;
  const compiled = compileSchema(importOne(openAPIWith({ requestBody: { content: json(node) } })).inputSchema);

  expect(compiled.check({ body: { next: { next: {} } } })).toBe(true);
  expect(compiled.check({ body: { next: { next: 1 } } })).toBe(false);
});

test("readOnly properties are not input, and cannot be required by any branch", () => {
  const spec = openAPIWith(
    {
      requestBody: { content: json({ allOf: [{ $ref: "#/components/schemas/Base" }, { required: ["id", "name"] }] }) },
    },
    {
      components: {
        schemas: {
          Id: { type: "integer", readOnly: true },
          Base: {
            type: "object",
            properties: { id: { $ref: "#/components/schemas/Id" }, name: { type: "string" }, at: { readOnly: true } },
            required: ["id", "at"],
          },
        },
      },
    },
  );

  expect(plain(importOne(spec).inputSchema)).toMatchObject({
    properties: { body: { allOf: [{ $ref: "#/$defs/Base" }, { required: ["name"] }] } },
    $defs: { Base: { type: "object", properties: { name: { type: "string" } } } },
  });
  expect(plain(importOne(spec).inputSchema)).not.toHaveProperty("$defs.Base.required");
});

test("binary positions have no type; strings in JSON keep theirs", () => {
  const file = { type: "string", format: "binary", description: "A picture" };
  const multipart = { type: "object", properties: { "files[0]": file, many: { type: "array", items: file } } };
  const content = { "multipart/form-data": { schema: multipart } };

  const upload = importOne(openAPIWith({ requestBody: { content } })).inputSchema;
  const raw = importOne(openAPIWith({ requestBody: { content: { "image/png": { schema: file } } } })).inputSchema;
  const text = importOne(openAPIWith({ requestBody: { content: json(file) } })).inputSchema;

  expect(plain(upload)).toMatchObject({
    properties: {
      body: {
        type: "object",
        properties: {
          "files[0]": { format: "binary", description: "A picture" },
          many: { type: "array", items: { format: "binary" } },
        },
      },
    },
  });
  expect(compileSchema(upload).check({ body: { "files[0]": new Blob(["x"]), many: [new Uint8Array(1)] } })).toBe(true);
  expect(compileSchema(raw).check({ body: new ArrayBuffer(1) })).toBe(true);
  expect(compileSchema(text).check({ body: new ArrayBuffer(1) })).toBe(false);
});

test("a body with several media types accepts the schema of each; XML alone is a string", () => {
  const pet = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
  const both = { "application/json": { schema: pet }, "application/xml": { schema: pet }, "text/plain": {} };

  const several = compileSchema(importOne(openAPIWith({ requestBody: { content: both } })).inputSchema);
  const xml = importOne(openAPIWith({ requestBody: { content: { "text/xml": { schema: pet } } } })).inputSchema;

  expect(several.check({ body: { name: "Tom" } })).toBe(true);
  expect(several.check({ body: "Tom" })).toBe(true);
  expect(several.check({ body: 1 })).toBe(false);
  expect(plain(xml)).toMatchObject({ properties: { body: { type: "string" } } });
});

test("a body on GET is ignored and reported; on DELETE it is sent", () => {
  const entry = { requestBody: { required: true, content: json({ type: "object" }) } };
  const get = importQuietly(openAPIWith(entry, {}, "/things", "get"));
  const remove = importOne(openAPIWith(entry, {}, "/things", "delete"));

  expect(plain(get.operations[0]!.inputSchema)).toEqual({
    type: "object",
    properties: {},
    additionalProperties: false,
  });
  expect(get.report.warnings).toEqual([
    { where: "#/paths/~1things/get/requestBody", reason: "A body cannot be sent with GET. The body is ignored." },
  ]);
  expect(plain(remove.inputSchema)).toMatchObject({ required: ["body"] });
});

test("names from Object.prototype are names like any other", () => {
  const schema = JSON.parse(
    '{"type":"object","properties":{"__proto__":{"type":"integer"},"constructor":{"type":"integer"}},"required":["__proto__"]}',
  );
  const compiled = compileSchema(importOne(openAPIWith({ requestBody: { content: json(schema) } })).inputSchema);

  expect(compiled.check({ body: JSON.parse('{"__proto__":1}') })).toBe(true);
  expect(compiled.check({ body: {} })).toBe(false);
  expect(compiled.check({ body: JSON.parse('{"__proto__":1,"constructor":"x"}') })).toBe(false);
});

test("30 levels of doubled references and 20 of doubled anyOf cost no more than their text", () => {
  const schemas: Record<string, unknown> = { L30: { type: "string" } };
  for (let level = 0; level < 30; level++) {
    const next = { $ref: `#/components/schemas/L${level + 1}` };
    schemas[`L${level}`] = { anyOf: [{ type: "object", properties: { a: next, b: next } }, next] };
  }
  const spec = openAPIWith(
    { requestBody: { content: json({ $ref: "#/components/schemas/L0" }) } },
    { components: { schemas } },
  );

  const text = JSON.stringify(importOne(spec).inputSchema);

  expect(text.length).toBeLessThan(10_000);
});

test("a chain of 10,000 component references is one step", () => {
  const schemas: Record<string, unknown> = { S10000: { type: "integer" } };
  for (let step = 0; step < 10_000; step++) schemas[`S${step}`] = { $ref: `#/components/schemas/S${step + 1}` };
  const spec = openAPIWith(
    { requestBody: { content: json({ $ref: "#/components/schemas/S0" }) } },
    { components: { schemas } },
  );

  const { inputSchema } = importOne(spec);

  expect(plain(inputSchema)).toMatchObject({
    properties: { body: { $ref: "#/$defs/S10000" } },
    $defs: { S10000: { type: "integer" } },
  });
});

test("schemas may extend each other further than the stack goes", () => {
  const extend = (_: unknown, index: number) => [
    `A${index}`,
    { allOf: [{ $ref: `#/components/schemas/A${index + 1}` }], required: ["x"] },
  ];
  const schemas = Object.fromEntries([...Array.from({ length: 2_500 }, extend), ["A2500", { type: "object" }]]);
  const requestBody = { content: json({ $ref: "#/components/schemas/A0" }) };

  const { inputSchema } = importOne(openAPIWith({ requestBody }, { components: { schemas } }));

  expect(Object.keys((plain(inputSchema) as { $defs: object }).$defs)).toHaveLength(2_501);
});

test("code in names and descriptions is data", () => {
  const evil = '"]; globalThis.hacked = true; //';
  const schema = {
    type: "object",
    title: evil,
    properties: { [evil]: { enum: [evil], default: evil } },
    required: [evil],
  };
  const operation = importOne(openAPIWith({ summary: evil, requestBody: { content: json(schema) } }));

  expect(compileSchema(operation.inputSchema).check({ body: { [evil]: evil } })).toBe(true);
  expect(compileSchema(operation.inputSchema).check({ body: {} })).toBe(false);
  expect("hacked" in globalThis).toBe(false);
});

test("a pattern that would block for seconds is checked in linear time", () => {
  const schema = { type: "string", pattern: "^(a+)+$" };
  const compiled = compileSchema(importOne(openAPIWith({ requestBody: { content: json(schema) } })).inputSchema);

  expect(compiled.check({ body: `${"a".repeat(40)}!` })).toBe(false);
  expect(compiled.check({ body: "aaa" })).toBe(true);
});
