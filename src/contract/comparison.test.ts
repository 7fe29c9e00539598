import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { FromSchema } from "../index.ts";
import { isObject } from "../internal/objects.ts";
import { compileSchema, forEachSubschema, type SchemaObject } from "../schema/index.ts";
import { compareContracts, parseLock, printLock } from "./lock.ts";
import { createSpec } from "./testing.ts";

// Every pair is checked with some thousand values, which takes milliseconds on an idle machine.
vi.setConfig({ testTimeout: 60_000 });

const leaves: fc.Arbitrary<SchemaObject> = fc.oneof(
  fc.constantFrom<SchemaObject>(
    {},
    { type: "string" },
    { type: "string", minLength: 1 },
    { type: "string", minLength: 2, maxLength: 2 },
    { type: "string", pattern: "^a" },
    { type: "integer" },
    { type: "integer", minimum: 1 },
    { type: "number" },
    { type: "number", minimum: 0, exclusiveMaximum: 2 },
    { type: "number", multipleOf: 0.5 },
    { type: "boolean" },
    { type: "null" },
    { type: ["string", "null"], minLength: 1 },
    { minLength: 2 },
    { type: "object", additionalProperties: true },
    { not: { type: "string" } },
  ),
  fc.subarray(["a", "bb", 1, 1.5, null, true, false]).map((values) => ({ enum: values })),
  fc.constantFrom("a", "bb", 1, null).map((value) => ({ const: value })),
);

const names = ["a", "b", "c"];
const sometimes = <T>(value: fc.Arbitrary<T>, freq = 2) => fc.option(value, { nil: undefined, freq });
const clean = (schema: object): SchemaObject => JSON.parse(JSON.stringify(schema));

/** Small schemas with every keyword that a comparison understands, and some that it does not. `n` is a definition. */
const schemas: fc.Arbitrary<SchemaObject> = fc.letrec<{ node: SchemaObject; object: SchemaObject; part: SchemaObject }>(
  (tie) => ({
    object: fc
      .record({
        type: fc.constant("object"),
        properties: fc.dictionary(fc.constantFrom(...names), tie("node"), { noNullPrototype: true }),
        required: fc.subarray(names),
        additionalProperties: sometimes(fc.oneof(fc.boolean(), tie("node"))),
        patternProperties: sometimes(fc.record({ "^[bc]": tie("node") }), 8),
        minProperties: sometimes(fc.nat(2), 6),
        maxProperties: sometimes(fc.nat(2), 6),
        unevaluatedProperties: sometimes(fc.constant(false), 8),
        dependentRequired: sometimes(fc.constantFrom({ a: ["b"] }, { b: ["a"] }), 8),
      })
      .map(clean),
    part: fc.oneof(
      tie("object"),
      leaves,
      fc.record({ anyOf: fc.array(tie("object"), { minLength: 1, maxLength: 2 }) }),
    ),
    node: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      leaves,
      tie("object"),
      fc
        .record({
          type: fc.constant("array"),
          items: sometimes(fc.oneof(tie("node"), fc.boolean())),
          prefixItems: sometimes(fc.array(tie("node"), { minLength: 1, maxLength: 2 })),
          minItems: sometimes(fc.nat(2)),
          maxItems: sometimes(fc.nat(2)),
          uniqueItems: sometimes(fc.boolean()),
          contains: sometimes(leaves, 8),
        })
        .map(clean),
      fc.record({ anyOf: fc.array(tie("node"), { minLength: 1, maxLength: 3 }) }),
      fc.record({ oneOf: fc.array(tie("node"), { minLength: 1, maxLength: 3 }) }),
      fc.record({ allOf: fc.array(tie("part"), { minLength: 1, maxLength: 3 }) }),
      fc
        .tuple(tie("object"), fc.array(tie("object"), { minLength: 1, maxLength: 2 }))
        .map(([object, anyOf]) => ({ ...object, anyOf })),
      fc.tuple(tie("object"), leaves).map(([object, not]) => ({ ...object, not })),
      fc.record({ if: leaves, then: leaves, else: leaves }),
      fc.constant({ $ref: "#/$defs/n" }),
    ),
  }),
).node;

/** An old document, and a new one with a few edits. */
const versions: fc.Arbitrary<[SchemaObject, SchemaObject]> = fc
  .tuple(
    fc.tuple(schemas, schemas).map(([root, n]) => ({ ...root, $defs: { n } })),
    fc.array(
      fc.tuple(fc.nat(), fc.nat(), fc.constantFrom("replace", "remove", "add", "property", "relax", "demand"), schemas),
      {
        minLength: 1,
        maxLength: 3,
      },
    ),
  )
  .map(([before, edits]): [SchemaObject, SchemaObject] => {
    const after = clean(before);
    for (const edit of edits) apply(edit, after);
    return [before, after];
  })
  .filter((documents) => documents.every((document) => !refersToItself((document["$defs"] as SchemaObject)["n"])));

function apply([place, index, kind, other]: [number, number, string, SchemaObject], document: SchemaObject): void {
  const parts: SchemaObject[] = [];
  const visit = (schema: unknown): void => {
    if (!isObject(schema)) return;
    parts.push(schema);
    forEachSubschema(schema, visit);
  };
  visit(document);
  const target = parts[place % parts.length]!;
  const keywords = Object.keys(target).filter((keyword) => keyword !== "$defs" && keyword !== "type");
  const { properties } = target;
  if (kind === "replace") {
    for (const keyword of keywords) delete target[keyword];
    delete target["type"];
    Object.assign(target, clean(other));
  } else if (kind === "remove") delete target[keywords[index % keywords.length]!];
  else if (kind === "add" && other["type"] === target["type"]) Object.assign(target, clean(other));
  else if (kind === "property") target["properties"] = { [names[index % 3]!]: clean(other), ...(properties as object) };
  else if (kind === "relax") delete target["required"];
  else if (kind === "demand" && isObject(properties)) target["required"] = Object.keys(properties);
}

/** A definition that is only itself has no meaning. */
function refersToItself(schema: unknown): boolean {
  if (!isObject(schema)) return false;
  if (schema["$ref"] !== undefined) return true;
  return ["anyOf", "oneOf", "allOf"].some((keyword) => ((schema[keyword] ?? []) as unknown[]).some(refersToItself));
}

/**
 * Returns a schema that accepts only listed properties, as callers pass them.
 * @param isPart - whether the schema is a part of another one for the same value, which says what is listed
 */
function close(schema: unknown, isPart = false): unknown {
  if (!isObject(schema)) return schema;
  const closed: SchemaObject = {};
  for (const [keyword, value] of Object.entries(schema)) {
    const isInPlace = ["anyOf", "oneOf", "allOf", "not", "if", "then", "else"].includes(keyword);
    if (keyword === "$ref") closed[keyword] = isPart ? "#/$defs/part" : "#/$defs/n";
    else if (keyword === "$defs") {
      const { n } = value as SchemaObject;
      closed[keyword] = { n: close(n), part: close(n, true) };
    } else if (["properties", "patternProperties"].includes(keyword)) {
      closed[keyword] = Object.fromEntries(Object.entries(value as object).map(([name, part]) => [name, close(part)]));
    } else if (["anyOf", "oneOf", "allOf", "prefixItems"].includes(keyword)) {
      closed[keyword] = (value as unknown[]).map((part) => close(part, isInPlace));
    } else if (["dependentRequired", "enum", "const", "required"].includes(keyword)) closed[keyword] = value;
    else closed[keyword] = close(value, isInPlace);
  }
  const acceptsEverything = Object.keys(schema).every((keyword) => keyword === "$defs");
  return isPart || acceptsEverything ? closed : { ...closed, unevaluatedProperties: false };
}

const few: unknown[] = [
  null,
  true,
  1,
  2,
  1.5,
  "a",
  "bb",
  {},
  { a: 1 },
  { a: "bb", b: null },
  { b: { a: "a" } },
  [],
  ["a"],
];
const orMissing = [undefined, ...few];
const values: unknown[] = [
  ...[null, true, false, 0, 1, 2, 1.5, -1, "", "a", "b", "bb", "abc", [], ["a", "a", "a"], [1, 2, "a"]],
  ...few.flatMap((one) => [[one], ...few.map((other) => [one, other])]),
  ...orMissing.flatMap((a) => orMissing.flatMap((b) => [undefined, 1, "bb"].map((c) => clean({ a, b, c })))),
];

/** Returns a schema with `anyOf` instead of `oneOf`. */
function toUnions(schema: SchemaObject): SchemaObject {
  return JSON.parse(JSON.stringify(schema).replaceAll('"oneOf":', '"anyOf":'));
}

function checkOf(schema: unknown): (value: unknown) => boolean {
  const compiled = compileSchema(FromSchema(schema as SchemaObject));
  return (value) => compiled.check(value);
}

test("a change is harmless only if old inputs stay valid, and new outputs were valid", () => {
  const counts = { breaking: 0, harmless: 0 };
  fc.assert(
    fc.property(versions, fc.constantFrom("input", "output"), ([before, after], direction) => {
      const locks = [before, after].map((schema) => parseLock(printLock([createSpec({ [direction]: schema })])));
      const { breaking } = compareContracts(locks[0]!, locks[1]!);
      counts[breaking.length > 0 ? "breaking" : "harmless"] += 1;
      if (breaking.length > 0) return;
      // Callers read `oneOf` in an output as a union: each member that they may get is known to them.
      const [old, now] = direction === "input" ? [before, after] : [toUnions(after), toUnions(before)];
      const checks = [checkOf(close(old)), checkOf(old)];
      const isGiven = (value: unknown) => checks.every((check) => check(value));
      const isValid = checkOf(now);
      expect(values.filter((value) => isGiven(value) && !isValid(value))).toEqual([]);
    }),
    { numRuns: Number(process.env["COMPARISON_RUNS"] ?? 100) },
  );
  expect(Math.min(counts.breaking, counts.harmless)).toBeGreaterThan(15);
});
