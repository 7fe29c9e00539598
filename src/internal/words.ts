/** Common words, which count only in a string without other words. */
const stopWords: ReadonlySet<string> = new Set(
  (
    "a all am an and any are as at be by can do does for from has have how i in into is it its me my of on one or our " +
    "someone something that the their them these this those to us want was we what when where which who with you your"
  ).split(" "),
);

const changes = "update edit change modify set make";
/** Words that mean the same in the names of most operations. A word may be in several groups. */
const synonymGroups = [
  changes,
  "create add new insert make",
  "delete remove destroy",
  "get list show fetch read view",
  "search find query",
  "me my i our current authenticated self own",
  "user who someone person people",
].map((group) => group.split(" ").map(stemOf));
const changeStems = changes.split(" ").map(stemOf);

/** Matches URLs, whose words do not describe an operation. */
const urlPattern = /\bhttps?:\/\/[^\s)>\]]+/giu;
/** Matches a short prefix with a hyphen: `re-run` is also indexed as `rerun`. */
const prefixedWordPattern = /(?<![\p{L}\p{N}])(\p{L}{1,2})-(\p{L}{3,})/gu;

/**
 * Splits a string into the stems of its words, in their order and with repetitions. Words are separated by all characters
 * except letters and digits, and by the capitals of `camelCase` and `HTTPStatus`.
 */
export function toStems(text: string): string[] {
  return toWords(text).map(stemOf);
}

/** Returns the distinct stems of a string, without words such as "the", unless it has no other words. */
export function toTellingStems(text: string): string[] {
  const words = toWords(text);
  const telling = words.filter((word) => !stopWords.has(word));
  return [...new Set((telling.length > 0 ? telling : words).map(stemOf))];
}

/** A word of a query. */
export interface QueryTerm {
  readonly stem: string;
  /** Stems of words that mean the same. */
  readonly synonyms: readonly string[];
  /** Stems of words that may mean the same. */
  readonly related: readonly string[];
}

/** Returns the words of a query: those of {@link toTellingStems}. */
export function toQueryTerms(query: string): QueryTerm[] {
  const stems = toTellingStems(query);
  const [first = "", second = ""] = toWords(query);
  // In "close an issue" the first word is an action. One that has no operation of its own is often a change.
  const isAction = stems.length > 1 && !stopWords.has(first) && stopWords.has(second);
  return stems.map((stem, index) => {
    const groups = synonymGroups.filter((group) => group.includes(stem));
    const related = isAction && index === 0 && groups.length === 0 ? changeStems : [];
    return { stem, synonyms: groups.flat().filter((it) => it !== stem), related };
  });
}

function toWords(text: string): string[] {
  const readable = (text.includes("://") ? text.replace(urlPattern, " ") : text)
    .replace(prefixedWordPattern, "$1-$2 $1$2")
    .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, "$1 $2")
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2");
  return readable.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
}

/**
 * Removes the common endings of English words, so that "issues", "labelled" and "merging" match "issue", "label" and
 * "merge". The result need not be a word. Words with letters other than a to z are unchanged.
 */
function stemOf(word: string): string {
  if (word.length < 4 || !/^[a-z]+$/.test(word)) return word;
  const singular = toSingular(word);
  const root = withoutEnding(singular);
  return root.length > 3 && root.endsWith("e") ? root.slice(0, -1) : root;
}

function toSingular(word: string): string {
  if (/(?:ss|us|is)$/.test(word)) return word;
  if (word.length > 4 && word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  if (/(?:ss|x|z|ch|sh)es$/.test(word)) return word.slice(0, -2);
  return word.endsWith("s") ? word.slice(0, -1) : word;
}

function withoutEnding(word: string): string {
  const root = word.replace(/(?:ing|ed)$/, "");
  if (root === word || root.length < 3 || !/[aeiouy]/.test(root)) return word;
  return root.length > 3 && /([bdgklmnprt])\1$/.test(root) ? root.slice(0, -1) : root;
}
