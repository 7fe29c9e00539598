import { expect, test, vi } from "vitest";
import { OperationRegistry } from "../../registry/index.ts";
import { operation } from "../../registry/testing.ts";
import { connect, serve } from "./testing.ts";

// Real digests never collide.
vi.mock("../sha256.ts", () => ({ sha256: () => "0123456789abcdef".repeat(4) }));

/** A source whose only operation returns the name of the source. */
function source(namespace: string) {
  return {
    name: namespace,
    load: async () => [operation({ namespace, name: "x/y", handler: () => namespace })],
    close: async () => {},
  };
}

test("a foreign operation does not take the name of another one", async () => {
  const registry = new OperationRegistry();
  await registry.follow(source("a_b"));
  await registry.follow(source("a__b"));
  const client = await connect(serve(registry), "2026-07-28");
  const name = "a_b_x_y_0123456789abcdef";
  expect((await client.listTools()).tools.map((tool) => tool.name)).toEqual([name]);
  expect(await client.callTool({ name })).toMatchObject({ content: [{ text: "a_b" }] });

  registry.register(operation({ namespace: "a___b", name: "x/y", handler: () => "own" }));
  expect(await client.callTool({ name })).toMatchObject({ content: [{ text: "own" }] });
});
