import type { SchemaReport } from "./from-schema.ts";
import type { SchemaObject } from "./keywords.ts";
import { toLinearPattern } from "./linear-pattern.ts";
import { fitsPropertyRules, type PropertyRules, type Refinement } from "./refinements.ts";
import { joinPointer, SchemaError } from "./schema-error.ts";

/** Hears what cannot be enforced. */
export type Report = (report: SchemaReport) => void;

/** Puts a foreign `pattern` into a node: on the linear-time engine, or not at all and reported. */
export function addPattern(node: SchemaObject, pattern: string, pointer: string, report: Report): void {
  const linear = toLinearPattern(pattern);
  if ("test" in linear) node["pattern"] = linear.test;
  else report({ pointer: joinPointer(pointer, "pattern"), reason: notEnforced(linear.unsupported) });
}

/** What {@link addPatternProperties} needs to know about its surroundings. */
export interface PatternSurroundings {
  pointer: string;
  report: Report;
  /** Whether TypeBox must see the patterns, to know which names they take or what their references lead to. */
  isTracked: boolean;
  toCheck(schema: unknown): (value: unknown) => boolean;
}

/**
 * Puts foreign `patternProperties` into a node. TypeBox runs these, and with them `additionalProperties`, on the native
 * engine; patterns that are not safe there become a refinement, which is returned.
 */
export function addPatternProperties(
  node: SchemaObject,
  schemas: SchemaObject,
  { pointer, report, isTracked, toCheck }: PatternSurroundings,
): Refinement | undefined {
  const entries = Object.keys(schemas).map((pattern) => ({
    pointer: joinPointer(joinPointer(pointer, "patternProperties"), pattern),
    schema: schemas[pattern],
    linear: toLinearPattern(pattern),
  }));
  if (entries.every(({ linear }) => "test" in linear && linear.isNative)) {
    node["patternProperties"] = schemas;
    return undefined;
  }
  const rules: PropertyRules = { patterns: [], named: new Set(Object.keys(node["properties"] ?? {})) };
  let additional = node["additionalProperties"];
  for (const { linear, schema, pointer } of entries) {
    if (isTracked) {
      throw new SchemaError(
        pointer,
        "this pattern cannot be combined with unevaluatedProperties or $dynamicRef. Use a simpler one.",
      );
    }
    if ("test" in linear) {
      rules.patterns.push({ test: linear.test, check: toCheck(schema) });
    } else {
      report({ pointer, reason: notEnforced(linear.unsupported) });
      // Which names are additional cannot be known any more.
      additional = undefined;
    }
  }
  delete node["additionalProperties"];
  if (additional !== undefined) rules.additional = toCheck(additional);
  return fitsPropertyRules(rules);
}

function notEnforced(reason: string): string {
  return `The pattern is not enforced: ${reason}.`;
}
