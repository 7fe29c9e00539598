import { RE2JS } from "re2js";
import { toRE2Syntax, UnsupportedPattern } from "./pattern-syntax.ts";

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
    return { test: new LinearRegExp(pattern, RE2JS.compile(toRE2Syntax(pattern))), isNative: false };
  } catch (error) {
    const reason = error instanceof UnsupportedPattern ? error.message : "the linear-time engine does not take it";
    return { unsupported: reason };
  }
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
  readonly #engine: RE2JS;

  constructor(text: string, engine: RE2JS) {
    super("");
    this.#text = text;
    this.#engine = engine;
  }

  override test(value: string): boolean {
    return this.#engine.test(value);
  }

  /** What TypeBox puts into its messages. */
  override toString(): string {
    return this.#text;
  }
}
