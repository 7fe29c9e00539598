import { describe, expect, expectTypeOf, test } from "vitest";
import {
  array,
  boolean,
  completeFrozen,
  findProblems,
  number,
  type ObjectOf,
  object,
  oneOf,
  optional,
  pickPublic,
  record,
  schema,
  string,
  unknown,
} from "./shape.ts";

const partFields = { size: number({ isInteger: true, min: 1 }), note: optional(string()) };

interface Part extends ObjectOf<typeof partFields> {}

const fields = {
  id: string({ minLength: 1, maxLength: 3 }),
  state: oneOf(["open", "done"]),
  parts: array(object<Part>(partFields, { message: "must be a part" }), { message: "must be a list of parts" }),
  tags: optional(array(string())),
  contract: schema<object>(),
  secret: optional(record(unknown(), { isLazy: true, isPrivate: true })),
  isReady: optional(boolean()),
};

interface Thing extends ObjectOf<typeof fields> {}

const thing: Thing = { id: "a", state: "open", parts: [{ size: 1 }], tags: ["x"], contract: {}, secret: { a: 1 } };

test("the type has the members of the table", () => {
  expectTypeOf<Thing>().toEqualTypeOf<{
    id: string;
    state: "open" | "done";
    parts: Part[];
    tags?: string[];
    contract: object;
    secret?: Record<string, unknown>;
    isReady?: boolean;
  }>();
});

describe("findProblems", () => {
  test("a valid object has no problems", () => {
    expect(findProblems(fields, { ...thing })).toEqual([]);
  });

  test("reports every field that is missing or invalid, at any depth", () => {
    const invalid = { id: "long", parts: [{ size: 0.5 }, null], tags: [1], contract: 1, secret: [], isReady: "no" };

    expect(findProblems(fields, invalid)).toEqual([
      { path: "/id", message: "must be a string" },
      { path: "/state", message: 'is missing and must be "open" or "done"' },
      { path: "/parts/0/size", message: "must be a number" },
      { path: "/parts/1", message: "must be a part" },
      { path: "/tags", message: "must be a list of strings" },
      { path: "/secret", message: "must be an object" },
      { path: "/isReady", message: "must be true or false" },
    ]);
    expect(findProblems(fields, { ...thing, parts: {} })).toEqual([
      { path: "/parts", message: "must be a list of parts" },
    ]);
  });

  test("reads neither schemas nor lazy getters", () => {
    const lazy = { ...thing };
    for (const name of ["contract", "secret"]) Object.defineProperty(lazy, name, { get: () => expect.fail("read") });

    expect(findProblems(fields, { ...Object.getOwnPropertyDescriptors({}), ...thing })).toEqual([]);
    expect(findProblems(fields, lazy as unknown as Record<string, unknown>)).toEqual([]);
  });
});

test("an object with toJSON is not a JSON object", () => {
  expect(object({}).isValid({ toJSON: () => 1 })).toBe(false);
  expect(record(unknown()).isValid(new Date())).toBe(false);
  expect(object({}).isValid({ toJSON: 1 })).toBe(true);
});

test.each([
  [number(), Number.NaN, false],
  [number(), Number.POSITIVE_INFINITY, false],
  [number({ max: Number.POSITIVE_INFINITY }), Number.POSITIVE_INFINITY, true],
  [number({ isInteger: true }), 2 ** 53, false],
  [number({ min: 0 }), -1, false],
  [string({ pattern: /^a+$/ }), "aab", false],
  [unknown(), undefined, true],
])("%j: %s is valid: %s", (field, value, expected) => {
  expect(field.isValid(value)).toBe(expected);
});

test("a copy has frozen copies of optional fields and forwards lazy getters", () => {
  let reads = 0;
  const source = {
    ...thing,
    extra: 1,
    get secret() {
      reads += 1;
      return { a: 1 };
    },
  };
  const { id, state, parts, contract } = thing;

  const copy = completeFrozen<Thing>({ id, state, parts, contract }, fields, source);

  expect(reads).toBe(0);
  expect(copy).toEqual(thing);
  expect(copy.tags).not.toBe(source.tags);
  for (const held of [copy, copy.tags]) expect(Object.isFrozen(held)).toBe(true);
});

test("private fields are omitted", () => {
  const { secret: _, ...open } = thing;

  expect(pickPublic(fields, { ...thing, extra: 1 })).toEqual(open);
});
