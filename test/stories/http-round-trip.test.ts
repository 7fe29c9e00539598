import {
  CallError,
  type IOperationDefinition,
  isCallError,
  OperationRegistry,
  type OperationSpec,
  type ResponseEnvelope,
  type SourceReport,
} from "@alkdev/operations";
import { type OpenAPISource, openAPISource } from "@alkdev/operations/from-openapi";
import { serveHTTP } from "@alkdev/operations/serve-http";
import fc from "fast-check";
import { Type } from "typebox";
import { expect, test } from "vitest";

/** A schema, and inputs or outputs that satisfy it. */
interface Sample {
  readonly schema: object;
  readonly value: unknown;
}

const keys = fc.oneof(
  fc.constantFrom("", "__proto__", "constructor", "a b", "ä/~%", "body", "$ref", "id", "type", "+&=#?"),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 6 }),
);
const json = fc.jsonValue({ noUnicodeString: false, maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)));

const { tree } = fc.letrec<{ tree: object }>((tie) => ({
  tree: fc.record({ n: fc.integer(), of: fc.array(tie("tree"), { maxLength: 2 }) }, { requiredKeys: ["n"] }),
}));

/** Trees with references by the names of TypeBox or by `$id`. */
const named = fc
  .tuple(
    fc.constantFrom<object>(
      Type.Cyclic({ Tree: Type.Object({ n: Type.Number(), of: Type.Optional(Type.Array(Type.Ref("Tree"))) }) }, "Tree"),
      {
        $id: "https://example.com/tree",
        type: "object",
        properties: { n: { type: "number" }, of: { type: "array", items: { $ref: "tree" } } },
        required: ["n"],
      },
    ),
    tree,
  )
  .map(([schema, value]): Sample => ({ schema, value }));

/** Trees with references by pointer, which must be at the root of a schema. */
const pointed = tree.map(
  (value): Sample => ({
    schema: {
      $ref: "#/$defs/tree",
      $defs: {
        tree: {
          type: "object",
          properties: { n: { $ref: "#/$defs/n" }, of: { type: "array", items: { $ref: "#/$defs/tree" } } },
          required: ["n"],
        },
        n: { type: "number" },
      },
    },
    value,
  }),
);

/** Annotations that do not change the meaning of a schema, also if they look like those of a served document. */
const annotations: readonly object[] = [
  {},
  { "x-alkdev-source": '{"type":"string"}' },
  { "x-alkdev-source": "{" },
  { "x-alkdev-definitions": { a: "b" } },
  { "x-links": [{ $ref: "#/nowhere" }] },
];

const { sample } = fc.letrec<{ sample: Sample; object: Sample }>((tie) => ({
  sample: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.string({ unit: "grapheme" }).map((value) => ({ schema: Type.String(), value })),
    fc.double({ noDefaultInfinity: true, noNaN: true }).map((value) => ({ schema: Type.Number(), value: value + 0 })),
    fc.maxSafeInteger().map((value) => ({ schema: Type.Integer({ description: "A whole number." }), value })),
    fc.boolean().map((value) => ({ schema: Type.Boolean(), value })),
    fc.constant({ schema: Type.Null(), value: null }),
    fc.constantFrom("word", null).map((value) => ({ schema: { type: "string", nullable: true }, value })),
    fc.constantFrom("open", "done").map((value) => ({ schema: { enum: ["open", "done"] }, value })),
    fc.tuple(fc.constantFrom(Type.Unknown(), true as never), json).map(([schema, value]) => ({ schema, value })),
    named,
    fc.array(fc.string({ unit: "grapheme" })).map((value) => ({ schema: Type.Array(Type.String()), value })),
    tie("sample").map(({ schema, value }) => ({ schema: { type: "array", items: schema }, value: [value, value] })),
    tie("sample").map(({ schema, value }) => ({ schema: { anyOf: [schema, { type: "null" }] }, value })),
    tie("object"),
  ),
  object: fc
    .uniqueArray(fc.tuple(keys, tie("sample"), fc.constantFrom("required", "optional", "default")), {
      selector: ([key]) => key,
      maxLength: 4,
    })
    .map((properties) => {
      const schema = { type: "object", properties: {}, required: [] as string[] };
      const value = {};
      for (const [key, each, presence] of properties) {
        const held = presence === "default" ? { ...each.schema, default: each.value } : each.schema;
        define(schema.properties, key, held);
        if (presence !== "optional") schema.required.push(key);
        // A URL cannot carry an optional empty list.
        if (presence !== "default" && !isEmptyList(each.value)) define(value, key, each.value);
        if (presence === "required" && isEmptyList(each.value)) define(value, key, each.value);
      }
      return { schema, value };
    })
    .chain(({ schema, value }) =>
      fc.constantFrom(...annotations).map((each) => ({ schema: { ...schema, ...each }, value })),
    ),
}));

function define(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** An operation, and an input for it. */
interface Case {
  readonly definition: IOperationDefinition;
  readonly input: unknown;
  /** Whether events without envelopes have its values: JSON has neither bytes nor `undefined`. */
  readonly isJSON: boolean;
}

const names = fc.oneof(
  fc.constantFrom(
    "create",
    "create all",
    "issues/create",
    "issues.create",
    "issues_create",
    "a%2Fb",
    "ü?#",
    "{id}",
    "/",
  ),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }),
);

const cases = fc
  .record({
    namespace: fc.constantFrom("task", "Task", "a b", "ü"),
    name: names.filter(
      (name) => !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(name) && !name.split("/").some((part) => part === "." || part === ".."),
    ),
    type: fc.constantFrom("query", "mutation", "subscription"),
    input: fc.oneof({ arbitrary: sample, weight: 9 }, pointed),
    output: fc.oneof({ arbitrary: sample, weight: 9 }, pointed),
    outcome: fc.constantFrom("echo", "output", "bytes", "nothing", "declared", "undeclared"),
    spec: fc.record(
      {
        title: fc.string(),
        tags: fc.array(fc.constantFrom("x", "y"), { maxLength: 2 }),
        idempotent: fc.boolean(),
        outputPolicy: fc.constantFrom("cast", "check", "strict"),
      },
      { requiredKeys: [] },
    ),
    httpStatus: fc.option(fc.constantFrom(404, 409, 401, 503), { nil: undefined }),
  })
  .map(({ namespace, name, type, input, output, outcome, spec, httpStatus }): Case => {
    const produce = (given: unknown): unknown => {
      if (outcome === "echo") return given;
      if (outcome === "output") return output.value;
      if (outcome === "bytes") return new Uint8Array([1, 2, 254]);
      if (outcome === "nothing") return undefined;
      throw new CallError(outcome === "declared" ? "TAKEN" : "SURPRISE", "It is taken.", output.value, {
        retryable: httpStatus === 503,
        mayHaveRun: httpStatus !== 404,
      });
    };
    const isOpen = outcome === "bytes" || outcome === "nothing";
    const definition = {
      namespace,
      name,
      version: "2.1.0",
      description: "Does something.",
      type: type as "query",
      inputSchema: input.schema as never,
      outputSchema: (isOpen ? Type.Unknown() : outcome === "echo" ? input.schema : output.schema) as never,
      errorSchemas: [
        {
          code: "TAKEN",
          schema: output.schema as never,
          ...(httpStatus !== undefined && { httpStatus }),
        },
      ],
      accessControl: { requiredScopes: [] },
      _meta: { internal: true },
      ...spec,
    };
    // A plain import does not know this policy, and would fill defaults into output that misses them.
    if (definition.outputPolicy === "check" && outcome === "output") definition.outputPolicy = "strict";
    const handler =
      type === "subscription"
        ? async function* (given: unknown) {
            yield output.value;
            yield produce(given);
          }
        : produce;
    if (type === "subscription" && outcome === "echo") definition.outputSchema = Type.Unknown() as never;
    return { definition: { ...definition, handler } as IOperationDefinition, input: input.value, isJSON: !isOpen };
  });

/** At least 61 operations: from 61 on, an MCP server would switch to search. */
const registries = fc.uniqueArray(cases, {
  minLength: 61,
  maxLength: 66,
  selector: ({ definition: { namespace, name } }) => `${namespace}.${name}`,
});

/** What a call of an operation results in: its data, or those of a subscription, and its error. */
async function outcomeOf(
  registry: OperationRegistry,
  id: string,
  input: unknown,
): Promise<{ data: unknown[]; error?: unknown }> {
  const data: unknown[] = [];
  try {
    if (registry.getSpec(id)?.type !== "subscription") {
      data.push(toData(await registry.execute(id, input)));
    } else {
      for await (const envelope of registry.subscribe(id, input)) data.push(toData(envelope));
    }
    return { data };
  } catch (error) {
    return { data, error: isCallError(error) ? error.toJSON() : error };
  }
}

function toData({ data }: ResponseEnvelope): unknown {
  return data instanceof Uint8Array || data instanceof ArrayBuffer ? { bytes: [...new Uint8Array(data)] } : data;
}

/** The part of a spec that importers restore. */
function restored({ accessControl: _, _meta, ...spec }: OperationSpec): unknown {
  return JSON.parse(JSON.stringify(spec));
}

/** The specs that peers receive: those in the view of callers. */
async function publishedBy(registry: OperationRegistry): Promise<unknown[]> {
  const { buildCallHandler, PendingRequestMap } = await import("@alkdev/operations");
  await using callMap = new PendingRequestMap();
  return buildCallHandler({ registry, callMap }).operations().map(restored);
}

async function follow(source: OpenAPISource): Promise<{ registry: OperationRegistry; reports: SourceReport[] }> {
  const reports: SourceReport[] = [];
  const registry = new OperationRegistry({ log: false });
  await registry.follow(source, { onReport: (report) => reports.push(report) });
  return { registry, reports };
}

test("specs, data and errors survive a server and its trusted import; data also survives an import without trust", async () => {
  await fc.assert(
    fc.asyncProperty(registries, async (given) => {
      const local = new OperationRegistry({ log: false });
      local.registerAll(given.map(({ definition }) => definition));
      await using server = serveHTTP(local, { authenticate: "none", onReport: () => {} });
      const fetch: typeof globalThis.fetch = async (input, init) => server.fetch(new Request(input, init));
      const url = "http://localhost/openapi.json";

      const trusted = await follow(openAPISource(url, { trust: "operations", fetch }));
      expect(trusted.reports.flatMap(({ skipped, warnings }) => [...skipped, ...warnings])).toEqual([]);
      expect(trusted.registry.getAllSpecs().map(restored)).toEqual(await publishedBy(local));

      const plain = await follow(openAPISource(url, { namespace: "plain", fetch }));
      expect(plain.reports.flatMap(({ skipped }) => skipped)).toEqual([]);

      for (const [index, { definition, input, isJSON }] of given.entries()) {
        const id = `${definition.namespace}.${definition.name}`;
        const label = JSON.stringify({ ...definition, input });
        const expected = await outcomeOf(local, id, input);
        expect(await outcomeOf(trusted.registry, id, input), label).toEqual(expected);
        if (expected.error !== undefined || (definition.type === "subscription" && !isJSON)) continue;
        // The document has ids that a URL can contain, in the same order.
        const { name, _meta } = plain.registry.list()[index]!;
        const isQuery = (_meta as { openapi: { method: string } }).openapi.method === "GET";
        expect(await outcomeOf(plain.registry, `plain.${name}`, isQuery ? input : { body: input }), label).toEqual(
          expected,
        );
      }
    }),
    {
      numRuns: Number(process.env["ROUND_TRIPS"] ?? 6),
      // Shrinking a list of operations takes minutes, and its report many pages. A failed assertion names the operation.
      endOnFailure: true,
      reporter: ({ failed, seed, errorInstance }) => {
        if (failed) throw new Error(`Failed with FC_SEED=${seed}. ${String(errorInstance)}`, { cause: errorInstance });
      },
    },
  );
});

test("a required list that is empty survives an import without trust", async () => {
  const local = new OperationRegistry({ log: false });
  local.register({
    namespace: "task",
    name: "find",
    type: "query",
    version: "1.0.0",
    description: "",
    accessControl: { requiredScopes: [] },
    inputSchema: Type.Object({ words: Type.Array(Type.String()) }),
    outputSchema: Type.Unknown(),
    handler: (input) => input,
  });
  await using server = serveHTTP(local, { authenticate: "none" });
  const fetch: typeof globalThis.fetch = async (input, init) => server.fetch(new Request(input, init));

  const { registry } = await follow(openAPISource("http://localhost/openapi.json", { namespace: "plain", fetch }));

  expect(await outcomeOf(registry, "plain.task.find", { words: [] })).toEqual({ data: [{ words: [] }] });
});
