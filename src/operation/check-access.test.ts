import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkAccess, checkResource, checkScopes, enforceAccess } from "./check-access.ts";
import type { Identity } from "./identity.ts";
import { toIdentity } from "./identity.ts";
import type { AccessControl } from "./spec.ts";

const caller = (overrides: Partial<Identity> = {}): Identity => ({
  id: "ann",
  scopes: ["read", "write"],
  ...overrides,
});
const open: AccessControl = { requiredScopes: [] };

describe("scopes", () => {
  test.each<[string, AccessControl, boolean]>([
    ["no required scope", { requiredScopes: [] }, true],
    ["one required scope that the caller has", { requiredScopes: ["read"] }, true],
    ["all required scopes", { requiredScopes: ["read", "write"] }, true],
    ["one of two missing", { requiredScopes: ["read", "admin"] }, false],
    ["any of", { requiredScopes: [], requiredScopesAny: ["admin", "write"] }, true],
    ["none of any", { requiredScopes: [], requiredScopesAny: ["admin", "root"] }, false],
    ["an empty any", { requiredScopes: [], requiredScopesAny: [] }, false],
    [
      "an empty any and a required scope that the caller has",
      { requiredScopes: ["read"], requiredScopesAny: [] },
      false,
    ],
    ["all required scopes but none of any", { requiredScopes: ["read"], requiredScopesAny: ["admin"] }, false],
    ["one of any but a required scope missing", { requiredScopes: ["admin"], requiredScopesAny: ["read"] }, false],
    ["both met", { requiredScopes: ["read"], requiredScopesAny: ["admin", "write"] }, true],
    ["an undefined any", { requiredScopes: ["read"], requiredScopesAny: undefined }, true],
  ])("%s", (_, access, allowed) => {
    expect(checkScopes(access, caller()) === true).toBe(allowed);
    expect(checkAccess(access, caller())).toBe(allowed);
  });

  test.each([
    ["admin", ["Admin"]],
    ["admin", ["admin "]],
    ["admin", [" admin"]],
    ["admin", ["adm\u200bin"]],
    ["admin", ["\uff41dmin"]],
    ["admin", ["*"]],
    ["admin", ["admin,read"]],
    ["admin", ["administrator"]],
    ["task:write", ["task:*"]],
    ["caf\u00e9", ["cafe\u0301"]],
    ["*", ["admin"]],
    ["toString", []],
    ["0", ["admin"]],
    ["length", ["admin"]],
  ])("scope %j does not match %j", (required, scopes) => {
    expect(checkAccess({ requiredScopes: [required] }, caller({ scopes }))).toBe(false);
    expect(checkAccess({ requiredScopes: [], requiredScopesAny: [required] }, caller({ scopes }))).toBe(false);
  });

  test.each([
    ["no identity", undefined],
    ["null", null],
    ["an empty object", {}],
    ["a string", "ann"],
    ["no scopes", { id: "ann" }],
    ["no id", { scopes: ["read"] }],
    ["an id of another type", { id: 1, scopes: ["read"] }],
    ["scopes as a string", { id: "ann", scopes: "read" }],
    ["scopes as a set", { id: "ann", scopes: new Set(["read"]) }],
    ["scopes as an object", { id: "ann", scopes: { 0: "read", length: 1, includes: () => true } }],
    ["a scope of another type", { id: "ann", scopes: ["read", 1] }],
    ["a nested list", { id: "ann", scopes: [["read"]] }],
  ])("a rule with a requirement denies %s, and a rule without one allows it", (_, identity) => {
    expect(toIdentity(identity)).toBeUndefined();
    expect(checkAccess({ requiredScopes: ["read"] }, identity as Identity)).toBe(false);
    expect(checkAccess({ requiredScopes: [], requiredScopesAny: ["read"] }, identity as Identity)).toBe(false);
    expect(checkAccess({ ...open, resourceType: "t", resourceAction: "a" }, identity as Identity)).toBe(false);
    expect(checkAccess(open, identity as Identity)).toBe(true);
  });

  test.each([
    undefined,
    null,
    {},
    { requiredScopes: null },
    { requiredScopes: "read" },
    { requiredScopes: [], requiredScopesAny: null },
    { requiredScopes: [], requiredScopesAny: "read" },
    { requiredScopes: [["read"]] },
    { requiredScopes: [null] },
    { requiredScopes: [{}] },
    { requiredScopes: [Object.create(null)] },
    { requiredScopes: [], resourceType: "t", resourceAction: "a", resourceId: Object.create(null) },
  ])("a malformed rule denies every caller: %j", (access) => {
    expect(checkAccess(access as AccessControl, caller())).toBe(false);
  });

  test("the reason names the missing scope and not the scopes of the caller", () => {
    expect(checkScopes({ requiredScopes: ["admin"] }, caller())).toBe('scope "admin" is missing');
    expect(checkScopes({ ...open, requiredScopesAny: ["a", "b"] }, caller())).toBe(
      'one of the scopes "a", "b" is missing',
    );
  });

  test("a caller is allowed with all of requiredScopes and, where given, one of requiredScopesAny", () => {
    const scopes = fc.subarray(["a", "b", "c", "d"]);
    fc.assert(
      fc.property(scopes, scopes, fc.option(scopes, { nil: undefined }), (has, all, any) => {
        const expected =
          all.every((scope) => has.includes(scope)) && (any?.some((scope) => has.includes(scope)) ?? true);

        expect(checkAccess({ requiredScopes: all, requiredScopesAny: any }, caller({ scopes: has }))).toBe(expected);
      }),
    );
  });
});

describe("resources", () => {
  const rule = (overrides: Partial<AccessControl> = {}): AccessControl => ({
    requiredScopes: [],
    resourceType: "task",
    resourceAction: "edit",
    resourceId: "/id",
    ...overrides,
  });
  const owner = (resources: unknown) => caller({ resources: resources as Record<string, string[]> });

  test.each<[string, Record<string, string[]>, AccessControl, unknown, boolean]>([
    ["the same id", { "task:1": ["edit"] }, rule(), { id: "1" }, true],
    ["an integer id", { "task:1": ["edit"] }, rule(), { id: 1 }, true],
    ["another action", { "task:1": ["read"] }, rule(), { id: "1" }, false],
    ["another id", { "task:1": ["edit"] }, rule(), { id: "2" }, false],
    ["another type", { "user:1": ["edit"] }, rule(), { id: "1" }, false],
    ["all ids", { "task:*": ["edit"] }, rule(), { id: "7" }, true],
    ["all ids, another action", { "task:*": ["read"] }, rule(), { id: "7" }, false],
    ["a star as the id", { "task:1": ["edit"] }, rule(), { id: "*" }, false],
    ["a longer id", { "task:1": ["edit"] }, rule(), { id: "11" }, false],
    ["a missing field", { "task:1": ["edit"], "task:undefined": ["edit"] }, rule(), {}, false],
    ["a missing field with a grant on all ids", { "task:*": ["edit"] }, rule(), {}, false],
    ["null", { "task:null": ["edit"] }, rule(), { id: null }, false],
    ["an object", { "task:[object Object]": ["edit"] }, rule(), { id: {} }, false],
    ["a fraction", { "task:1.5": ["edit"] }, rule(), { id: 1.5 }, false],
    ["an empty id", { "task:": ["edit"] }, rule(), { id: "" }, false],
    ["no input", { "task:1": ["edit"] }, rule(), undefined, false],
    ["every element", { "task:1": ["edit"], "task:2": ["edit"] }, rule(), { id: ["1", "2"] }, true],
    ["one forbidden element", { "task:1": ["edit"] }, rule(), { id: ["1", "2"] }, false],
    ["one invalid element", { "task:*": ["edit"] }, rule(), { id: ["1", null] }, false],
    ["an empty list", { "task:*": ["edit"] }, rule(), { id: [] }, false],
    ["a nested list", { "task:1": ["edit"] }, rule(), { id: [["1"]] }, false],
    [
      "a deep pointer",
      { "task:1": ["edit"] },
      rule({ resourceId: "/body/tasks/0/id" }),
      { body: { tasks: [{ id: "1" }] } },
      true,
    ],
    ["an escaped pointer", { "task:1": ["edit"] }, rule({ resourceId: "/a~1b" }), { "a/b": "1" }, true],
    ["the whole input", { "task:1": ["edit"] }, rule({ resourceId: "" }), "1", true],
    ["a string that is not a pointer", { "task:1": ["edit"] }, rule({ resourceId: "id" }), { id: "1" }, false],
    ["a pointer into a prototype", { "task:*": ["edit"] }, rule({ resourceId: "/constructor/name" }), {}, false],
    ["any id of the type", { "task:9": ["edit"] }, rule({ resourceId: undefined }), {}, true],
    ["no id of the type", { "tasks:9": ["edit"] }, rule({ resourceId: undefined }), {}, false],
    ["any id, another action", { "task:9": ["read"] }, rule({ resourceId: undefined }), {}, false],
    ["an id with a colon", { "task:urn:x": ["edit"] }, rule(), { id: "urn:x" }, true],
    ["a type with a colon", { "task:a:1": ["edit"] }, rule({ resourceType: "task:a" }), { id: "1" }, false],
    ["no type", { "task:1": ["edit"] }, rule({ resourceType: undefined }), { id: "1" }, false],
    ["no action", { "task:1": ["edit"] }, rule({ resourceAction: undefined }), { id: "1" }, false],
    ["an id from Object.prototype", {}, rule({ resourceType: "__proto__" }), { id: "x" }, false],
  ])("%s", (_, resources, access, input, allowed) => {
    expect(checkResource(access, owner(resources), input) === true).toBe(allowed);
    expect(checkAccess(access, owner(resources), input)).toBe(allowed);
  });

  test.each([
    ["none", undefined],
    ["null", null],
    ["a string", "task:1"],
    ["actions as a string", { "task:1": "edit" }],
    ["actions as an object", { "task:1": { includes: () => true } }],
    ["inherited grants", Object.create({ "task:1": ["edit"] })],
    ["grants in a prototype written as JSON", JSON.parse('{"__proto__":{"task:1":["edit"]}}')],
    ["a map", new Map([["task:1", ["edit"]]])],
  ])("malformed grants deny: %s", (_, resources) => {
    expect(checkAccess(rule(), owner(resources), { id: "1" })).toBe(false);
    expect(checkAccess(rule({ resourceId: undefined }), owner(resources), { id: "1" })).toBe(false);
  });

  test("a rule without a resource allows every caller", () => {
    expect(checkResource(open, undefined, undefined)).toBe(true);
  });
});

describe("scopes and resources together", () => {
  test("scopes do not replace a grant on a resource", () => {
    const access: AccessControl = { requiredScopes: ["read"], resourceType: "task", resourceAction: "edit" };

    expect(checkAccess(access, caller())).toBe(false);
    expect(checkAccess(access, caller({ resources: { "task:1": ["edit"] } }))).toBe(true);
    expect(checkAccess(access, caller({ scopes: [], resources: { "task:1": ["edit"] } }))).toBe(false);
  });

  test("a rule with customAuth denies without a registry", () => {
    expect(checkAccess({ requiredScopes: [], customAuth: "owner" }, caller())).toBe(false);
  });

  test("enforceAccess returns or throws ACCESS_DENIED", () => {
    expect(() => enforceAccess({ requiredScopes: ["read"] }, caller())).not.toThrow();
    expect(() => enforceAccess({ requiredScopes: ["admin"] }, caller(), {}, "task.remove")).toThrow(
      expect.objectContaining({
        code: "ACCESS_DENIED",
        message: 'Access to "task.remove" denied: scope "admin" is missing.',
        mayHaveRun: false,
      }),
    );
  });

  test("every rule and identity lead to a decision, and a malformed identity never satisfies a requirement", () => {
    fc.assert(
      fc.property(fc.anything(), fc.anything(), (identity, input) => {
        fc.pre(toIdentity(identity) === undefined);

        expect(checkAccess({ requiredScopes: ["read"] }, identity as Identity, input)).toBe(false);
      }),
    );
  });
});
