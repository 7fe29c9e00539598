import { RE2JS } from "re2js";
import { extendPointer } from "../internal/json-pointer.ts";
import { isObject } from "../internal/objects.ts";
import type { CheckFunction } from "./check.ts";
import type { SchemaReport } from "./from-schema.ts";
import type { SchemaObject } from "./keywords.ts";
import type { Refinement } from "./marks.ts";
import { toRE2Syntax, UnsupportedPattern } from "./pattern-syntax.ts";
import { hasLookaround, parsePattern, sizeOf, toConjunctions } from "./pattern-terms.ts";
import { SchemaError } from "./schema-error.ts";
import { TooManySteps } from "./step-meter.ts";

/** A pattern that is safe to run, or the reason why it cannot be made safe. */
export type LinearPattern = { test: RegExp; isNative: boolean } | { unsupported: string };

/**
 * Makes a foreign pattern safe to run, in time that is linear in the length of the string. Patterns that cannot backtrack
 * run on the native engine, which is 20 times as fast.
 */
export function toLinearPattern(pattern: string): LinearPattern {
  const native = toNative(pattern);
  if (native === undefined) return { unsupported: "it is not a regular expression of ECMA-262" };
  if (native.unicode && isBacktrackFree(pattern)) return { test: native, isNative: true };
  try {
    return { test: new LinearRegExp(pattern, compile(pattern, 0)), isNative: false };
  } catch (error) {
    const reason = error instanceof UnsupportedPattern ? error.message : "the linear-time engine does not support it";
    return { unsupported: reason };
  }
}

function toNative(pattern: string): RegExp | undefined {
  for (const flags of ["u", ""]) {
    try {
      return new RegExp(pattern, flags);
    } catch {
      // Many published patterns escape more than the `u` flag allows; they are valid without it.
    }
  }
  return undefined;
}

/** Returns whether the native engine runs a pattern without backtracking into more than one choice. */
function isBacktrackFree(pattern: string): boolean {
  const outsideClasses = pattern.replace(/\\./g, "x").replace(/\[[^\]]*\]/g, "x");
  if (/[(|]/.test(outsideClasses) || /\\[1-9k]/.test(pattern)) return false;
  const choices = outsideClasses.match(/[*+?{]/g)?.length ?? 0;
  return choices === 0 || (choices === 1 && pattern.startsWith("^"));
}

/** A pattern may be larger if it is longer. Compiling takes about 4 µs per instruction. */
const maxInstructions = 20_000;
/** Each nested lookaround repeats the pattern around it. */
const maxLookaroundDepth = 4;

type Matcher = (value: string) => boolean;

function compile(pattern: string, depth: number): Matcher {
  const alternatives = parsePattern(pattern);
  // A long list of words is allowed, because only repetitions make a pattern much larger than its source.
  if (sizeOf(alternatives) > Math.max(maxInstructions, 2 * pattern.length)) {
    throw new UnsupportedPattern("its repetitions are too large to be compiled");
  }
  if (!hasLookaround(alternatives)) return bounded(RE2JS.compile(toRE2Syntax(pattern)));
  if (depth === maxLookaroundDepth) throw new UnsupportedPattern("its lookarounds are nested too deeply");
  const conjunctions = toConjunctions(alternatives).map((conjunction) => ({
    matches: compile(conjunction.pattern, depth + 1),
    conditions: conjunction.conditions.map((condition) => ({
      matches: compile(condition.pattern, depth + 1),
      expected: !condition.negative,
    })),
  }));
  return (value) =>
    conjunctions.some(
      ({ matches, conditions }) =>
        matches(value) && conditions.every((condition) => condition.matches(value) === condition.expected),
    );
}

/** The engine takes up to 5 ns per character and instruction. */
const maxStepsPerValue = 20_000_000;
const maxStepsPerCharacter = 200;

function bounded(engine: RE2JS): Matcher {
  const size = engine.programSize();
  if (size <= maxStepsPerCharacter) return (value) => engine.test(value);
  const maxLength = maxStepsPerValue / (size - maxStepsPerCharacter);
  return (value) => {
    if (value.length > maxLength) throw new TooManySteps();
    return engine.test(value);
  };
}

/** A pattern that runs on RE2. It extends RegExp, because TypeBox accepts only a RegExp as a pattern. */
class LinearRegExp extends RegExp {
  readonly #source: string;
  readonly #matches: Matcher;

  constructor(source: string, matches: Matcher) {
    super("");
    this.#source = source;
    this.#matches = matches;
  }

  override test(value: string): boolean {
    return this.#matches(value);
  }

  /** TypeBox uses this string in its messages. */
  override toString(): string {
    return this.#source;
  }
}

/** The surroundings of a node whose patterns are replaced. */
export interface PatternContext {
  /** JSON pointer to the node. */
  pointer: string;
  /** Receives the patterns that cannot be enforced. */
  report(report: SchemaReport): void;
  /** Returns whether TypeBox must process the patterns: to track which names they match, or to resolve their references. */
  isTracked(): boolean;
  /** Returns the check of a sub-schema. */
  toCheck(schema: unknown): CheckFunction;
}

/** Adds a foreign `pattern` to a node so that it runs in linear time, or reports that it cannot be enforced. */
export function addPattern(node: SchemaObject, pattern: string, { pointer, report }: PatternContext): void {
  const linear = toLinearPattern(pattern);
  if ("test" in linear) node["pattern"] = linear.test;
  else report({ pointer: extendPointer(pointer, "pattern"), reason: notEnforced(linear.unsupported) });
}

/**
 * Adds foreign `patternProperties` to a node. TypeBox runs these, and with them `additionalProperties`, on the native
 * engine. Patterns that are not safe there become a refinement, which is returned.
 */
export function addPatternProperties(
  node: SchemaObject,
  schemas: SchemaObject,
  { pointer, report, isTracked, toCheck }: PatternContext,
): Refinement | undefined {
  const entries = Object.keys(schemas).map((pattern) => ({
    pointer: extendPointer(pointer, "patternProperties", pattern),
    schema: schemas[pattern],
    linear: toLinearPattern(pattern),
  }));
  if (entries.every(({ linear }) => "test" in linear && linear.isNative)) {
    node["patternProperties"] = schemas;
    return undefined;
  }
  if (isTracked()) {
    throw new SchemaError(
      entries[0]!.pointer,
      "this pattern cannot be combined with unevaluatedProperties or $dynamicRef. Use a simpler pattern.",
    );
  }
  const patterns: PropertyRules["patterns"] = [];
  let additional = node["additionalProperties"];
  for (const { linear, schema, pointer } of entries) {
    if ("test" in linear) {
      patterns.push({ test: linear.test, check: toCheck(schema) });
    } else {
      report({ pointer, reason: notEnforced(linear.unsupported) });
      // The additional names can no longer be determined.
      additional = undefined;
    }
  }
  delete node["additionalProperties"];
  return checkPropertyRules({
    patterns,
    named: new Set(Object.keys(node["properties"] ?? {})),
    additional: additional === undefined ? undefined : toCheck(additional),
  });
}

function notEnforced(reason: string): string {
  return `The pattern is not enforced: ${reason}.`;
}

/** The checks of an object's properties, by pattern and for all others. */
interface PropertyRules {
  patterns: Array<{ test: RegExp; check: CheckFunction }>;
  /** Names in `properties`, which TypeBox checks. */
  named: ReadonlySet<string>;
  /** For names without a pattern that are not in `named`. `undefined` when these may have any value. */
  additional: CheckFunction | undefined;
}

function checkPropertyRules({ patterns, named, additional }: PropertyRules): Refinement {
  const findInvalid = (value: SchemaObject) =>
    Object.keys(value).find((name) => {
      const matching = patterns.filter(({ test }) => test.test(name));
      if (!matching.every(({ check }) => check(value[name]))) return true;
      return additional !== undefined && matching.length === 0 && !named.has(name) && !additional(value[name]);
    });
  return {
    check: (value) => !isObject(value) || findInvalid(value) === undefined,
    error: (value) => `property ${JSON.stringify(isObject(value) ? findInvalid(value) : undefined)} is invalid`,
  };
}
