import fc from "fast-check";
import { type TSchema, Type } from "typebox";
import { expect, test } from "vitest";
import { type CallError, markToolHandler, mcpEnvelope } from "../operation/inside.ts";
import { OperationRegistry } from "./index.ts";
import { operation } from "./testing.ts";

/** TypeBox types of every shape that operations commonly have. */
const schemas = fc.letrec<{ schema: TSchema }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom<TSchema>(
      Type.String(),
      Type.String({ minLength: 2, pattern: "^[a-z]+$" }),
      Type.Number({ default: 1 }),
      Type.Integer({ minimum: 0 }),
      Type.Boolean(),
      Type.Null(),
      Type.Literal("a"),
      Type.Enum(["a", "b"]),
      Type.Unknown(),
    ),
    fc.array(tie("schema"), { minLength: 1, maxLength: 3 }).map((members) => Type.Union(members)),
    tie("schema").map((items) => Type.Array(items)),
    tie("schema").map((values) => Type.Record(Type.String(), values)),
    fc
      .dictionary(fc.constantFrom("a", "b", "c", "constructor"), fc.tuple(tie("schema"), fc.boolean()), { maxKeys: 3 })
      .map((properties) => {
        const entries = Object.entries(properties);
        return Type.Object(
          Object.fromEntries(
            entries.map(([key, [schema, optional]]) => [key, optional ? Type.Optional(schema) : schema]),
          ),
        );
      }),
  ),
})).schema;

const keys = fc.constantFrom("a", "b", "c", "constructor", "extra");
const values = fc.anything({
  key: keys,
  maxDepth: 3,
  maxKeys: 4,
  values: [fc.constantFrom<unknown>("a", "ab", "1", "true", "", 0, 1, 1.5, true, null)],
});

async function outcome(registry: OperationRegistry, input: unknown): Promise<unknown> {
  return registry.execute("test.echo", input).then(
    ({ data, meta }) => ({ data, drift: meta.drift, driftTotal: meta.driftTotal }),
    (error: CallError) => error.toJSON(),
  );
}

test("a spec parsed from its JSON behaves the same, whatever its schemas and the data", async () => {
  await fc.assert(
    fc.asyncProperty(
      schemas,
      schemas,
      fc.array(values, { minLength: 1, maxLength: 5 }),
      async (input, output, given) => {
        const { handler, ...spec } = operation({ inputSchema: input, outputSchema: output });
        const original = new OperationRegistry();
        original.register({ ...spec, handler });
        const parsed = new OperationRegistry();
        parsed.registerSpec(JSON.parse(JSON.stringify(original.getSpec("test.echo"))));
        parsed.registerHandler("test.echo", handler);

        for (const value of given) expect(await outcome(parsed, value)).toEqual(await outcome(original, value));
      },
    ),
    { numRuns: 300 },
  );
});

test("results of MCP tools with isError are never changed", async () => {
  await fc.assert(
    fc.asyncProperty(schemas, values, async (outputSchema, data) => {
      const made = mcpEnvelope(data, { isError: true, content: [], structuredContent: data });
      const registry = new OperationRegistry({ outputPolicy: "strict" });
      registry.register(operation({ outputSchema, handler: markToolHandler(async () => made) }));

      expect(await registry.execute("test.echo", {})).toBe(made);
    }),
    { numRuns: 100 },
  );
});
