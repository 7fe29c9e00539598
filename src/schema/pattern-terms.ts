import { UnsupportedPattern } from "./pattern-syntax.ts";

/** One piece of a pattern, with its quantifier. */
export interface Term {
  kind: "start" | "end" | "look" | "group" | "atom";
  /** As it is written, without the quantifier. */
  text: string;
  /** Empty when there is none. */
  quantifier: string;
  /** The alternatives inside of a group or lookaround. */
  body: Term[][];
  /** Of a lookaround. */
  look?: { ahead: boolean; negative: boolean; text: string };
  /** How many characters it takes; `undefined` when that depends on the string. */
  length: number | undefined;
  /** About how many instructions it compiles to. */
  size: number;
}

// The linear-time engine refuses deeper ones as well.
const maxDepth = 200;

/** Takes an ECMA-262 pattern apart into its alternatives and their terms. The pattern must be valid. */
export function parsePattern(pattern: string): Term[][] {
  return new PatternParser(pattern).parse(0);
}

/** Whether a lookaround is anywhere among the terms. */
export function hasLookaround(alternatives: Term[][]): boolean {
  return alternatives.some((terms) => terms.some((term) => term.kind === "look" || hasLookaround(term.body)));
}

/** About how many instructions a pattern compiles to: counted repetitions are written out. */
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
    if (depth > maxDepth) throw new UnsupportedPattern("it is nested too deeply");
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
    const [text, least, comma, most] = quantifier;
    const isExact = least !== undefined && comma === undefined;
    const count = least === undefined ? 1 : Number(most || least);
    return {
      ...term,
      quantifier: text,
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
    const text = this.#pattern.slice(start, this.#at);
    const size = sizeOf(body);
    const sign = /^\(\?(<?)([=!])$/.exec(opening);
    if (sign === null) return { kind: "group", text, quantifier: "", body, length: lengthOf(body), size };
    const look = { ahead: sign[1] === "", negative: sign[2] === "!", text: held };
    return { kind: "look", text, quantifier: "", body, look, length: 0, size };
  }

  #atom(character: string): Term {
    if (character === "[") return this.#simple("atom", this.#match(/\[(?:\\.|[^\]\\])*\]/sy)![0].length, 1, true);
    if (character !== "\\") return this.#simple("atom", this.#pattern.codePointAt(this.#at)! > 0xffff ? 2 : 1, 1);
    const pair = /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}/y;
    const other = /\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|k<[^>]*>|[1-9]\d*|.)/suy;
    const [text] = (this.#match(pair) ?? this.#match(other))!;
    return this.#simple("atom", text.length, /^\\[bB]/.test(text) ? 0 : 1, true);
  }

  /** @param isTaken - whether the text was read already */
  #simple(kind: Term["kind"], characters: number, length: number, isTaken = false): Term {
    if (!isTaken) this.#at += characters;
    const text = this.#pattern.slice(this.#at - characters, this.#at);
    return { kind, text, quantifier: "", body: [], length, size: 1 };
  }

  #match(expression: RegExp): RegExpExecArray | null {
    expression.lastIndex = this.#at;
    const match = expression.exec(this.#pattern);
    if (match !== null) this.#at += match[0].length;
    return match;
  }
}

/** The length of what alternatives take, when all take the same. */
function lengthOf(alternatives: Term[][]): number | undefined {
  const lengths = alternatives.map((terms) =>
    terms.reduce<number | undefined>(
      (sum, { length }) => (sum === undefined || length === undefined ? undefined : sum + length),
      0,
    ),
  );
  return lengths.every((length) => length === lengths[0]) ? lengths[0] : undefined;
}
