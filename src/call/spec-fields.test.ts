import { Type } from "typebox";
import { Value } from "typebox/value";
import { expect, test } from "vitest";
import { type IOperationDefinition, OperationRegistry, OperationSpecSchema } from "../index.ts";
import { assertValidSpec, toPublicSpec } from "../operation/inside.ts";
import { createInProcessTransport, InProcessBus } from "../transport/in-process/index.ts";
import { buildCallHandler, PendingRequestMap, peerSource } from "./index.ts";

/** The keywords of the schemas of a spec's fields. */
interface FieldSchema {
  type?: string | string[];
  anyOf?: Array<{ const: string }>;
  items?: FieldSchema;
  properties?: Record<string, FieldSchema>;
}

// A field that is added to the schema of a spec is covered by every test here. It must also be in the type and have a check.
const fields = Object.entries(OperationSpecSchema.properties as Record<string, FieldSchema>).map(([name, schema]) => ({
  name,
  schema,
  isOptional: !OperationSpecSchema.required.some((required) => required === name),
}));

/** A valid value for a field. */
function sampleOf(name: string, { type, anyOf, items, properties }: FieldSchema): unknown {
  if (anyOf !== undefined) return anyOf[0]!.const;
  switch (type) {
    case "string":
      return name === "resourceId" ? "/id" : name;
    case "integer":
      return 404;
    case "boolean":
      return true;
    case "array":
      return [sampleOf(name, items!)];
    case "object":
      return Object.fromEntries(Object.entries(properties ?? {}).map(([key, part]) => [key, sampleOf(key, part)]));
    default:
      return Type.Unknown();
  }
}

const spec = Object.fromEntries(fields.map(({ name, schema }) => [name, sampleOf(name, schema)]));
const definition = { ...spec, handler: () => 1 } as unknown as IOperationDefinition;
const id = `${definition.namespace}.${definition.name}`;

test("a spec with every field is valid", () => {
  expect(() => assertValidSpec(spec)).not.toThrow();
  expect(Value.Check(OperationSpecSchema, spec)).toBe(true);
});

test.each(fields)("$name is checked, and its schema accepts the same values", ({ name, schema, isOptional }) => {
  const { [name]: _, ...without } = spec;
  const invalid = { ...spec, [name]: Symbol("invalid") };

  if (isOptional) expect(() => assertValidSpec(without)).not.toThrow();
  else expect(() => assertValidSpec(without)).toThrow(`/${name} `);
  expect(Value.Check(OperationSpecSchema, without)).toBe(isOptional);
  if (Array.isArray(schema.type)) return; // a schema is checked when it is compiled
  expect(() => assertValidSpec(invalid)).toThrow(`/${name} `);
  expect(Value.Check(OperationSpecSchema, invalid)).toBe(false);
});

test("a registry keeps every field in a copy of its own", () => {
  const registry = new OperationRegistry();
  registry.register(definition);

  const kept = registry.get(id)!;

  expect(JSON.parse(JSON.stringify(kept))).toEqual(JSON.parse(JSON.stringify(spec)));
  expect(() => kept.accessControl.requiredScopes.push("more")).toThrow(TypeError);
});

test("peers receive every field that is not private", async () => {
  const bus = new InProcessBus();
  const server = new PendingRequestMap(createInProcessTransport(bus));
  const client = new PendingRequestMap(createInProcessTransport(bus));
  const served = new OperationRegistry();
  served.register(definition);
  const stop = server.handle(buildCallHandler({ registry: served, callMap: server }));
  await stop.ready;

  const registry = new OperationRegistry();
  await registry.follow(peerSource(client));
  const { handler: _, fillDefaults: __, ...announced } = registry.get(id)!;

  const published = toPublicSpec(spec as unknown as IOperationDefinition);
  expect(Object.keys(published)).toEqual(fields.map(({ name }) => name).filter((name) => name !== "_meta"));
  expect(JSON.parse(JSON.stringify({ ...announced, _meta: undefined }))).toEqual(JSON.parse(JSON.stringify(published)));
  await Promise.all([server.close(), client.close()]);
});
