/** Schemas, inputs and results: what is accepted, repaired and reported. */
import type { OperationContext } from "@alkdev/operations";
import { type Form, forms, toForm } from "../forms.ts";
import { defineKind, outcomeOf } from "../kind.ts";
import { type Action, anyInput, anyResult, perform } from "../operations.ts";
import { anySchema, anyValue, objectSchema, type Schema } from "../schemas.ts";

const wrappers = ["value", "value", "value", "promise", "local", "http", "mcp", "mcp error"] as const;

export const schema = defineKind({
  name: "schema",
  weight: 14,
  generate: (random) => {
    const own = anySchema(random);
    const isBroken = random.chance(0.1);
    const broken = random.pick<Schema>([
      { type: "objekt" },
      { type: "string", minLength: -1 },
      { type: "string", pattern: "(" },
      { $ref: "#/nowhere" },
      { properties: [] },
      { required: "id" },
      { type: "string", pattern: "(?<=a)b" },
      { type: "number", exclusiveMinimum: true, minimum: 3 },
      { type: "string", nullable: true },
      { anyOf: [] },
      { items: [{ type: "string" }], additionalItems: false },
    ]);
    return {
      schema: isBroken ? broken : own,
      options: random.pick([{}, {}, { dialect: "draft-04" }, { dialect: "openapi-3.0" }] as const),
      values: Array.from({ length: 4 }, () => (random.chance(0.8) ? anyInput(random, own) : anyValue(random))),
    };
  },
  run: async ({ schema, options, values }, { root }) => {
    const converted = await outcomeOf(() => root.FromSchema(schema as never, options as never));
    if (!("returned" in (converted as object))) return { converted };
    const type = (converted as { returned: never }).returned;
    const checked = values.map((value) =>
      outcomeOf(() => ({
        errors: root.collectErrors(type, value),
        text: root.formatValueErrors(root.collectErrors(type, value)),
      })),
    );
    const refused = values.map((value) => outcomeOf(() => root.validateOrThrow(type, value, "the value")));
    return { converted, checked: await Promise.all(checked), refused: await Promise.all(refused) };
  },
});

export const input = defineKind({
  name: "input",
  weight: 18,
  generate: (random) => {
    const inputSchema = random.chance(0.8) ? objectSchema(random) : anySchema(random);
    return {
      inputSchema,
      form: random.pick<Form>(forms),
      fillDefaults: random.pick([undefined, undefined, false, true]),
      inputs: [...Array.from({ length: 4 }, () => anyInput(random, inputSchema)), undefined],
    };
  },
  run: async ({ inputSchema, form, fillDefaults, inputs }, library) => {
    const registry = new library.root.OperationRegistry({ log: false });
    const definition = {
      ...library.root.defineOperation({
        namespace: "data",
        name: "echo",
        type: "query",
        inputSchema: toForm(inputSchema, form, library),
        outputSchema: {} as never,
        handler: (value: unknown) => value as never,
      }),
      ...(fillDefaults !== undefined && { fillDefaults }),
    };
    const registered = await outcomeOf(() => registry.register(definition as never));
    const results = [];
    for (const value of inputs) results.push(await outcomeOf(() => registry.execute("data.echo", value)));
    return { registered, spec: registry.getSpec("data.echo"), results };
  },
});

export const output = defineKind({
  name: "output",
  weight: 22,
  generate: (random) => {
    const outputSchema = anySchema(random);
    return {
      outputSchema,
      form: random.pick<Form>(forms),
      policy: random.pick([undefined, undefined, "cast", "check", "strict"] as const),
      registryPolicy: random.pick([undefined, undefined, undefined, "check", "strict"] as const),
      log: random.chance(0.1),
      results: Array.from({ length: 4 }, () => ({ value: anyResult(random, outputSchema), as: random.pick(wrappers) })),
    };
  },
  run: async ({ outputSchema, form, policy, registryPolicy, log, results }, library) => {
    const registry = new library.root.OperationRegistry({
      log,
      ...(registryPolicy !== undefined && { outputPolicy: registryPolicy }),
    });
    registry.register(
      library.root.defineOperation({
        namespace: "data",
        name: "get",
        type: "query",
        inputSchema: { type: "object", properties: { index: { type: "integer" } } } as never,
        outputSchema: toForm(outputSchema, form, library),
        ...(policy !== undefined && { outputPolicy: policy }),
        handler: ({ index }: { index: number }, context: OperationContext) =>
          perform({ do: "return", ...results[index]! } as Action, "data.get", undefined, context, library) as never,
      } as never) as never,
    );
    const outcomes = [];
    for (const index of results.keys()) outcomes.push(await outcomeOf(() => registry.execute("data.get", { index })));
    return outcomes;
  },
});
