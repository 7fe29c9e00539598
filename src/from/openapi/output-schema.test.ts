import { expect, test } from "vitest";
import { compileSchema } from "../../schema/index.ts";
import { importOne, importQuietly, openAPI, openAPIWith, plain } from "./testing.ts";

const json = (schema?: unknown) => ({ description: "", content: { "application/json": { schema } } });
const text = { type: "string" };
const number = { type: "number" };

test.each([
  ["one 2xx", { 200: json(text), 404: json(number) }, text],
  ["two that differ", { 200: json(text), 201: json(number) }, { anyOf: [text, number] }],
  ["two that are the same", { 200: json(text), 202: json(text), 204: { description: "Nothing" } }, text],
  ["a range", { "2xx": json(text), default: json(number) }, text],
  ["default alone", { default: json(text), 404: json(number) }, text],
  ["default beside a 2xx without body", { 204: { description: "" }, default: json(number) }, {}],
  ["JSON without a schema", { 200: json() }, {}],
  ["a +json type", { 200: { content: { "application/problem+json; charset=utf-8": { schema: text } } } }, text],
  ["text", { 200: { content: { "text/csv": { schema: number } } } }, text],
  ["XML", { 200: { content: { "application/xml": { schema: { type: "object" } } } } }, text],
  ["bytes", { 200: { content: { "image/png": { schema: text } } } }, {}],
  ["JSON beside text", { 200: { content: { "text/plain": {}, "application/json": { schema: number } } } }, number],
  ["any type with a schema", { 200: { content: { "*/*": { schema: number } } } }, number],
  ["no answers at all", {}, {}],
])("the output of %s", (_name, responses, expected) => {
  expect(plain(importOne(openAPIWith({ responses })).outputSchema)).toEqual(expected);
});

test("the output of HEAD is unknown", () => {
  const operation = importOne(openAPIWith({ responses: { 200: json(text) } }, {}, "/things", "head"));

  expect(plain(operation.outputSchema)).toEqual({});
});

test("writeOnly properties are not output, nullable values may be null", () => {
  const schema = {
    type: "object",
    properties: {
      password: { type: "string", writeOnly: true },
      name: { type: "string", nullable: true },
      kind: { type: "string", enum: ["a"], nullable: true },
      owner: { $ref: "#/components/schemas/Owner", nullable: true, description: "Who" },
    },
    required: ["password", "name"],
  };
  const spec = openAPIWith(
    { responses: { 200: json(schema) } },
    { openapi: "3.0.3", components: { schemas: { Owner: { type: "object", required: ["id"] } } } },
  );
  const { outputSchema } = importOne(spec);

  expect(plain(outputSchema)).toEqual({
    type: "object",
    properties: {
      name: { type: ["string", "null"] },
      kind: { type: ["string", "null"], enum: ["a", null] },
      owner: { description: "Who", anyOf: [{ $ref: "#/$defs/Owner" }, { type: "null" }] },
    },
    required: ["name"],
    $defs: { Owner: { type: "object", required: ["id"] } },
  });
  expect(compileSchema(outputSchema).check({ name: null, kind: null, owner: null })).toBe(true);
  expect(compileSchema(outputSchema).check({ name: null, owner: {} })).toBe(false);
});

test("keywords beside a reference count from 3.1 on", () => {
  const schema = { $ref: "#/components/schemas/Name", minLength: 3 };
  const components = { schemas: { Name: text } };
  const of = (openapi: string) => importOne(openAPIWith({ responses: { 200: json(schema) } }, { openapi, components }));

  expect(compileSchema(of("3.0.0").outputSchema).check("x")).toBe(true);
  expect(compileSchema(of("3.1.0").outputSchema).check("x")).toBe(false);
});

test("exclusive bounds of 3.0 are bounds", () => {
  const schema = { type: "number", minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false };
  const operation = importOne(openAPIWith({ responses: { 200: json(schema) } }, { openapi: "3.0.0" }));

  expect(plain(operation.outputSchema)).toEqual({ type: "number", exclusiveMinimum: 0, maximum: 9 });
});

const pets = {
  Cat: { type: "object", properties: { kind: { type: "string" }, lives: { type: "integer" } } },
  Dog: { type: "object", properties: { kind: { type: "string" }, bark: { type: "string" } } },
};
const either = [{ $ref: "#/components/schemas/Cat" }, { $ref: "#/components/schemas/Dog" }];

test("a discriminator's mapping decides between branches that would both hold", () => {
  const mapping = { cat: "#/components/schemas/Cat", kitten: "Cat", dog: "#/components/schemas/Dog" };
  const schema = { oneOf: either, discriminator: { propertyName: "kind", mapping } };
  const compiled = compileSchema(
    importOne(openAPIWith({ responses: { 200: json(schema) } }, { components: { schemas: pets } })).outputSchema,
  );

  expect(compiled.check({ kind: "kitten", lives: 9 })).toBe(true);
  expect(compiled.check({ kind: "dog", bark: "wau" })).toBe(true);
  expect(compiled.check({ kind: "dog", bark: 1 })).toBe(false);
  expect(compiled.check({ kind: "fish" })).toBe(false);
});

test("a discriminator without a mapping does not make overlapping branches exclude each other", () => {
  const schema = { oneOf: either, discriminator: { propertyName: "kind" } };
  const compiled = compileSchema(
    importOne(openAPIWith({ responses: { 200: json(schema) } }, { components: { schemas: pets } })).outputSchema,
  );

  expect(compiled.check({ kind: "whatever" })).toBe(true);
});

test("a base type with a discriminator means its subtypes, whose properties are known", () => {
  const schemas = {
    Pet: { type: "object", properties: { kind: text }, required: ["kind"], discriminator: { propertyName: "kind" } },
    Cat: {
      allOf: [{ $ref: "#/components/schemas/Pet" }, { type: "object", properties: { lives: { type: "integer" } } }],
    },
  };
  const spec = openAPIWith(
    { responses: { 200: json({ $ref: "#/components/schemas/Pet" }) } },
    { components: { schemas } },
  );

  expect(plain(importOne(spec).outputSchema)).toMatchObject({
    $ref: "#/$defs/PetOrSubtype",
    $defs: {
      PetOrSubtype: { anyOf: [{ $ref: "#/$defs/Cat" }, { $ref: "#/$defs/Pet" }] },
      Cat: { allOf: [{ $ref: "#/$defs/Pet" }, { properties: { lives: { type: "integer" } } }] },
    },
  });
});

test("declared errors have a code, a status and the shape of their details", () => {
  const operation = importOne(
    openAPIWith({
      responses: { 200: json(text), 404: { ...json(number), description: "Gone" }, "5xx": { description: "" } },
    }),
  );

  expect(plain(operation.errorSchemas)).toEqual([
    {
      code: "HTTP_404",
      description: "Gone",
      httpStatus: 404,
      schema: {
        type: "object",
        description: "Gone",
        properties: {
          status: { const: 404 },
          headers: { type: "object", additionalProperties: { type: "string" } },
          contentType: { type: "string" },
          body: number,
        },
        required: ["status", "headers", "contentType"],
      },
    },
    {
      code: "HTTP_5XX",
      schema: {
        type: "object",
        properties: {
          status: { type: "integer", minimum: 500, maximum: 599 },
          headers: { type: "object", additionalProperties: { type: "string" } },
          contentType: { type: "string" },
          body: {},
        },
        required: ["status", "headers", "contentType"],
      },
    },
  ]);
});

test("operations that declare the same error share its schema", () => {
  const responses = { 404: { $ref: "#/components/responses/Gone" } };
  const { operations } = importQuietly(
    openAPI({
      paths: { "/a": { get: { responses } }, "/b": { get: { responses } } },
      components: { responses: { Gone: json(number) } },
    }),
  );

  expect(operations[0]!.errorSchemas![0]!.schema).toBe(operations[1]!.errorSchemas![0]!.schema);
});

test("schemas are converted when first read and are then the same", () => {
  let reads = 0;
  const schema = {
    get type() {
      reads += 1;
      return "string";
    },
  };
  const operation = importOne(openAPIWith({ responses: { 200: json({ items: schema }) } }));
  const before = Object.getOwnPropertyDescriptor(operation, "outputSchema");

  expect(before?.get).toBeTypeOf("function");
  expect(before?.enumerable).toBe(true);
  const inspected = reads;
  const first = operation.outputSchema;
  const converted = reads;
  expect(converted).toBeGreaterThan(inspected);
  expect(operation.outputSchema).toBe(first);
  expect(reads).toBe(converted);
});

test.each([
  ["text/event-stream", "sse"],
  ["application/x-ndjson", "ndjson"],
  ["application/jsonl", "ndjson"],
  ["application/json-seq", "json-seq"],
])("%s alone makes a subscription", (mediaType, stream) => {
  const operation = importOne(openAPIWith({ responses: { 200: { content: { [mediaType]: { schema: number } } } } }));

  expect(operation).toMatchObject({ name: "op", type: "subscription", _meta: { openapi: { stream } } });
  expect(plain(operation.outputSchema)).toEqual(number);
});

test("a response that may be without a body is recorded", () => {
  const nothing = { 204: { description: "Nothing" } };
  const metaOf = (responses: object) => importOne(openAPIWith({ responses }))._meta?.["openapi"];

  expect(metaOf({ 200: json(text), ...nothing })).toMatchObject({ mayBeEmpty: true });
  expect(metaOf({ 200: json(text), default: { description: "Error" } })).not.toHaveProperty("mayBeEmpty");
});

test("an entry with both JSON and a stream becomes two operations", () => {
  const content = { "application/json": { schema: text }, "text/event-stream": { schema: number } };
  const body = { type: "object", properties: { stream: { type: "boolean", nullable: true } } };
  const { operations } = importQuietly(
    openAPIWith({
      requestBody: { content: { "application/json": { schema: body } } },
      responses: { 200: { content } },
    }),
  );

  expect(operations.map(({ name, type, outputSchema }) => [name, type, plain(outputSchema)])).toEqual([
    ["op", "mutation", text],
    ["op_stream", "subscription", number],
  ]);
});

test.each([
  ["itemSchema of lines", "application/jsonl", { itemSchema: number }, number],
  [
    "itemSchema of server-sent events",
    "text/event-stream",
    { itemSchema: { type: "object", properties: { data: { type: "string", contentSchema: number } } } },
    number,
  ],
  ["itemSchema with plain text", "text/event-stream", { itemSchema: { properties: { data: text } } }, {}],
  ["a list as the whole", "application/x-ndjson", { schema: { type: "array", items: number } }, number],
  ["a text as the whole", "text/event-stream", { schema: text }, {}],
])("events are described by %s", (_name, mediaType, media, expected) => {
  const operation = importOne(openAPIWith({ responses: { 200: { content: { [mediaType]: media } } } }));

  expect(plain(operation.outputSchema)).toEqual(expected);
});
