import { describe, expect, test } from "vitest";
import { checkAccess } from "./check-access.ts";
import { createOperator, isOperator, toIdentity } from "./identity.ts";
import type { AccessControl } from "./spec.ts";

describe("toIdentity", () => {
  test("returns a deeply frozen copy", () => {
    const given = { id: "ann", scopes: ["read"], resources: { "task:1": ["edit"] }, tenant: "acme" };

    const identity = toIdentity(given);
    given.scopes.push("admin");
    given.resources["task:1"].push("delete");

    expect(identity).toEqual({ id: "ann", scopes: ["read"], resources: { "task:1": ["edit"] } });
    const parts = [identity, identity?.scopes, identity?.resources, identity?.resources?.["task:1"]];
    expect(parts.every((part) => Object.isFrozen(part))).toBe(true);
  });

  test("reads an object again when it has changed", () => {
    const given = { id: "ann", scopes: ["read", "write"] };
    const first = toIdentity(given);

    expect(toIdentity(given)).toBe(first);
    given.scopes.pop();
    expect(toIdentity(given)).toEqual({ id: "ann", scopes: ["read"] });
    given.id = "bob";
    expect(toIdentity(given)).toEqual({ id: "bob", scopes: ["read"] });
    Object.assign(given, { resources: { "task:1": ["edit"] } });
    expect(toIdentity(given)).toEqual({ id: "bob", scopes: ["read"], resources: { "task:1": ["edit"] } });
    Object.assign(given, { resources: { "task:1": [] } });
    expect(toIdentity(given)).toEqual({ id: "bob", scopes: ["read"], resources: { "task:1": [] } });
  });

  test("returns a snapshot unchanged", () => {
    const identity = toIdentity({ id: "ann", scopes: ["read"], resources: {} });

    expect(toIdentity(identity)).toBe(identity);
  });

  test.each<[string, unknown]>([
    ["an inherited id", Object.create({ id: "ann" }, { scopes: { value: ["read"] } })],
    ["inherited scopes", Object.create({ scopes: ["read"] }, { id: { value: "ann" } })],
    ["a gap among the scopes", { id: "ann", scopes: new Array(1) }],
    [
      "an instance with accessors",
      new (class Account {
        get id() {
          return "ann";
        }
        get scopes() {
          return ["read"];
        }
      })(),
    ],
  ])("rejects %s", (_, value) => {
    expect(toIdentity(value)).toBeUndefined();
  });

  test("ignores grants from a prototype or a malformed list", () => {
    const resources = Object.create({ "task:1": ["edit"] });
    Object.assign(resources, { "task:3": "edit", "task:4": ["edit", 1], "task:5": ["edit"] });

    expect(toIdentity({ id: "ann", scopes: [], resources })).toEqual({
      id: "ann",
      scopes: [],
      resources: { "task:5": ["edit"] },
    });
  });

  test("keeps a grant with the name __proto__", () => {
    const resources = JSON.parse('{ "__proto__": ["edit"] }');

    const identity = toIdentity({ id: "ann", scopes: [], resources });

    expect(Object.entries(identity?.resources ?? {})).toEqual([["__proto__", ["edit"]]]);
    expect(Object.getPrototypeOf(identity?.resources)).toBe(Object.prototype);
  });
});

describe("an operator", () => {
  const operator = createOperator();

  test("is known by reference", () => {
    expect(isOperator(operator)).toBe(true);
    expect(toIdentity(operator)).toBe(operator);
    expect(Object.isFrozen(operator) && Object.isFrozen(operator.scopes)).toBe(true);
  });

  test.each<[string, unknown]>([
    ["a spread copy", { ...operator }],
    ["JSON", JSON.parse(JSON.stringify(operator))],
    ["a structured clone", structuredClone(operator)],
    ["an object that inherits from it", Object.create(operator)],
    ["a proxy", new Proxy(operator, {})],
    ["an identity with its id", { id: "operator", scopes: [] }],
    ["its id", "operator"],
    ["nothing", undefined],
  ])("is not %s", (_, value) => {
    expect(isOperator(value)).toBe(false);
    expect(isOperator(toIdentity(value))).toBe(false);
  });

  test("has every right, unlike its copies", () => {
    const rules: AccessControl[] = [
      { requiredScopes: ["admin"], requiredScopesAny: ["a", "b"] },
      { requiredScopes: [], resourceType: "task", resourceAction: "edit", resourceId: "/id" },
    ];
    for (const rule of rules) {
      expect(checkAccess(rule, operator, {})).toBe(true);
      expect(checkAccess(rule, { ...operator }, { id: "1" })).toBe(false);
    }
    expect(checkAccess({ requiredScopes: [], customAuth: "check" }, operator)).toBe(false);
  });
});
