import { UnsupportedPattern } from "./pattern-syntax.ts";
import { hasLookaround, type Term } from "./pattern-terms.ts";

/** A pattern without lookarounds, and others that must match, or must not, for the whole to match. */
export interface Conjunction {
  pattern: string;
  conditions: Array<{ pattern: string; negative: boolean }>;
}

const maxAlternatives = 64;

/**
 * Writes a pattern with lookarounds as alternatives of conjunctions, with the same meaning. That is possible where the
 * position of a lookaround is known: `^(?!A)B` matches what `^B` matches and `^A` does not, and `B(?<!A)$` what `B$`
 * matches and `A$` does not. @throws UnsupportedPattern for all others
 */
export function toConjunctions(alternatives: Term[][]): Conjunction[] {
  return alternatives.flatMap(distribute).map(toConjunction);
}

/** Takes groups apart that contain lookarounds, so that these stand at the top: `a(?:b|c)d` is `abd|acd`. */
function distribute(terms: Term[]): Term[][] {
  let results: Term[][] = [[]];
  for (const term of terms) {
    const isOpened = term.kind === "group" && term.quantifier === "" && hasLookaround(term.body);
    const choices = isOpened ? term.body.flatMap(distribute) : [[term]];
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
    const { ahead, negative, text } = term.look!;
    const before = terms.slice(0, index).filter(isConsuming);
    const after = terms.slice(index + 1).filter(isConsuming);
    if (term.quantifier !== "") throw notExpressible();
    if (ahead ? !isAnchored(before, after, "start") : !isAnchored(after.toReversed(), before.toReversed(), "end")) {
      throw notExpressible();
    }
    conditions.push({ pattern: ahead ? `^${write(before)}(?:${text})` : `(?:${text})${write(after)}$`, negative });
  }
  return { pattern: write(terms.filter(isConsuming)), conditions };
}

/** Whether a position is known: at a fixed distance from an anchor. */
function isAnchored(between: Term[], beyond: Term[], anchor: "start" | "end"): boolean {
  if (between.length === 0) return beyond[0]?.kind === anchor;
  return between[0]!.kind === anchor && between.every(({ length }) => length !== undefined);
}

/** What a pattern looks for before it, or behind it at its end, is as good as a part of it: nothing reads the match. */
function joinOuterLookarounds(terms: Term[]): Term[] {
  const toGroup = (term: Term): Term => ({ ...term, kind: "group", text: `(?:${term.look!.text})` });
  return terms.map((term, index) => {
    const isOuter = term.look?.ahead === true ? index === terms.length - 1 : index === 0;
    return isOuter && term.look?.negative === false && term.quantifier === "" ? toGroup(term) : term;
  });
}

/**
 * `^(?:(?!A).)*$`, where each character is looked at before it is taken, matches what `^.*$` matches unless `A` is
 * found anywhere.
 */
function temper(term: Term, all: Term[], conditions: Conjunction["conditions"]): Term {
  const [look, taken, ...others] = term.body.length === 1 ? term.body[0]! : [];
  if (term.kind !== "group" || look?.kind !== "look" || taken === undefined || others.length > 0) return term;
  const { ahead, negative, text } = look.look!;
  const isOnly = all.every((other) => other === term || (other.kind !== "group" && other.kind !== "atom"));
  const isWhole = all.find(isConsuming)?.kind === "start" && all.findLast(isConsuming)?.kind === "end";
  if (!ahead || !negative || !isOnly || !isWhole || taken.length !== 1 || look.quantifier !== "") return term;
  // At the end no character is taken, and so nothing looked for; `A` must not be found there.
  if (/\\[bB]/.test(text) || new RegExp(text).test("")) return term;
  conditions.push({ pattern: `(?:${text})`, negative: true });
  return { ...term, text: `(?:${taken.text}${taken.quantifier})`, body: [[taken]] };
}

function isConsuming({ kind }: Term): boolean {
  return kind !== "look";
}

function write(terms: Term[]): string {
  return terms.map(({ text, quantifier }) => text + quantifier).join("");
}

function notExpressible(): UnsupportedPattern {
  return new UnsupportedPattern("it looks ahead or behind, or uses flags");
}
