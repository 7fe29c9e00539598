import { Type } from "typebox";
import { Value } from "typebox/value";
import { expect, test } from "vitest";
import { type IOperationDefinition, OperationRegistry, OperationSpecSchema } from "../index.ts";
import type { Field } from "../internal/shape.ts";
import { assertValidSpec, specFields, toPublicSpec } from "../operation/index.ts";
import { createInProcessTransport, InProcessBus } from "../transport/in-process/index.ts";
import { buildCallHandler, PendingRequestMap, peerSource } from "./index.ts";

// A field that is added to the table of fields is covered by every test here: nothing else has to change for it to be
// checked, described, stored, listed and announced.
const fields = Object.entries<Field>(specFields);

/** A valid value for a field. */
function sampleOf(name: string, field: Field): unknown {
  switch (field.kind) {
    case "string":
      return name === "resourceId" ? "/id" : name;
    case "number":
      return 404;
    case "boolean":
      return true;
    case "enum":
      return field.values[0];
    case "array":
      return [sampleOf(name, field.item)];
    case "record":
      return { [name]: sampleOf(name, field.item) };
    case "object":
      return Object.fromEntries(Object.entries(field.shape).map(([key, part]) => [key, sampleOf(key, part)]));
    default:
      return Type.Unknown();
  }
}

const spec = Object.fromEntries(fields.map(([name, field]) => [name, sampleOf(name, field)]));
const definition = { ...spec, handler: () => 1 } as unknown as IOperationDefinition;
const id = `${definition.namespace}.${definition.name}`;

test("a spec with every field is valid", () => {
  expect(() => assertValidSpec(spec)).not.toThrow();
  expect(Value.Check(OperationSpecSchema, spec)).toBe(true);
});

test.each(fields)("%s is checked, and its schema accepts the same values", (name, { kind, isOptional }) => {
  const { [name]: _, ...without } = spec;
  const invalid = { ...spec, [name]: Symbol("invalid") };

  if (isOptional) expect(() => assertValidSpec(without)).not.toThrow();
  else expect(() => assertValidSpec(without)).toThrow(`/${name} `);
  expect(Value.Check(OperationSpecSchema, without)).toBe(isOptional === true);
  if (kind === "schema") return; // it is checked when it is compiled
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
  expect(Object.keys(published)).toEqual(fields.filter(([, field]) => !field.isPrivate).map(([name]) => name));
  expect(JSON.parse(JSON.stringify({ ...announced, _meta: undefined }))).toEqual(JSON.parse(JSON.stringify(published)));
  await Promise.all([server.close(), client.close()]);
});
