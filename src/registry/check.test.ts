import { expect, test } from "vitest";
import { createRegistry, defineOperation, Type } from "../index.ts";
import { Call, coreOf } from "./inside.ts";

const input = Type.Object({ id: Type.String(), size: Type.Integer({ default: 1 }) });

function createChecked(runs: string[]) {
  const note = (name: string) => () => {
    runs.push(name);
    return true;
  };
  const define = (name: string, more: object) =>
    defineOperation({
      namespace: "box",
      name,
      type: "query",
      inputSchema: input,
      outputSchema: Type.Unknown(),
      handler: note("handler"),
      ...more,
    });
  const registry = createRegistry({
    customAuth: { decide: note("customAuth") },
    operations: [
      define("open", {}),
      define("scoped", { accessControl: { requiredScopes: ["box"] } }),
      define("owned", {
        accessControl: { requiredScopes: [], resourceType: "box", resourceAction: "read", resourceId: "/id" },
      }),
      define("decided", { accessControl: { requiredScopes: [], customAuth: "decide" } }),
    ],
  });
  registry.use((_, next) => {
    runs.push("middleware");
    return next();
  });
  return registry;
}

const check = (registry: ReturnType<typeof createChecked>, id: string, value: unknown, scopes: string[] = []) =>
  Call.check(coreOf(registry as never), id, value, {
    id: "ada",
    scopes,
    resources: { "box:1": ["read"] },
  }).map(({ step, outcome, error }) => [step, outcome, ...(error === undefined ? [] : [error.code])]);

test("a check decides as the call does, and runs nothing of the program", () => {
  const runs: string[] = [];
  const registry = createChecked(runs);
  expect(check(registry, "box.open", { id: "1" })).toEqual([
    ["find", "ok"],
    ["scopes", "ok"],
    ["validate", "ok"],
    ["resource", "ok"],
  ]);
  expect(check(registry, "box.opn", { id: "1" })[0]).toEqual(["find", "failed", "OPERATION_NOT_FOUND"]);
  expect(check(registry, "box.scoped", { id: "1" })).toEqual([
    ["find", "ok"],
    ["scopes", "failed", "ACCESS_DENIED"],
    ["validate", "skipped"],
    ["resource", "skipped"],
  ]);
  expect(check(registry, "box.scoped", { id: "1" }, ["box"])[1]).toEqual(["scopes", "ok"]);
  expect(check(registry, "box.open", { size: 1 })[2]).toEqual(["validate", "failed", "VALIDATION_ERROR"]);
  expect(check(registry, "box.owned", { id: "1" })[3]).toEqual(["resource", "ok"]);
  expect(check(registry, "box.owned", { id: "2" })[3]).toEqual(["resource", "failed", "ACCESS_DENIED"]);
  expect(check(registry, "box.decided", { id: "1" })[3]).toEqual(["resource", "unknown"]);
  expect(runs).toEqual([]);
});
