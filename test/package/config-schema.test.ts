import { readFileSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Ajv } from "ajv";
import { expect, inject, test } from "vitest";
import { createConfigSchema, schemaFile } from "../../scripts/config-schema.ts";
import { resolveConfig } from "../../src/hub/index.ts";

interface Schema {
  description?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  anyOf?: Schema[];
}

const consumer = inject("consumer");
const path = join(consumer, "node_modules/@alkdev/operations/config.schema.json");
const schema: Schema = JSON.parse(readFileSync(path, "utf8"));

/** Returns the paths of the properties of a schema that have no description. */
function undescribed({ properties = {}, additionalProperties, items, anyOf = [] }: Schema, at = ""): string[] {
  const inside = [...anyOf, ...(items ? [items] : []), additionalProperties].filter((it) => typeof it === "object");
  return [
    ...Object.entries(properties).flatMap(([key, member]) => [
      ...(member.description ? [] : [`${at}/${key}`]),
      ...undescribed(member, `${at}/${key}`),
    ]),
    ...inside.flatMap((it) => undescribed(it, `${at}/*`)),
  ];
}

test("the JSON Schema has the same name for imports and in the folder of the package", () => {
  const { resolve } = createRequire(join(consumer, "index.js"));

  expect(resolve("@alkdev/operations/config.schema.json")).toBe(realpathSync(path));
});

test("the description of the configuration follows from its types: npx tsx scripts/config-schema.ts", () => {
  expect(JSON.parse(readFileSync(schemaFile, "utf8"))).toEqual(createConfigSchema());
});

test("every key of the JSON Schema has a description for editors", () => {
  expect(undescribed(schema)).toEqual([]);
  expect(schema.properties?.["serve"]?.properties?.["port"]?.description).toBe(
    "Port; 0 selects a free one. Default: 4000.",
  );
});

const validate = new Ajv({ strict: false }).compile(schema as object);
const hash = `sha256:${"0".repeat(64)}`;
const identity = { id: "ada", scopes: ["tasks"] };

test.each<[string, object]>([
  ["an empty configuration", {}],
  ["its own address", { $schema: "./node_modules/@alkdev/operations/config.schema.json" }],
  [
    "every kind of source",
    {
      sources: {
        a: { modules: "x", include: ["a.*"], rename: { "a.b": "c" }, accessControl: { requiredScopes: [] } },
        b: {
          openapi: "https://example.com/openapi.json",
          auth: { type: "bearer", token: "t" },
          pagination: { kind: "page", parameter: "page" },
          retry: true,
          limits: { operations: 10 },
        },
        c: { openapi: "x", auth: { schemes: { key: { type: "apiKey", token: "t" } } }, retry: { retries: 1 } },
        d: { mcp: { command: "x", args: [], env: { A: "b" }, restart: false } },
        e: { mcp: { url: "https://example.com", auth: { type: "bearer", token: "t" } } },
        f: { mcpConfig: { file: "~/.cursor/mcp.json", servers: ["linear"] } },
        g: { nats: { servers: ["127.0.0.1"], sign: "key", connect: { user: "u" } } },
        h: { redis: { url: "redis://127.0.0.1", trustedBus: true, serve: true } },
        i: { websocket: { url: "ws://127.0.0.1/calls", auth: { type: "bearer", token: "t" } } },
      },
    },
  ],
  [
    "the other parts",
    {
      serve: { host: "127.0.0.1", port: 0, http: true, mcp: false, websocket: true, console: true },
      access: { tokens: [{ hash, identity }] },
      rules: [
        { match: "a.*", type: "query", requiredScopes: ["a"] },
        { match: "b.*", deny: true },
      ],
      history: { file: "x.db", keep: "7d", limit: 10, payloads: ["a.*"] },
    },
  ],
])("accepts %s, as a hub does", (_, config) => {
  expect(validate(config), JSON.stringify(validate.errors)).toBe(true);
  expect(() => resolveConfig(config)).not.toThrow();
});

test.each<[string, object]>([
  ["an unknown key", { source: {} }],
  ["an unknown key of a source", { sources: { a: { modules: "x", incldue: [] } } }],
  ["a source of two kinds", { sources: { a: { modules: "x", openapi: "y" } } }],
  ["a source without kind", { sources: { a: {} } }],
  ["an unknown credential", { sources: { a: { openapi: "x", auth: { type: "x" } } } }],
  ["a credential of a program", { sources: { a: { mcp: { url: "x", auth: { type: "provider", provider: 1 } } } } }],
  ["a port", { serve: { port: -1 } }],
  ["a token that is not hashed", { access: { tokens: [{ hash: "s3cr3t", identity }] } }],
  ["a duration", { history: { keep: "7 days" } }],
])("refuses %s, as a hub does", (_, config) => {
  expect(validate(config)).toBe(false);
  expect(() => resolveConfig(config)).toThrow();
});
