import { isRecord, type SchemaObject } from "./keywords.ts";
import { hide } from "./marks.ts";

/** A check in code, as TypeBox's `Type.Refine` attaches them. */
export interface Refinement {
  check: (value: unknown) => boolean;
  error: (value: unknown) => string;
}

/** Wraps checks in a schema that asserts nothing else. */
export function toRefined(refinements: Refinement[], schema: SchemaObject = {}): SchemaObject {
  hide(schema, "~refine", refinements);
  return schema;
}

// TypeBox asks `"toString" in value` for all names but these, and so finds what every object inherits.
const askedAsOwn = new Set(["__proto__", "constructor"]);
const isInheritedName = (name: string) => name in Object.prototype && !askedAsOwn.has(name);

/** Keeps properties named like methods of `Object.prototype` from being found where they are not. */
export function guardInheritedNames(node: SchemaObject, refinements: Refinement[]): void {
  const { properties, required } = node;
  if (isRecord(properties)) {
    for (const name of Object.keys(properties).filter(isInheritedName)) {
      const inherited = (Object.prototype as unknown as SchemaObject)[name];
      const absent = toRefined([{ check: (value) => value === inherited, error: () => "must be absent" }]);
      properties[name] = { anyOf: [absent, properties[name]] };
    }
  }
  const names = Array.isArray(required) ? (required as string[]).filter(isInheritedName) : [];
  if (names.length === 0) return;
  refinements.push({
    check: (value) => !isRecord(value) || names.every((name) => Object.hasOwn(value, name)),
    error: () => `must have required properties ${names.join(", ")}`,
  });
}

/** The schemas that an object's properties must fit, by name and by pattern. */
export interface PropertyRules {
  patterns: Array<{ test: RegExp; check: (value: unknown) => boolean }>;
  /** Names that `properties` takes care of. */
  named: ReadonlySet<string>;
  /** For names that no pattern and no declared property covers. Absent when these may be anything. */
  additional?: (value: unknown) => boolean;
}

/** `patternProperties` with `additionalProperties`, for patterns that TypeBox would run on the native engine. */
export function fitsPropertyRules({ patterns, named, additional }: PropertyRules): Refinement {
  const misfit = (value: SchemaObject) =>
    Object.keys(value).find((name) => {
      const matching = patterns.filter(({ test }) => test.test(name));
      if (!matching.every(({ check }) => check(value[name]))) return true;
      return additional !== undefined && matching.length === 0 && !named.has(name) && !additional(value[name]);
    });
  return {
    check: (value) => !isRecord(value) || misfit(value) === undefined,
    error: (value) => `property ${JSON.stringify(isRecord(value) ? misfit(value) : undefined)} is not valid`,
  };
}
