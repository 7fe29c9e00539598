/** A pattern that the linear-time engine cannot express. The message completes "The pattern is not enforced: …". */
export class UnsupportedPattern extends Error {}

// RE2 defines `\s` and `.` for ASCII only, ECMA-262 for Unicode.
const space = "\\t-\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}";
const notSpace =
  "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}" +
  "\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}";
const notLineEnd = "[^\\n\\r\\x{2028}\\x{2029}]";
const anything = "\\x{0}-\\x{10ffff}";

const categories: Readonly<Record<string, string>> = {
  Letter: "L",
  Cased_Letter: "LC",
  Uppercase_Letter: "Lu",
  Lowercase_Letter: "Ll",
  Titlecase_Letter: "Lt",
  Modifier_Letter: "Lm",
  Other_Letter: "Lo",
  Mark: "M",
  Combining_Mark: "M",
  Nonspacing_Mark: "Mn",
  Spacing_Mark: "Mc",
  Enclosing_Mark: "Me",
  Number: "N",
  Decimal_Number: "Nd",
  digit: "Nd",
  Letter_Number: "Nl",
  Other_Number: "No",
  Punctuation: "P",
  punct: "P",
  Symbol: "S",
  Math_Symbol: "Sm",
  Currency_Symbol: "Sc",
  Modifier_Symbol: "Sk",
  Other_Symbol: "So",
  Separator: "Z",
  Space_Separator: "Zs",
  Line_Separator: "Zl",
  Paragraph_Separator: "Zp",
  Other: "C",
  Control: "Cc",
  cntrl: "Cc",
  Format: "Cf",
};

/** Rewrites an ECMA-262 pattern in the syntax of RE2 with the same meaning. Captures become non-capturing groups. */
export function toRE2Syntax(pattern: string): string {
  let result = "";
  let inClass = false;
  for (let at = 0; at < pattern.length; ) {
    const [replacement, length] = inClass ? translateInClass(pattern, at) : translate(pattern, at);
    if (pattern[at] === "[" && replacement.startsWith("[") && !replacement.endsWith("]")) inClass = true;
    else if (pattern[at] === "]" && inClass) inClass = false;
    result += replacement;
    at += length;
  }
  return result;
}

/** The replacement of one element of the pattern, and the length of that element. */
type Translation = [replacement: string, length: number];

function translate(pattern: string, at: number): Translation {
  const rest = pattern.slice(at, at + 4);
  switch (pattern[at]) {
    case "\\":
      return translateEscape(pattern, at, false);
    case ".":
      return [notLineEnd, 1];
    case "(":
      return translateGroup(pattern, at);
    case "[":
      if (rest.startsWith("[^]")) return [`[${anything}]`, 3];
      if (rest.startsWith("[]")) return [`[^${anything}]`, 2];
      return rest.startsWith("[^") ? ["[^", 2] : ["[", 1];
    case "{":
      return /^\{\d+(,\d*)?\}/.test(pattern.slice(at, at + 20)) ? ["{", 1] : ["\\{", 1];
    case "}":
      return /\{\d+(,\d*)?$/.test(pattern.slice(Math.max(0, at - 20), at)) ? ["}", 1] : ["\\}", 1];
    case "]":
      return ["\\]", 1];
    default:
      return [pattern[at]!, 1];
  }
}

function translateInClass(pattern: string, at: number): Translation {
  const character = pattern[at]!;
  if (character === "\\") return translateEscape(pattern, at, true);
  return [character === "[" || character === "^" ? `\\${character}` : character, 1];
}

function translateGroup(pattern: string, at: number): Translation {
  if (pattern[at + 1] !== "?") return ["(?:", 1];
  if (pattern[at + 2] === ":") return ["(?:", 3];
  const named = /^\(\?<[^=!>][^>]*>/.exec(pattern.slice(at));
  if (named) return ["(?:", named[0].length];
  throw new UnsupportedPattern("it uses lookarounds that cannot run in linear time, or flags");
}

function translateEscape(pattern: string, at: number, inClass: boolean): Translation {
  const rest = pattern.slice(at + 1);
  const character = rest[0] ?? "";
  if ("dDwW".includes(character)) return [`\\${character}`, 2];
  if ("tnrfv".includes(character)) return [`\\${character}`, 2];
  if (character === "s") return [inClass ? space : `[${space}]`, 2];
  if (character === "S") return [inClass ? notSpace : `[^${space}]`, 2];
  if (character === "b" || character === "B") return [inClass ? "\\x{8}" : `\\${character}`, 2];
  const point = codePoint(rest);
  if (point) return [`\\x{${point[0].toString(16)}}`, 1 + point[1]];
  const property = /^([pP])\{([^}]*)\}/.exec(rest);
  if (property) return [toUnicodeClass(property[1]!, property[2]!), 1 + property[0].length];
  if (/[1-9k]/.test(character)) throw new UnsupportedPattern("it uses a back reference");
  if (/[0-9A-Za-z]/.test(character) || character === "")
    throw new UnsupportedPattern(`it uses the escape \\${character}`);
  return [/[!-~]/.test(character) ? `\\${character}` : character, 2];
}

function codePoint(text: string): [point: number, length: number] | undefined {
  const pair = /^u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})/.exec(text);
  if (pair) {
    const [high, low] = [Number.parseInt(pair[1]!, 16), Number.parseInt(pair[2]!, 16)];
    return [String.fromCharCode(high, low).codePointAt(0)!, pair[0].length];
  }
  const hex = /^(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\})/.exec(text);
  if (hex) return [Number.parseInt((hex[1] ?? hex[2] ?? hex[3])!, 16), hex[0].length];
  const control = /^c([A-Za-z])/.exec(text);
  if (control) return [control[1]!.charCodeAt(0) % 32, 2];
  return /^0(?![0-9])/.test(text) ? [0, 1] : undefined;
}

function toUnicodeClass(letter: string, property: string): string {
  const named = /^(?:gc|General_Category|sc|Script)=(.*)$/.exec(property)?.[1] ?? property;
  return `\\${letter}{${Object.hasOwn(categories, named) ? categories[named] : named}}`;
}
