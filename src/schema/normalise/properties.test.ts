import fc from "fast-check";
import type { TSchema } from "typebox";
import { expect, test } from "vitest";
import { countCases } from "../../internal/testing.ts";
import type { Drift } from "../../operation/index.ts";
import { compileSchema } from "../compile.ts";
import { passesQuickCheck } from "../testing.ts";
import { createInstanceReader } from "./class-instances.ts";
import { createDefaultFiller } from "./input-defaults.ts";
import { createNormaliser } from "./normaliser.ts";
import { Planner } from "./plan.ts";
import { isUnchanged } from "./unchanged-check.ts";

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Schema = { [keyword: string]: unknown } | boolean;

const key = fc.constantFrom("a", "b", "c", "d", "x1", "x2");
const scalar = fc.constantFrom<Json>(null, true, false, 0, 1, 42, 1.5, "", "1", "42.5", "true", "red", "x");

const value: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true, maxDepth: 4 },
    scalar,
    fc.dictionary(key, tie("value"), { maxKeys: 4, noNullPrototype: true }),
    fc.array(tie("value"), { maxLength: 3 }),
  ),
})).value;

const typeName = fc.constantFrom("string", "number", "integer", "boolean", "null", "object", "array");

const schema: fc.Arbitrary<Schema> = fc.letrec<{ schema: Schema; object: Schema }>((tie) => {
  const map = fc.dictionary(key, tie("schema"), { maxKeys: 3, noNullPrototype: true });
  const list = fc.array(tie("schema"), { minLength: 1, maxLength: 3 });
  const rare = <T>(arbitrary: fc.Arbitrary<T>) =>
    fc.oneof({ arbitrary: fc.constant(undefined), weight: 7 }, { arbitrary, weight: 1 });
  const keywords = {
    required: fc.option(fc.uniqueArray(key, { maxLength: 2 }), { nil: undefined }),
    patternProperties: rare(
      fc.dictionary(fc.constantFrom("^x", "^[ab]$"), tie("schema"), { maxKeys: 2, noNullPrototype: true }),
    ),
    additionalProperties: rare(fc.oneof(fc.boolean(), tie("schema"))),
    unevaluatedProperties: rare(fc.oneof(fc.boolean(), tie("schema"))),
    minProperties: rare(fc.constantFrom(1, 2)),
    maxProperties: rare(fc.constantFrom(1, 2)),
    dependentRequired: rare(fc.dictionary(key, fc.array(key, { maxLength: 1 }), { maxKeys: 1, noNullPrototype: true })),
    dependentSchemas: rare(fc.dictionary(key, tie("schema"), { maxKeys: 1, noNullPrototype: true })),
    allOf: rare(list),
    anyOf: rare(list),
    oneOf: rare(list),
    not: rare(tie("schema")),
    if: rare(tie("schema")),
    then: rare(tie("schema")),
    else: rare(tie("schema")),
    default: rare(value),
  };
  return {
    object: fc.record({ type: fc.constant("object"), properties: map, ...keywords }).map(dropUndefined),
    schema: fc.oneof(
      { depthSize: "small", withCrossShrink: true, maxDepth: 4 },
      fc.record({ type: typeName, default: rare(value) }).map(dropUndefined),
      tie("object"),
      fc.record({ type: fc.uniqueArray(typeName, { minLength: 1, maxLength: 3 }) }),
      fc.record({ type: fc.constant("string"), minLength: fc.constant(1) }),
      fc
        .record({
          type: fc.constant("array"),
          items: tie("schema"),
          uniqueItems: rare(fc.boolean()),
          minItems: rare(fc.constant(1)),
        })
        .map(dropUndefined),
      fc.record({ prefixItems: list, items: rare(tie("schema")) }).map(dropUndefined),
      fc.record({ enum: fc.array(value, { minLength: 1, maxLength: 2 }) }),
      fc.record({ const: value }),
      fc.constantFrom<Schema>({ $ref: "#/$defs/one" }, { $ref: "#/$defs/two" }, { $ref: "#" }, true, false, {}),
      fc.record({ ...keywords, properties: fc.option(map, { nil: undefined }) }).map(dropUndefined),
      fc.record({ anyOf: fc.tuple(tie("object"), fc.constant({ type: "null" })) }),
      fc.record({ oneOf: list }),
    ),
  };
}).schema;

const documentSchema = fc
  .tuple(schema, schema, schema)
  .map(
    ([root, one, two]): Schema =>
      typeof root === "boolean" ? { allOf: [root], $defs: { one, two } } : { ...root, $defs: { one, two } },
  )
  .filter((root) => isUsable(root as TSchema));

/** Values that roughly match a schema, so that not every run is about completely invalid data. */
function fitting(part: unknown, root: Schema, depth = 0): fc.Arbitrary<Json> {
  if (typeof part !== "object" || part === null || depth > 5) return value;
  const node = part as Record<string, unknown>;
  const next = (child: unknown) => fitting(child, root, depth + 1);
  if (typeof node["$ref"] === "string") return next(resolve(node["$ref"], root));
  if ("const" in node) return fc.constant(node["const"] as Json);
  if (Array.isArray(node["enum"])) return fc.constantFrom(...(node["enum"] as Json[]));
  const alternatives = (node["anyOf"] ?? node["oneOf"]) as unknown[] | undefined;
  const parts = [...((node["allOf"] as unknown[]) ?? []), ...(node["then"] ? [node["then"]] : [])];
  if (node["properties"] || parts.length > 0 || (alternatives && node["type"])) {
    const own = fc.record(mapValues(node["properties"] ?? {}, next), { requiredKeys: requiredOf(node) });
    const others = fc.tuple(...parts.map(next), ...(alternatives ? [fc.oneof(...alternatives.map(next))] : []));
    const extra = fc.dictionary(key, value, { maxKeys: 1, noNullPrototype: true });
    return fc
      .tuple(own, others, fc.oneof({ arbitrary: fc.constant({}), weight: 2 }, { arbitrary: extra, weight: 1 }))
      .map(([first, more, last]) => Object.assign({}, last, first, ...more.filter(isObject)) as Json);
  }
  if (alternatives) return fc.oneof(...alternatives.map(next));
  if (node["items"]) return fc.array(next(node["items"]), { maxLength: 3 });
  if (Array.isArray(node["prefixItems"])) return fc.tuple(...node["prefixItems"].map(next)) as fc.Arbitrary<Json>;
  const type = Array.isArray(node["type"]) ? node["type"][0] : node["type"];
  return scalars[type as string] ?? value;
}

function requiredOf({ required = [], properties = {} }: Record<string, unknown>): string[] {
  return (required as string[]).filter((name) => Object.hasOwn(properties as object, name));
}

const scalars: Record<string, fc.Arbitrary<Json>> = {
  string: fc.constantFrom<Json>("", "1", "x"),
  number: fc.constantFrom<Json>(0, 1.5, "1"),
  integer: fc.constantFrom<Json>(0, 42, "1"),
  boolean: fc.constantFrom<Json>(true, "false"),
  null: fc.constant(null),
};

function resolve(reference: string, root: Schema): unknown {
  const defs = (root as { $defs: Record<string, unknown> }).$defs;
  return reference === "#" ? root : defs[reference.slice("#/$defs/".length)];
}

function mapValues<T, U>(object: Record<string, T> | object, map: (entry: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(object).map(([name, entry]) => [name, map(entry as T)]));
}

const schemaAndData = documentSchema.chain((root) => fc.tuple(fc.constant(root), fc.oneof(value, fitting(root, root))));

function dropUndefined<T extends object>(object: T): Schema {
  return Object.fromEntries(Object.entries(object).filter(([, entry]) => entry !== undefined)) as Schema;
}

/** References that only refer to themselves have no meaning and no check. */
function isUsable(root: TSchema): boolean {
  try {
    for (const probe of [null, {}, [], { a: {} }]) compileSchema(root).check(probe);
    return true;
  } catch {
    return false;
  }
}

function deepFreeze<T>(data: T): T {
  if (typeof data === "object" && data !== null) {
    for (const part of Object.values(data)) deepFreeze(part);
    Object.freeze(data);
  }
  return data;
}

/** The shallowest paths at which two values differ. */
function differences(before: unknown, after: unknown, path = ""): string[] {
  if (Object.is(before, after)) return [];
  const bothArrays = Array.isArray(before) && Array.isArray(after) && before.length === after.length;
  if (!bothArrays && !(isObject(before) && isObject(after))) return [path];
  const [left, right] = [before as Record<string, unknown>, after as Record<string, unknown>];
  return [...new Set([...Object.keys(left), ...Object.keys(right)])].flatMap((name) =>
    Object.hasOwn(left, name) && Object.hasOwn(right, name)
      ? differences(left[name], right[name], `${path}/${name}`)
      : [`${path}/${name}`],
  );
}

function isObject(data: unknown): boolean {
  return typeof data === "object" && data !== null && !Array.isArray(data);
}

class Instance {
  constructor(properties: object) {
    Object.assign(this, properties);
  }
}

/** The same data with class instances instead of objects. */
function toInstances(data: unknown): unknown {
  if (Array.isArray(data)) return data.map(toInstances);
  return isObject(data) ? new Instance(mapValues(data as object, toInstances)) : data;
}

const isMismatch = ({ kind }: Drift) => kind === "mismatch";
const runs = { numRuns: countCases(500) };

/** One generated case. The data is frozen, so that a mutation throws. */
interface Case {
  root: TSchema;
  data: Json;
  normaliser: ReturnType<typeof createNormaliser>;
  isValid(value: unknown): boolean;
}

/** What holds for every schema and every value. All of it is checked for each case, because generating a case takes longest. */
const properties: Record<string, (it: Case) => void> = {
  "data that passes the quick check is valid and is neither changed nor reported"({ root, data, normaliser, isValid }) {
    if (!passesQuickCheck(root, data)) return;
    expect(isValid(data)).toBe(true);
    expect(normaliser.normalise(data)).toEqual({ data });
    expect(normaliser.normalise(data).data).toBe(data);
    expect(isUnchanged(new Planner(root as never).root, data)).toBe(true);
  },

  "generated and interpreted checks agree on valid data"({ root, data, isValid }) {
    const planner = new Planner(root as never);
    if (!isValid(data)) return;
    expect(isUnchanged(planner.root, data)).toBe(passesQuickCheck(root, data));
  },

  "normalising is idempotent"({ data, normaliser }) {
    const once = normaliser.normalise(data);
    const twice = normaliser.normalise(once.data);
    expect(twice.data).toBe(once.data);
    expect((twice.drift ?? []).filter((drift) => !isMismatch(drift))).toEqual([]);
  },

  "an equal result is the same object"({ data, normaliser }) {
    const result = normaliser.normalise(data).data;
    if (differences(data, result).length === 0) expect(result).toBe(data);
  },

  "the result is valid or the drift explains why not, and valid data stays valid"({ data, normaliser, isValid }) {
    const { data: result, drift = [] } = normaliser.normalise(data);
    const fits = isValid(result);
    expect(fits || drift.some(isMismatch)).toBe(true);
    expect(fits || !isValid(data)).toBe(true);
  },

  "exactly the differences between data and result are reported"({ data, normaliser }) {
    const { data: result, drift = [], driftTotal } = normaliser.normalise(data);
    if (driftTotal !== undefined) return;
    const changed = new Set(drift.filter((entry) => !isMismatch(entry)).map(({ path }) => path));
    const isReported = (path: string) => [...changed].some((at) => path === at || path.startsWith(`${at}/`));
    expect(differences(data, result).filter((path) => !isReported(path))).toEqual([]);
    if (changed.size > 0) expect(result).not.toBe(data);
  },

  "class instances are normalised like objects with the same properties"({ root, data, normaliser }) {
    const { data: result, ...report } = normaliser.normalise(toInstances(data));
    const expected = normaliser.normalise(data);
    expect(report).toEqual({ ...expected, data: undefined });
    expect(result).toEqual(expected.data);
    expect(createInstanceReader(root).readOutput(result)).toBe(result);
  },

  "inspecting reports what normalising does and keeps the data"({ data, normaliser }) {
    const inspected = normaliser.inspect(data);
    expect(inspected.data).toBe(data);
    expect(inspected).toEqual({ ...normaliser.normalise(data), data });
  },

  "filling defaults only adds"({ root, data }) {
    const once = createDefaultFiller(root)?.(data) ?? data;
    expect(differences(data, once).filter((path) => has(data, path))).toEqual([]);
    if (differences(data, once).length === 0) expect(once).toBe(data);
  },
};

test("every property holds for every schema and every value, and data is never mutated", () => {
  fc.assert(
    fc.property(schemaAndData, ([schema, generated]) => {
      const root = schema as TSchema;
      const data = deepFreeze(generated);
      const copy = structuredClone(data);
      const isValid = (value: unknown) => compileSchema(root).check(value);
      const it: Case = { root, data, normaliser: createNormaliser(root), isValid };
      for (const [name, check] of Object.entries(properties)) {
        try {
          check(it);
        } catch (error) {
          throw new Error(`Not true: ${name}.`, { cause: error });
        }
      }
      expect(data).toEqual(copy);
    }),
    runs,
  );
});

function has(data: unknown, path: string): boolean {
  let current = data;
  for (const part of path.split("/").slice(1)) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, part)) return false;
    current = (current as Record<string, unknown>)[part];
  }
  return true;
}
