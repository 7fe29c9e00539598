import { expect, test } from "vitest";
import { OperationRegistry } from "./index.ts";
import { operation } from "./testing.ts";

type Path = Record<string, (input?: unknown) => Promise<unknown>>;

const registry = new OperationRegistry();
registry.registerAll([
  operation({ namespace: "github", name: "hidden/remove", accessControl: { requiredScopes: ["admin"] } }),
]);
const message = (result: Promise<unknown>) => result.then(String, (error: Error) => error.message);

test("the hint does not name operations that the caller may not call", async () => {
  const { github } = registry.client() as unknown as Record<string, Path>;

  expect(await message(github!["hidden/remov"]!())).toBe('No operation "github.hidden/remov".');
});

test("an unknown operation is an ordinary function", async () => {
  const { github } = registry.client() as unknown as Record<string, Record<string, Path>>;
  const unknown = github!["isues"] as unknown as (input?: unknown) => Promise<unknown>;

  expect(unknown.name).toBe("call");
  expect(typeof unknown.bind).toBe("function");
  expect((unknown as { then?: unknown }).then).toBeUndefined();
  expect(await message(unknown.call(undefined, {}))).toBe('No operation "github.isues".');
});
