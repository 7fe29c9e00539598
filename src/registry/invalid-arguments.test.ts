import { expect, test } from "vitest";
import { buildEnv, createRegistry, OperationRegistry } from "./index.ts";
import { operation } from "./testing.ts";

/** Programs in JavaScript, and values of type `any`, pass what the compiler would refuse. */
const untyped = (value: unknown) => value as never;
const registry = createRegistry({ operations: [operation()] });
const empty = { name: "empty", load: async () => [], close: async () => {} };

test.each<[name: string, fail: () => unknown, message: string]>([
  ["a registry without options", () => createRegistry(untyped(null)), "createRegistry() takes an object, not null."],
  ["a registry of a string", () => createRegistry(untyped("task")), 'createRegistry() takes an object, not "task".'],
  ["operations that are null", () => createRegistry({ operations: untyped(null) }), "with a list of operations"],
  ["operations that are a string", () => createRegistry({ operations: untyped("ab") }), "with a list of operations"],
  [
    "options that are null",
    () => new OperationRegistry(untyped(null)),
    "OperationRegistry() takes an object, not null.",
  ],
  [
    "a policy",
    () => createRegistry({ outputPolicy: untyped("loose") }),
    '/outputPolicy must be "cast", "check" or "strict"',
  ],
  ["a log", () => createRegistry({ log: untyped("no") }), "/log must be true or false"],
  ["customAuth", () => createRegistry({ customAuth: untyped("own") }), "/customAuth must be an object of functions"],
  ["a check", () => createRegistry({ customAuth: untyped({ own: true }) }), "/customAuth/own must be a function"],
  [
    "a limit",
    () => createRegistry({ limits: untyped({ callDept: 1 }) }),
    "/limits/callDept is not a limit; use callDepth, ",
  ],
  [
    "a list",
    () => registry.registerAll(untyped(undefined)),
    "registerAll() takes a list of operations, not undefined.",
  ],
  ["an id", () => registry.registerHandler(untyped(undefined), () => 1), "The id of an operation must be a string"],
  ["a query", () => registry.search(untyped(undefined)), "search() takes a string, not undefined."],
  ["search options", () => registry.search("a", untyped(null)), "search() takes an object, not null."],
  ["a search limit", () => registry.search("a", { limit: -1 }), "/limit must be an integer of at least 0, or Infinity"],
  ["a listener", () => registry.on("call", untyped(undefined)), "on() takes a function, such as (event) => "],
  ["an env", () => buildEnv(untyped(undefined)), "buildEnv() takes an object, not undefined."],
  ["an awaited id", () => registry.waitFor(untyped(3)), "The id of an operation must be a string, not 3."],
  ["options of a wait", () => registry.waitFor("a.b", untyped(null)), "waitFor() takes an object, not null."],
  ["options of follow", () => registry.follow(empty, untyped(null)), "follow() takes an object, not null."],
  ["client options", () => registry.client(untyped("ada")), 'client() takes an object, not "ada".'],
])("an invalid argument is refused with a message: %s", async (_name, fail, message) => {
  await expect((async () => fail())()).rejects.toThrow(message);
});
