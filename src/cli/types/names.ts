/** Words that cannot name a namespace or a type. */
const reserved = new Set(
  (
    "any as async await bigint boolean break case catch class const continue debugger declare default delete do else enum " +
    "export extends false finally for from function get if implements import in infer instanceof interface is keyof let " +
    "module namespace never new null number object of package private protected public readonly require return set " +
    "static string super switch symbol this throw true try type typeof undefined unique unknown using var void while " +
    "with yield global globalThis Operations"
  ).split(" "),
);

/** Returns the name of a type for a name of a document: `simple-user` becomes `SimpleUser`. */
export function toIdentifier(name: string): string {
  const words = name.split(/[^\p{L}\p{Nd}]+/u).filter((word) => word !== "");
  return toWord(words.map((word) => word.replace(/^./u, (letter) => letter.toUpperCase())).join(""), "Type");
}

/** Returns the TypeScript namespace of a namespace of operations: `my-server` becomes `my_server`. */
export function toNamespace(namespace: string): string {
  return toWord(namespace.replaceAll(/[^\p{L}\p{Nd}_$]+/gu, "_"), "operations");
}

function toWord(word: string, fallback: string): string {
  const named = word === "" ? fallback : /^\p{Nd}/u.test(word) ? `_${word}` : word;
  return reserved.has(named) ? `${named}_` : named;
}

/** Returns the name, with a number if it is taken, and takes it. */
export function uniqueName(name: string, taken: Set<string>): string {
  let unique = name;
  for (let count = 2; taken.has(unique); count += 1) unique = `${name}_${count}`;
  taken.add(unique);
  return unique;
}

/** Returns a property name as it is written in a type. */
export function toPropertyName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quoteString(name);
}

/** Returns a string literal without characters that a terminal or an editor interprets. */
export function quoteString(text: string): string {
  return JSON.stringify(text).replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    const code = character.codePointAt(0)!;
    return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}
