import { expect, test } from "vitest";
import { defineOperation, Type } from "../operation/index.ts";
import { OperationRegistry } from "../registry/index.ts";
import { serveHTTP } from "../serve/http/index.ts";

const schemas = { inputSchema: Type.Object({}), outputSchema: Type.Unknown() };

test("events of a call and of its nested calls have the door that the call arrived at", async () => {
  const inner = defineOperation({ namespace: "a", name: "inner", type: "mutation", ...schemas, handler: () => 1 });
  const outer = defineOperation({
    ...{ namespace: "a", name: "outer", type: "mutation", ...schemas },
    handler: (_, { call }) => call("a.inner", {}),
  });
  const registry = new OperationRegistry();
  registry.registerAll([inner, outer]);
  const seen: unknown[] = [];
  registry.on("call", ({ kind, operationId, via }) => kind === "succeeded" && seen.push([operationId, via]));
  await registry.execute("a.outer", {});
  const server = serveHTTP(registry, { authenticate: "none" });
  await server.fetch(new Request("http://localhost/a/outer", { method: "POST" }));
  await server.close();

  expect(seen).toEqual([
    ["a.inner", undefined],
    ["a.outer", undefined],
    ["a.inner", "http"],
    ["a.outer", "http"],
  ]);
});
