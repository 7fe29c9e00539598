import { expect, test } from "vitest";
import { buildEnv, OperationRegistry } from "./functions.ts";
import { operation } from "./testing.ts";

type Path = Record<string, (input?: unknown) => Promise<unknown>>;

const registry = new OperationRegistry();
registry.registerAll([
  operation({ namespace: "github", name: "issues/create" }),
  operation({ namespace: "github", name: "actions/create-or-update-secret" }),
  operation({ namespace: "github", name: "v3.users.list" }),
  operation({ namespace: "github", name: "hidden/remove", accessControl: { requiredScopes: ["admin"] } }),
  operation({ namespace: "my-api", name: "items/list" }),
]);
const message = (result: Promise<unknown>) => result.then(String, (error: Error) => error.message);

const meansCreate =
  'No operation "github.issues.create". Did you mean "github.issues/create"? Its name is not an identifier, so a client calls it as client.github["issues/create"](input).';

test("a client that is called by a property path fails with the nearest name", async () => {
  const client = registry.client();
  const { github, "my-api": api } = client as Record<string, Record<string, unknown>>;

  expect(await message((github!["issues"] as Path)["create"]!({}))).toBe(meansCreate);
  expect(await message((github!["actions"] as Path)["createOrUpdateSecret"]!({}))).toBe(
    'No operation "github.actions.createOrUpdateSecret". Did you mean "github.actions/create-or-update-secret"? Its name is not an identifier, so a client calls it as client.github["actions/create-or-update-secret"](input).',
  );
  expect(await message((api!["items"] as Path)["list"]!())).toBe(
    'No operation "my-api.items.list". Did you mean "my-api.items/list"? Its name is not an identifier, so a client calls it as client["my-api"]["items/list"](input).',
  );
});

test("an env that is called by a property path fails with the nearest name", async () => {
  const env = buildEnv({ registry, context: {} }) as unknown as Record<string, Record<string, Path>>;

  expect(await message(env["github"]!["issues"]!["create"]!({}))).toBe(meansCreate);
  expect(env["github"]!["unknown"]).toBeUndefined();
  expect(Object.keys(env["github"]!)).toEqual([
    "issues/create",
    "actions/create-or-update-secret",
    "v3.users.list",
    "hidden/remove",
  ]);
});

test("names with dots can be called by a property path", async () => {
  const { github } = registry.client() as unknown as Record<string, Record<string, Record<string, Path>>>;

  expect(await github!["v3"]!["users"]!["list"]!({ page: 1 })).toEqual({ page: 1 });
});

test("the hint does not name operations that the caller may not call", async () => {
  const { github } = registry.client() as unknown as Record<string, Record<string, Path>>;

  expect(await message(github!["hidden"]!["remove"]!())).toBe('No operation "github.hidden.remove".');
});

test("an unknown operation is an ordinary function", async () => {
  const { github } = registry.client() as unknown as Record<string, Record<string, Path>>;
  const unknown = github!["isues"] as unknown as (input?: unknown) => Promise<unknown>;

  expect(unknown.name).toBe("call");
  expect(typeof unknown.bind).toBe("function");
  expect((unknown as { then?: unknown }).then).toBeUndefined();
  expect(await message(unknown.call(undefined, {}))).toBe('No operation "github.isues".');
});
