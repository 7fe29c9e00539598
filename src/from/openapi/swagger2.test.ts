import { expect, test } from "vitest";
import { compileSchema } from "../../schema/index.ts";
import type { OpenAPISpec } from "./document.ts";
import { importOne, importQuietly, plain, sendOne } from "./testing.ts";

function swagger(entry: object, overrides: OpenAPISpec = {}, path = "/things", method = "post"): OpenAPISpec {
  return {
    swagger: "2.0",
    info: { title: "Old", version: "1" },
    host: "old.test",
    basePath: "/v1",
    schemes: ["http", "https"],
    paths: { [path]: { [method]: { operationId: "op", responses: {}, ...entry } } },
    ...overrides,
  };
}

test.each([
  ["csv", "tags=a,b"],
  ["ssv", "tags=a%20b"],
  ["tsv", "tags=a%09b"],
  ["pipes", "tags=a%7Cb"],
  ["multi", "tags=a&tags=b"],
  [undefined, "tags=a,b"],
])("collectionFormat %s is sent accordingly", async (collectionFormat, query) => {
  const parameters = [{ name: "tags", in: "query", type: "array", items: { type: "string" }, collectionFormat }];

  const { url } = await sendOne(swagger({ parameters }, {}, "/things", "get"), { tags: ["a", "b"] });

  expect(url).toBe(`https://old.test/v1/things?${query}`);
});

test("a parameter is its own schema", () => {
  const parameters = [
    {
      name: "size",
      in: "query",
      description: "How many",
      type: "integer",
      minimum: 1,
      exclusiveMinimum: true,
      default: 5,
    },
    { name: "id", in: "path", required: true, type: "string", enum: ["a"], "x-nullable": false },
  ];

  expect(plain(importOne(swagger({ parameters }, {}, "/things/{id}")).inputSchema)).toEqual({
    type: "object",
    properties: {
      id: { type: "string", enum: ["a"] },
      size: { type: "integer", exclusiveMinimum: 1, default: 5, description: "How many" },
    },
    required: ["id"],
    additionalProperties: false,
  });
});

test("the body parameter is the body, whatever its name, with what the method consumes", async () => {
  const schema = { $ref: "#/definitions/Thing" };
  const definitions = {
    Thing: { type: "object", required: ["a"], properties: { a: { type: "string", "x-nullable": true } } },
  };
  const spec = swagger(
    { consumes: ["application/vnd.thing+json"], parameters: [{ name: "thing", in: "body", required: true, schema }] },
    { definitions, consumes: ["application/xml"] },
  );

  const { headers, body } = await sendOne(spec, { body: { a: null } });
  const compiled = compileSchema(importOne(spec).inputSchema);

  expect(headers["content-type"]).toBe("application/vnd.thing+json");
  expect(JSON.parse(body)).toEqual({ a: null });
  expect(compiled.check({ body: { a: null } })).toBe(true);
  expect(compiled.check({ body: {} })).toBe(false);
  expect(compiled.check({})).toBe(false);
});

test("form fields are one body; with a file it is multipart", async () => {
  const fields = [
    { name: "name", in: "formData", type: "string", required: true },
    { name: "tags", in: "formData", type: "array", items: { type: "string" }, collectionFormat: "multi" },
  ];
  const file = { name: "picture", in: "formData", type: "file" };

  const form = await sendOne(swagger({ parameters: fields }), { body: { name: "x y", tags: ["a", "b"] } });
  const upload = swagger({ parameters: [...fields, file], consumes: ["application/x-www-form-urlencoded"] });
  const multipart = await sendOne(upload, { body: { name: "x", picture: new Blob(["bytes"]) } });

  expect(form).toMatchObject({
    body: "name=x+y&tags=a&tags=b",
    headers: { "content-type": "application/x-www-form-urlencoded" },
  });
  expect(multipart.headers["content-type"]).toMatch(/^multipart\/form-data; ?boundary=/);
  expect(compileSchema(importOne(upload).inputSchema).check({ body: { name: "x", picture: new Blob([]) } })).toBe(true);
  expect(compileSchema(importOne(upload).inputSchema).check({ body: {} })).toBe(false);
});

test("responses are described by their schema and by produces", async () => {
  const responses = { 200: { description: "", schema: { type: "integer" } }, 404: { $ref: "#/responses/Gone" } };
  const shared = { responses: { Gone: { description: "Gone", schema: { type: "string" } } }, produces: ["text/plain"] };
  const spec = swagger({ responses, produces: ["application/vnd.x+json"] }, shared);

  const { headers } = await sendOne(spec, {});
  const operation = importOne(spec);

  expect(headers["accept"]).toBe("application/vnd.x+json");
  expect(plain(operation.outputSchema)).toEqual({ type: "integer" });
  expect(operation.errorSchemas?.map(({ code, description }) => [code, description])).toEqual([["HTTP_404", "Gone"]]);
  expect(plain(importOne(swagger({ responses }, shared)).outputSchema)).toEqual({ type: "string" });
});

test("a file as the response is bytes", () => {
  const operation = importOne(swagger({ responses: { 200: { description: "", schema: { type: "file" } } } }));

  expect(plain(operation.outputSchema)).toEqual({});
});

test.each([
  [{ schemes: ["http"] }, "http://old.test/v1/things"],
  [{ schemes: ["wss", "https"] }, "https://old.test/v1/things"],
  [{ schemes: undefined }, "https://old.test/v1/things"],
  [{ basePath: undefined }, "https://old.test/things"],
  [{ basePath: "v2/" }, "https://old.test/v2/things"],
])("the server of %j", async (overrides, expected) => {
  expect((await sendOne(swagger({}, overrides), {})).url).toBe(expected);
});

test("without a host, the host of the document is used", async () => {
  const spec = swagger({}, { host: undefined, schemes: undefined });

  expect((await sendOne(spec, {}, { documentUrl: "https://docs.test/a/swagger.json" })).url).toBe(
    "https://docs.test/v1/things",
  );
});

test("security definitions are read as schemes", async () => {
  const spec = swagger(
    { security: [{ key: [] }] },
    { securityDefinitions: { key: { type: "apiKey", name: "X-Key", in: "header" }, login: { type: "basic" } } },
  );

  const auth = { schemes: { key: { type: "apiKey", token: "t0k3n" } } } as const;
  const { headers } = await sendOne(spec, {}, { auth, baseUrl: "https://api.test" });

  expect(headers["x-key"]).toBe("t0k3n");
});

test("a body beside form fields wins, and that is reported", () => {
  const parameters = [
    { name: "b", in: "body", schema: { type: "string" } },
    { name: "f", in: "formData", type: "string" },
  ];
  const { report } = importQuietly(swagger({ parameters }));

  expect(report.warnings).toEqual([
    { where: "#/paths/~1things/post", reason: "Form fields beside a body cannot be sent and are ignored." },
  ]);
});

test("the document is left as it was", () => {
  const spec = swagger({ parameters: [{ name: "a", in: "query", type: "string" }] });
  const before = JSON.stringify(spec);

  importOne(spec).inputSchema;

  expect(JSON.stringify(spec)).toBe(before);
});
