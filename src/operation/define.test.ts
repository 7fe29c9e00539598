import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import { defineNamespace, defineOperation } from "./define.ts";

const handler = () => "pong";
const ping = {
  namespace: "sys",
  name: "ping",
  type: "query",
  inputSchema: Type.Object({}),
  outputSchema: Type.String(),
  handler,
} as const;

describe("defineOperation", () => {
  test("adds defaults for omitted fields", () => {
    expect(defineOperation(ping)).toEqual({
      ...ping,
      version: "1.0.0",
      description: "",
      accessControl: { requiredScopes: [] },
    });
  });

  test("keeps the given fields, and does not change the argument", () => {
    const given = Object.freeze({
      ...ping,
      version: "2.1.0",
      title: "Ping",
      description: "Responds",
      tags: ["health"],
      accessControl: { requiredScopes: ["sys"] },
      idempotent: true,
    });

    expect(defineOperation(given)).toEqual(given);
  });

  test("treats undefined as omitted", () => {
    const loose: { version?: string; description?: string } = { version: undefined as never };

    expect(defineOperation({ ...ping, ...loose })).toMatchObject({ version: "1.0.0", description: "" });
  });
});

describe("defineNamespace", () => {
  test("adds namespace and defaults to every definition", () => {
    const define = defineNamespace("task", {
      accessControl: { requiredScopes: ["task"] },
      tags: ["work"],
      version: "3.0.0",
    });
    const { namespace: _, ...list } = { ...ping, name: "list" };

    expect(define(list)).toEqual({
      ...list,
      namespace: "task",
      version: "3.0.0",
      description: "",
      tags: ["work"],
      accessControl: { requiredScopes: ["task"] },
    });
  });

  test("lets a definition replace a default, but not with undefined", () => {
    const define = defineNamespace("task", { accessControl: { requiredScopes: ["task"] }, version: "3.0.0" });
    const { namespace: _, ...list } = ping;

    expect(define({ ...list, version: "4.0.0", accessControl: undefined as never })).toMatchObject({
      version: "4.0.0",
      accessControl: { requiredScopes: ["task"] },
    });
  });
});

test.each([undefined, null, "task", []])("%j is not a definition", (definition) => {
  const message =
    /^defineOperation\(\) takes an object, not .+\. Example: defineOperation\(\{ namespace: "task", .+ handler \}\)\.$/;

  expect(() => defineOperation(definition as never)).toThrow(message);
  expect(() => defineNamespace("task")(definition as never)).toThrow(message);
});
