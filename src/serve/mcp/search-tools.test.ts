import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import type { Identity } from "../../operation/inside.ts";
import { operation, registryOf } from "../../registry/testing.ts";
import { mcpMetaKey } from "../../transport/mcp-form.ts";
import { connect, generations, serve } from "./testing.ts";

const rule = (scope: string) => ({ accessControl: { requiredScopes: [scope] } });
const create = operation({
  namespace: "github",
  name: "issues/create",
  type: "mutation",
  title: "Create an issue",
  description: `Creates an issue. ${"More. ".repeat(100)}`,
  inputSchema: Type.Object({ title: Type.String() }),
  outputSchema: Type.Object({ title: Type.String() }),
});
const many = Array.from({ length: 60 }, (_, index) => operation({ name: `n${index}` }));
const registry = registryOf(
  create,
  ...many,
  operation({ name: "hidden", description: "Issues too.", ...rule("admin") }),
);

const users: Record<string, Identity> = {
  ada: { id: "ada", scopes: ["admin"] },
  bob: { id: "bob", scopes: [] },
};
const authenticate = ({ token }: { token?: string | undefined }) => {
  if (token === undefined) return undefined;
  if (users[token] === undefined) throw new Error("unknown token");
  return users[token];
};

describe.each(generations)("a client of %s that sees more than 60 operations", (generation) => {
  const open = (token?: string) =>
    connect(serve(registry, { authenticate, allowAnonymous: true }), generation, { token });

  test("receives three tools, and finds, describes and calls operations with them", async () => {
    const client = await open("bob");
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["search_operations", "describe_operation", "call_operation"]);

    const found = await client.callTool({ name: "search_operations", arguments: { query: "issue", limit: 1 } });
    expect(found.structuredContent).toEqual({
      operations: [
        {
          operation: "github.issues/create",
          type: "mutation",
          title: "Create an issue",
          description: `${create.description.slice(0, 299)}…`,
        },
      ],
    });
    const described = await client.callTool({
      name: "describe_operation",
      arguments: { operation: "github.issues/create" },
    });
    expect(described.structuredContent).toMatchObject({
      operation: "github.issues/create",
      tool: expect.stringMatching(/^github_issues_create_[0-9a-f]{16}$/),
      type: "mutation",
      description: create.description,
      inputSchema: { type: "object", required: ["title"] },
      outputSchema: { type: "object", required: ["title"] },
    });
    for (const input of [{ title: "a" }, '{"title":"a"}']) {
      const called = await client.callTool({
        name: "call_operation",
        arguments: { operation: "github.issues/create", input },
      });
      expect(called.structuredContent).toEqual({ title: "a" });
    }
    const { tool } = described.structuredContent as { tool: string };
    expect(await client.callTool({ name: tool, arguments: { title: "b" } })).toMatchObject({
      structuredContent: { title: "b" },
    });
  });

  test("finds and describes only operations that it may see", async () => {
    const [ada, bob] = [await open("ada"), await open("bob")];
    const search = async (client: typeof ada) => {
      const { structuredContent } = await client.callTool({
        name: "search_operations",
        arguments: { query: "hidden" },
      });
      return (structuredContent as { operations: Array<{ operation: string }> }).operations.map(
        (each) => each.operation,
      );
    };
    expect(await search(ada)).toEqual(["test.hidden"]);
    expect(await search(bob)).toEqual([]);
    const errorOf = async (name: string, operation: string) => {
      const { _meta = {} } = await bob.callTool({ name, arguments: { operation } });
      return (_meta[mcpMetaKey] as { error: { code: string; message: string } }).error;
    };
    expect(await errorOf("describe_operation", "test.hidden")).toMatchObject({ code: "OPERATION_NOT_FOUND" });
    expect(await errorOf("call_operation", "test.hidden")).toMatchObject({ code: "ACCESS_DENIED" });
    expect(await errorOf("call_operation", "test.hiddn")).toMatchObject({
      code: "OPERATION_NOT_FOUND",
      message: 'No operation "test.hiddn".',
    });
    expect(await errorOf("call_operation", "github.issues/crate")).toMatchObject({
      message: 'No operation "github.issues/crate". Did you mean "github.issues/create"?',
    });
  });

  test("receives invalid arguments as a result", async () => {
    const client = await open("bob");
    for (const [name, given] of [
      ["search_operations", { query: 1 }],
      ["search_operations", { query: "a", limit: 51 }],
      ["describe_operation", {}],
      ["call_operation", { operation: "test.n1", extra: true }],
      ["call_operation", { operation: "github.issues/create" }],
    ] as const) {
      const { _meta } = await client.callTool({ name, arguments: given });
      expect(_meta?.[mcpMetaKey]).toMatchObject({ error: { code: "VALIDATION_ERROR" } });
    }
  });
});

test.each([
  ["auto", 60, "test_n0"],
  ["auto", 61, "search_operations"],
  ["tools", 61, "test_n0"],
  ["search", 1, "search_operations"],
] as const)("in mode %s, %d operations begin with the tool %s", async (mode, count, first) => {
  const some = registryOf(...Array.from({ length: count }, (_, index) => operation({ name: `n${index}` })));
  const client = await connect(serve(some, { mode }), "2026-07-28");
  expect((await client.listTools()).tools[0]!.name).toBe(first);
});

test("an unknown mode is refused", () => {
  expect(() => serve(registry, { mode: "list" as never })).toThrow(
    'The option mode is invalid. Use "auto", "tools" or "search".',
  );
});
