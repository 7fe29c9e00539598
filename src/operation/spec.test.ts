import fc from "fast-check";
import { Type } from "typebox";
import { Value } from "typebox/value";
import { describe, expect, test } from "vitest";
import { assertValidSpec, toAccessControl } from "./check-spec.ts";
import { isCallError } from "./error.ts";
import { copySpec, type OperationSpec, OperationSpecSchema, toPublicSpec } from "./spec.ts";

const spec = (overrides: Record<string, unknown> = {}): Record<string, unknown> => ({
  namespace: "task",
  name: "create",
  version: "1.0.0",
  type: "mutation",
  description: "Creates a task",
  inputSchema: Type.Object({ title: Type.String() }),
  outputSchema: Type.Unknown(),
  accessControl: { requiredScopes: [] },
  ...overrides,
});

const full = spec({
  title: "Create task",
  tags: ["tasks"],
  errorSchemas: [{ code: "TASK_FULL", description: "No room", schema: Type.Object({}), httpStatus: 409 }],
  accessControl: {
    requiredScopes: ["write"],
    requiredScopesAny: ["a", "b"],
    resourceType: "project",
    resourceAction: "edit",
    resourceId: "/project~1id",
    customAuth: "owner",
  },
  idempotent: false,
  outputPolicy: "strict",
  _meta: { any: ["thing"] },
});

/** Returns every problem as `path message`. */
function problemsOf(value: unknown): string[] {
  try {
    assertValidSpec(value);
    return [];
  } catch (error) {
    if (!isCallError(error) || error.code !== "VALIDATION_ERROR") throw error;
    return (error.details as { errors: Array<{ path: string; message: string }> }).errors.map(
      ({ path, message }) => `${path} ${message}`,
    );
  }
}

/** The full spec with getters that count how often they are read. */
function lazySpec(...names: Array<keyof OperationSpec>) {
  const reads: string[] = [];
  const lazy = { ...full, extra: 1 } as unknown as OperationSpec;
  for (const name of names) {
    const get = () => {
      reads.push(name);
      return full[name];
    };
    Object.defineProperty(lazy, name, { get, enumerable: true });
  }
  return { lazy, reads };
}

test.each([
  ["a small spec", spec()],
  ["a spec with everything", full],
  ["a spec parsed from JSON", JSON.parse(JSON.stringify(full))],
  [
    "a spec with undefined for optional fields",
    spec({ title: undefined, tags: undefined, errorSchemas: undefined, _meta: undefined }),
  ],
  ["unusual but allowed ids", spec({ namespace: "größe 漢字/😀", name: "a.b/{c}*>" })],
  ["names of Object.prototype", spec({ namespace: "__proto__", name: "constructor" })],
  ["the longest ids", spec({ namespace: "😀".repeat(64), name: "😀".repeat(256) })],
  ["boolean schemas", spec({ inputSchema: true, outputSchema: false })],
])("%s is valid", (_, value) => {
  expect(problemsOf(value)).toEqual([]);
  expect(Value.Check(OperationSpecSchema, value)).toBe(true);
});

test.each<[string, Record<string, unknown>]>([
  ["/namespace", { namespace: "" }],
  ["/namespace", { namespace: "a.b" }],
  ["/namespace", { namespace: "a\nb" }],
  ["/namespace", { namespace: "a\u0085" }],
  ["/namespace", { namespace: "a".repeat(65) }],
  ["/namespace", { namespace: undefined }],
  ["/namespace", { namespace: ["task"] }],
  ["/name", { name: "" }],
  ["/name", { name: "a\u0000" }],
  ["/name", { name: "a\u007f" }],
  ["/name", { name: "\ud800" }],
  ["/name", { name: "a".repeat(257) }],
  ["/version", { version: 1 }],
  ["/type", { type: "QUERY" }],
  ["/type", { type: "toString" }],
  ["/description", { description: undefined }],
  ["/title", { title: 1 }],
  ["/tags", { tags: "tasks" }],
  ["/tags", { tags: [1] }],
  ["/idempotent", { idempotent: "yes" }],
  ["/outputPolicy", { outputPolicy: "loose" }],
  ["/_meta", { _meta: [] }],
  ["/accessControl", { accessControl: undefined }],
  ["/accessControl", { accessControl: [] }],
  ["/accessControl/requiredScopes", { accessControl: {} }],
  ["/accessControl/requiredScopes", { accessControl: { requiredScopes: "admin" } }],
  ["/accessControl/requiredScopesAny", { accessControl: { requiredScopes: [], requiredScopesAny: null } }],
  ["/accessControl/customAuth", { accessControl: { requiredScopes: [], customAuth: () => true } }],
  ["/errorSchemas", { errorSchemas: {} }],
  ["/errorSchemas/1", { errorSchemas: [{ code: "A", schema: {} }, null] }],
  ["/errorSchemas/0/code", { errorSchemas: [{ code: "", schema: {} }] }],
  ["/errorSchemas/0/schema", { errorSchemas: [{ code: "A" }] }],
  ["/errorSchemas/0/httpStatus", { errorSchemas: [{ code: "A", schema: {}, httpStatus: 99 }] }],
  ["/errorSchemas/0/httpStatus", { errorSchemas: [{ code: "A", schema: {}, httpStatus: 600 }] }],
  [
    "/accessControl/resourceType",
    { accessControl: { requiredScopes: [], resourceType: "a:b", resourceAction: "edit" } },
  ],
  [
    "/accessControl/resourceId",
    { accessControl: { requiredScopes: [], resourceType: "a", resourceAction: "edit", resourceId: "id" } },
  ],
])("an invalid %s is reported: %j", (path, overrides) => {
  const problems = problemsOf(spec(overrides));

  expect(problems.map((problem) => problem.split(" ")[0])).toEqual([path]);
  expect(Value.Check(OperationSpecSchema, spec(overrides))).toBe(false);
});

test.each([100, 599])("an error may have the status %i", (httpStatus) => {
  expect(() => assertValidSpec(spec({ errorSchemas: [{ code: "A", schema: {}, httpStatus }] }))).not.toThrow();
});

test("an access rule with a misspelt field is reported, because it would allow more callers than intended", () => {
  const accessControl = { requiredScopes: [], requiredScopeAny: ["admin"] };

  expect(problemsOf(spec({ accessControl }))).toEqual([
    "/accessControl/requiredScopeAny is not part of an access rule; use requiredScopes, requiredScopesAny, resourceType, resourceAction, resourceId, customAuth",
  ]);
  expect(() => toAccessControl(accessControl)).toThrow("/accessControl/requiredScopeAny is not part of an access rule");
});

test.each([
  [{ resourceAction: "edit" }, "/accessControl/resourceType"],
  [{ resourceType: "task" }, "/accessControl/resourceAction"],
  [{ resourceType: "task", resourceId: "/id" }, "/accessControl/resourceAction"],
])("an incomplete resource rule is reported: %j", (rule, path) => {
  const problems = problemsOf(spec({ accessControl: { requiredScopes: [], ...rule } }));

  expect(problems.map((problem) => problem.split(" ")[0])).toEqual([path]);
});

test("a copy is frozen with everything in it, and has no properties that are not part of a spec", () => {
  const given = { ...full, extra: 1 } as unknown as OperationSpec;

  const copy = copySpec(given);

  expect(copy).toEqual(full);
  const { accessControl, tags, errorSchemas, _meta } = copy;
  const parts = [copy, accessControl, accessControl.requiredScopesAny, tags, errorSchemas, errorSchemas?.[0], _meta];
  expect(parts.every((part) => part !== undefined && Object.isFrozen(part))).toBe(true);
  expect(Object.keys(copySpec({ ...spec(), title: undefined } as never))).toEqual(Object.keys(spec()));
});

test("a copy has getters where the spec has them", () => {
  const { lazy, reads } = lazySpec("inputSchema", "outputSchema", "errorSchemas", "_meta");

  assertValidSpec(lazy);
  const copy = copySpec(lazy);

  expect(reads).toEqual([]);
  expect(copy).toEqual(full);
  expect(new Set(reads)).toEqual(new Set(["inputSchema", "outputSchema", "errorSchemas", "_meta"]));
});

test("a copy may have other schemas", () => {
  const { lazy, reads } = lazySpec("errorSchemas");
  const schemas = { inputSchema: Type.Null(), outputSchema: Type.Null() };

  expect(copySpec(lazy, schemas)).toEqual({ ...full, ...schemas });
  expect(reads.length).toBeGreaterThan(0);
});

test("peers do not receive the meta", () => {
  const { _meta, ...published } = full;

  expect(toPublicSpec({ ...full, extra: 1 } as unknown as OperationSpec)).toEqual(published);
});

test("an error code that is declared twice is reported", () => {
  const [full, gone] = ["FULL", "GONE"].map((code) => ({ code, schema: {} }));

  expect(problemsOf(spec({ errorSchemas: [full, gone, full, full] }))).toEqual([
    '/errorSchemas/2/code must be unique, but "FULL" is also the code of /errorSchemas/0',
    '/errorSchemas/3/code must be unique, but "FULL" is also the code of /errorSchemas/0',
  ]);
});

describe("schemas", () => {
  test("their presence is checked without reading them", () => {
    const lazy = spec();
    for (const key of ["inputSchema", "outputSchema"]) {
      Object.defineProperty(lazy, key, {
        enumerable: true,
        get: () => {
          throw new Error("read too early");
        },
      });
    }

    expect(problemsOf(lazy)).toEqual([]);
  });

  test("a missing schema is reported with a suggestion", () => {
    const { inputSchema: _input, outputSchema: _output, ...rest } = spec();

    expect(problemsOf(rest)).toEqual([
      "/inputSchema is missing; use Type.Object({}) for an operation without input",
      "/outputSchema is missing; use Type.Unknown() when the output can be anything",
    ]);
  });
});

test("the message names the operation and its problems", () => {
  expect(() => assertValidSpec(spec({ type: "read", handler: "later" }))).toThrow(
    'Invalid operation "task.create": /type must be "query", "mutation" or "subscription"; ' +
      "/handler must be a function; omit it to register the handler later.",
  );
  expect(() => assertValidSpec(null)).toThrow(
    "Invalid operation definition: it must be an object with namespace, name, version, type, inputSchema and outputSchema.",
  );
});

test("assertValidSpec and OperationSpecSchema accept the same JSON", () => {
  const field = <T>(...values: T[]) =>
    fc.constantFrom(undefined, null, 1, "", [], {}, "a", ["a"], "a.b", "/a", ...values);
  const record = fc.record({
    namespace: field("task"),
    name: field("create"),
    version: field("1"),
    type: field("query"),
    description: field(),
    title: field(),
    tags: field(),
    inputSchema: fc.constantFrom(true, {}),
    outputSchema: fc.constantFrom(true, {}),
    accessControl: fc.oneof(
      field(),
      fc.record({ requiredScopes: field(), requiredScopesAny: field(), customAuth: field() }),
    ),
    errorSchemas: fc.oneof(
      field(),
      // JSON Schema cannot express that codes are unique.
      fc.uniqueArray(fc.record({ code: field(), schema: fc.constant({}), httpStatus: field(404, 600) }), {
        selector: ({ code }) => code,
      }),
    ),
    idempotent: field(true),
    outputPolicy: field("cast"),
    _meta: field(),
  });
  fc.assert(
    fc.property(record, fc.subarray(Object.keys(full)), (odd, keys) => {
      const value = { ...full, ...Object.fromEntries(keys.map((key) => [key, odd[key as keyof typeof odd]])) };

      expect(problemsOf(value).length === 0).toBe(Value.Check(OperationSpecSchema, value));
    }),
    { numRuns: 500 },
  );
});
