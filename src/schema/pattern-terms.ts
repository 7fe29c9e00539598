import { UnsupportedPattern } from "./pattern-syntax.ts";

/** One element of a pattern, with its quantifier. */
export interface Term {
  kind: "start" | "end" | "look" | "group" | "atom";
  /** The source without the quantifier. */
  source: string;
  /** Empty for a term without a quantifier. */
  quantifier: string;
  /** The alternatives inside a group or lookaround. */
  body: Term[][];
  /** Present for a lookaround. */
  look?: { ahead: boolean; negative: boolean; source: string };
  /** The number of characters it matches; `undefined` when it depends on the string. */
  length: number | undefined;
  /** The approximate number of instructions it compiles to. */
  size: number;
}

// The linear-time engine has the same limit.
const maxGroupDepth = 200;

/** Parses an ECMA-262 pattern into its alternatives and their terms. The pattern must be valid. */
export function parsePattern(pattern: string): Term[][] {
  return new PatternParser(pattern).parse(0);
}

/** Returns whether the terms contain a lookaround at any depth. */
export function hasLookaround(alternatives: Term[][]): boolean {
  return alternatives.some((terms) => terms.some((term) => term.kind === "look" || hasLookaround(term.body)));
}

/** Returns the approximate number of instructions a pattern compiles to: counted repetitions are expanded. */
export function sizeOf(alternatives: Term[][]): number {
  return alternatives.reduce((sum, terms) => sum + 1 + terms.reduce((inner, { size }) => inner + size, 0), 0);
}

class PatternParser {
  readonly #pattern: string;
  #at = 0;

  constructor(pattern: string) {
    this.#pattern = pattern;
  }

  parse(depth: number): Term[][] {
    if (depth > maxGroupDepth) throw new UnsupportedPattern("it is nested too deeply");
    const alternatives: Term[][] = [[]];
    for (;;) {
      const character = this.#pattern[this.#at];
      if (character === undefined || character === ")") return alternatives;
      if (character === "|") {
        this.#at += 1;
        alternatives.push([]);
      } else {
        alternatives[alternatives.length - 1]!.push(this.#term(character, depth));
      }
    }
  }

  #term(character: string, depth: number): Term {
    if (character === "^") return this.#simple("start", 1, 0);
    if (character === "$") return this.#simple("end", 1, 0);
    const term = character === "(" ? this.#group(depth) : this.#atom(character);
    const quantifier = this.#match(/(?:[*+?]|\{(\d+)(?:(,)(\d*))?\})\??/y);
    if (quantifier === null) return term;
    const [source, min, comma, max] = quantifier;
    const isExact = min !== undefined && comma === undefined;
    const count = min === undefined ? 1 : Number(max || min);
    return {
      ...term,
      quantifier: source,
      length: isExact && term.length !== undefined ? term.length * count : undefined,
      size: isExact ? term.size * count + 1 : (term.size + 1) * Math.max(count, 1),
    };
  }

  #group(depth: number): Term {
    const start = this.#at;
    const [opening] = this.#match(/\((?:\?(?:<?[=!]|<[^>]*>|[a-z-]*:))?/y)!;
    const inside = this.#at;
    const body = this.parse(depth + 1);
    const held = this.#pattern.slice(inside, this.#at);
    this.#at += 1;
    const source = this.#pattern.slice(start, this.#at);
    const size = sizeOf(body);
    const sign = /^\(\?(<?)([=!])$/.exec(opening);
    if (sign === null) return { kind: "group", source, quantifier: "", body, length: lengthOf(body), size };
    const look = { ahead: sign[1] === "", negative: sign[2] === "!", source: held };
    return { kind: "look", source, quantifier: "", body, look, length: 0, size };
  }

  #atom(character: string): Term {
    if (character === "[") return this.#simple("atom", this.#match(/\[(?:\\.|[^\]\\])*\]/sy)![0].length, 1, true);
    if (character !== "\\") return this.#simple("atom", this.#pattern.codePointAt(this.#at)! > 0xffff ? 2 : 1, 1);
    const pair = /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}/y;
    const other = /\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|k<[^>]*>|[1-9]\d*|.)/suy;
    const [source] = (this.#match(pair) ?? this.#match(other))!;
    return this.#simple("atom", source.length, /^\\[bB]/.test(source) ? 0 : 1, true);
  }

  /** @param isRead - whether the source was read already */
  #simple(kind: Term["kind"], characters: number, length: number, isRead = false): Term {
    if (!isRead) this.#at += characters;
    const source = this.#pattern.slice(this.#at - characters, this.#at);
    return { kind, source, quantifier: "", body: [], length, size: 1 };
  }

  #match(expression: RegExp): RegExpExecArray | null {
    expression.lastIndex = this.#at;
    const match = expression.exec(this.#pattern);
    if (match !== null) this.#at += match[0].length;
    return match;
  }
}

/** Returns the number of characters that the alternatives match, if all match the same number. */
function lengthOf(alternatives: Term[][]): number | undefined {
  const lengths = alternatives.map((terms) =>
    terms.reduce<number | undefined>(
      (sum, { length }) => (sum === undefined || length === undefined ? undefined : sum + length),
      0,
    ),
  );
  return lengths.every((length) => length === lengths[0]) ? lengths[0] : undefined;
}

/** A pattern without lookarounds, and conditions: other patterns that must match, or must not. */
export interface Conjunction {
  pattern: string;
  conditions: Array<{ pattern: string; negative: boolean }>;
}

const maxAlternatives = 64;

/**
 * Rewrites a pattern with lookarounds as alternatives of conjunctions with the same meaning. This is possible where the
 * position of a lookaround is known: `^(?!A)B` matches strings that match `^B` and not `^A`, and `B(?<!A)$` those that
 * match `B$` and not `A$`.
 * @throws UnsupportedPattern for all others
 */
export function toConjunctions(alternatives: Term[][]): Conjunction[] {
  return alternatives.flatMap(distribute).map(toConjunction);
}

/** Expands groups that contain lookarounds, so that these are at the top level: `a(?:b|c)d` becomes `abd|acd`. */
function distribute(terms: Term[]): Term[][] {
  let results: Term[][] = [[]];
  for (const term of terms) {
    const isExpanded = term.kind === "group" && term.quantifier === "" && hasLookaround(term.body);
    const choices = isExpanded ? term.body.flatMap(distribute) : [[term]];
    if (results.length * choices.length > maxAlternatives) throw notExpressible();
    results = results.flatMap((before) => choices.map((choice) => [...before, ...choice]));
  }
  return results;
}

function toConjunction(given: Term[]): Conjunction {
  const conditions: Conjunction["conditions"] = [];
  const joined = joinOuterLookarounds(given);
  const terms = joined.map((term) => temper(term, joined, conditions));
  for (const [index, term] of terms.entries()) {
    if (term.kind !== "look") {
      if (hasLookaround(term.body)) throw notExpressible();
      continue;
    }
    const { ahead, negative, source } = term.look!;
    const before = terms.slice(0, index).filter(isConsuming);
    const after = terms.slice(index + 1).filter(isConsuming);
    if (term.quantifier !== "") throw notExpressible();
    if (ahead ? !isAnchored(before, after, "start") : !isAnchored(after.toReversed(), before.toReversed(), "end")) {
      throw notExpressible();
    }
    conditions.push({ pattern: ahead ? `^${write(before)}(?:${source})` : `(?:${source})${write(after)}$`, negative });
  }
  return { pattern: write(terms.filter(isConsuming)), conditions };
}

/** Returns whether a position is known, at a fixed distance from an anchor. */
function isAnchored(between: Term[], beyond: Term[], anchor: "start" | "end"): boolean {
  if (between.length === 0) return beyond[0]?.kind === anchor;
  return between[0]!.kind === anchor && between.every(({ length }) => length !== undefined);
}

/** Makes a lookbehind at the start and a lookahead at the end part of the pattern: the matched string is not used. */
function joinOuterLookarounds(terms: Term[]): Term[] {
  const toGroup = (term: Term): Term => ({ ...term, kind: "group", source: `(?:${term.look!.source})` });
  return terms.map((term, index) => {
    const isOuter = term.look?.ahead === true ? index === terms.length - 1 : index === 0;
    return isOuter && term.look?.negative === false && term.quantifier === "" ? toGroup(term) : term;
  });
}

/** Rewrites `^(?:(?!A).)*$`, which tests every position: it matches strings that match `^.*$` and do not contain `A`. */
function temper(term: Term, all: Term[], conditions: Conjunction["conditions"]): Term {
  const [look, next, ...others] = term.body.length === 1 ? term.body[0]! : [];
  if (term.kind !== "group" || look?.kind !== "look" || next === undefined || others.length > 0) return term;
  const { ahead, negative, source } = look.look!;
  const isOnly = all.every((other) => other === term || (other.kind !== "group" && other.kind !== "atom"));
  const isWhole = all.find(isConsuming)?.kind === "start" && all.findLast(isConsuming)?.kind === "end";
  if (!ahead || !negative || !isOnly || !isWhole || next.length !== 1 || look.quantifier !== "") return term;
  // The lookahead does not run at the end of the string, so `A` must not match there.
  if (/\\[bB]/.test(source) || new RegExp(source).test("")) return term;
  conditions.push({ pattern: `(?:${source})`, negative: true });
  return { ...term, source: `(?:${next.source}${next.quantifier})`, body: [[next]] };
}

function isConsuming({ kind }: Term): boolean {
  return kind !== "look";
}

function write(terms: Term[]): string {
  return terms.map(({ source, quantifier }) => source + quantifier).join("");
}

function notExpressible(): UnsupportedPattern {
  return new UnsupportedPattern("it uses lookarounds that cannot run in linear time, or flags");
}
