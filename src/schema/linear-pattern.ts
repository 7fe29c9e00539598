import { RE2JS } from "re2js";
import { toConjunctions } from "./lookaround.ts";
import { toRE2Syntax, UnsupportedPattern } from "./pattern-syntax.ts";
import { hasLookaround, parsePattern, sizeOf } from "./pattern-terms.ts";
import { TooManySteps } from "./step-meter.ts";

/** A pattern that is safe to run, or why there is none. */
export type LinearPattern = { test: RegExp; isNative: boolean } | { unsupported: string };

/**
 * Makes a foreign pattern safe to run: the time it takes grows with the length of the text and not faster. Plain
 * patterns stay native, because there they are safe and 20 times as fast.
 */
export function toLinearPattern(pattern: string): LinearPattern {
  const native = toNative(pattern);
  if (native === undefined) return { unsupported: "it is not a regular expression of ECMA-262" };
  if (isPlain(pattern) && native.unicode) return { test: native, isNative: true };
  try {
    return { test: new LinearRegExp(pattern, compile(pattern, 0)), isNative: false };
  } catch (error) {
    const reason = error instanceof UnsupportedPattern ? error.message : "the linear-time engine does not take it";
    return { unsupported: reason };
  }
}

/** Compiling takes some 4 µs for each instruction. What is written out counts less: a long list of words is harmless. */
const maxInstructions = 20_000;
/** A lookaround may hold another; each level is written out with what stands around it. */
const maxLookarounds = 4;

type Matcher = (value: string) => boolean;

function compile(pattern: string, lookarounds: number): Matcher {
  const alternatives = parsePattern(pattern);
  if (sizeOf(alternatives) > Math.max(maxInstructions, 2 * pattern.length))
    throw new UnsupportedPattern("it repeats too much to be compiled");
  if (!hasLookaround(alternatives)) return bounded(RE2JS.compile(toRE2Syntax(pattern)));
  if (lookarounds === maxLookarounds) throw new UnsupportedPattern("its lookarounds are nested too deeply");
  const conjunctions = toConjunctions(alternatives).map((conjunction) => ({
    matches: compile(conjunction.pattern, lookarounds + 1),
    conditions: conjunction.conditions.map((condition) => ({
      matches: compile(condition.pattern, lookarounds + 1),
      expected: !condition.negative,
    })),
  }));
  return (value) =>
    conjunctions.some(
      ({ matches, conditions }) =>
        matches(value) && conditions.every((condition) => condition.matches(value) === condition.expected),
    );
}

/** The engine takes up to 5 ns for each character and instruction; these many for each value, and for each character. */
const stepsPerValue = 20_000_000;
const stepsPerCharacter = 200;

function bounded(engine: RE2JS): Matcher {
  const size = engine.programSize();
  if (size <= stepsPerCharacter) return (value) => engine.test(value);
  const maxLength = stepsPerValue / (size - stepsPerCharacter);
  return (value) => {
    if (value.length > maxLength) throw new TooManySteps();
    return engine.test(value);
  };
}

/** Whether the native engine runs a pattern without backtracking into more than one choice. */
function isPlain(pattern: string): boolean {
  const outsideClasses = pattern.replace(/\\./g, "x").replace(/\[[^\]]*\]/g, "x");
  if (/[(|]/.test(outsideClasses) || /\\[1-9k]/.test(pattern)) return false;
  const choices = outsideClasses.match(/[*+?{]/g)?.length ?? 0;
  return choices === 0 || (choices === 1 && pattern.startsWith("^"));
}

function toNative(pattern: string): RegExp | undefined {
  for (const flags of ["u", ""]) {
    try {
      return new RegExp(pattern, flags);
    } catch {
      // Many patterns in the wild escape more than the `u` flag allows; they are understood without it.
    }
  }
  return undefined;
}

/** Looks like a RegExp, because TypeBox takes nothing else for a pattern, and runs on RE2. */
class LinearRegExp extends RegExp {
  readonly #text: string;
  readonly #matches: Matcher;

  constructor(text: string, matches: Matcher) {
    super("");
    this.#text = text;
    this.#matches = matches;
  }

  override test(value: string): boolean {
    return this.#matches(value);
  }

  /** What TypeBox puts into its messages. */
  override toString(): string {
    return this.#text;
  }
}
