import { inspect } from "node:util";
import { describe, expect, test, vi } from "vitest";
import type { IOperationDefinition } from "../operation/index.ts";
import { buildEnv, OperationRegistry } from "./index.ts";
import { operation } from "./testing.ts";

const names = ["echo", "toString", "toLocaleString", "valueOf", "toJSON", "then", "constructor", "inspect"];
const handler = vi.fn<() => string>(() => "called");

function createRegistry(): OperationRegistry {
  handler.mockClear();
  const registry = new OperationRegistry();
  for (const name of names) registry.register(operation({ name, handler }));
  return registry;
}

const makers: Array<[string, (registry: OperationRegistry) => Record<string, unknown>]> = [
  ["client", (registry) => registry.client()],
  ["env", (registry) => buildEnv({ registry, context: {} })],
];

describe.each(makers)("a %s as a string", (label, make) => {
  test("has a string form and never calls an operation", async () => {
    const made = make(createRegistry());
    const namespace = made["test"] as Record<string, unknown>;

    expect(`${made} ${namespace}`).toBe(`[${label}] [${label}.test]`);
    expect([made, namespace].join()).toBe(`[${label}],[${label}.test]`);
    expect(Number(namespace)).toBeNaN();
    expect((namespace as object).toString()).toBe(`[${label}.test]`);
    expect(Object.prototype.toString.call(namespace)).toBe(`[object ${label}.test]`);
    expect(inspect([made, namespace])).toBe(`[ [${label}], [${label}.test] ]`);
    expect(JSON.stringify({ made, namespace })).toBe('{"made":{"test":{}},"namespace":{}}');
    expect(await Promise.resolve(namespace)).toBe(namespace);
    expect(Object.keys(namespace)).toEqual(["echo", "constructor", "inspect"]);
    expect(handler).not.toHaveBeenCalled();
  });
});

test("names that tools read from every object are not unknown operations", () => {
  const namespace = createRegistry().client()["test"];

  expect(namespace).toEqual(namespace);
  for (const name of ["asymmetricMatch", "$$typeof", "hasOwnProperty", "nodeType"]) {
    expect(Reflect.get(namespace!, name)).toBeUndefined();
  }
});

test("an unknown operation of a client is an ordinary function", async () => {
  const unknown = createRegistry().client()["test"]!["ecko"]!;

  expect(unknown.name).toBe("call");
  expect(typeof unknown.bind).toBe("function");
  expect(Reflect.get(unknown, "then")).toBeUndefined();
  await expect(unknown.call(undefined, {})).rejects.toThrow('No operation "test.ecko". Did you mean "test.echo"?');
});

test("a definition that is registered as a spec has no handler until one is registered", async () => {
  const registry = new OperationRegistry();
  const definition: IOperationDefinition = operation({ handler: () => "first" });

  registry.registerSpec(definition);
  expect(registry.getHandler("test.echo")).toBeUndefined();
  await expect(registry.execute("test.echo", {})).rejects.toMatchObject({ code: "OPERATION_NOT_FOUND" });
  registry.registerHandler("test.echo", () => "second");

  expect((await registry.execute("test.echo", {})).data).toBe("second");
});
