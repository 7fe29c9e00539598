import { expect, expectTypeOf, test } from "vitest";
import { array, boolean, literal, number, type ObjectOf, object, optional, string, unknown } from "./shape.ts";

const fields = {
  type: literal("thing"),
  id: string({ minLength: 1, maxLength: 3 }),
  size: optional(number()),
  tags: optional(array(string())),
  details: unknown(),
  part: object<{ a: number }>(),
  isReady: optional(boolean()),
};

test("the type has the members of the table", () => {
  expectTypeOf<ObjectOf<typeof fields>>().toEqualTypeOf<{
    type: "thing";
    id: string;
    size?: number;
    tags?: string[];
    details: unknown;
    part: { a: number };
    isReady?: boolean;
  }>();
});

test.each([
  [literal("thing"), "other", false],
  [number(), Number.NaN, false],
  [number(), Number.POSITIVE_INFINITY, false],
  [number({ max: Number.POSITIVE_INFINITY }), Number.POSITIVE_INFINITY, true],
  [number({ isInteger: true }), 2 ** 53, false],
  [number({ min: 0 }), -1, false],
  [string({ minLength: 1 }), "", false],
  [string({ maxLength: 3 }), "long", false],
  [array(string()), ["a", 1], false],
  [boolean(), "true", false],
  [object(), [], false],
  [object(), { toJSON: () => 1 }, false],
  [object(), { toJSON: 1 }, true],
  [object(() => true), [], true],
  [unknown(), undefined, true],
])("%j: %j is valid: %s", (field, value, expected) => {
  expect(field.isValid(value)).toBe(expected);
});
