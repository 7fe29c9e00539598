/** Common words, which count only in a string without other words. */
const stopWords: ReadonlySet<string> = new Set(
  (
    "a all am an and any are as at be by can do does for from has have how i in into is it its me my of on one or our " +
    "someone something that the their them these this those to us want was we what when where which who with you your"
  ).split(" "),
);

/** Words that mean the same in the names of most operations. A word may be in several groups. */
const synonymGroups = [
  "update edit change modify set make",
  "create add new insert make",
  "delete remove destroy",
  "get list show fetch read view",
  "search find query",
  "me my i our current authenticated self own",
  "user who someone person people",
].map((group) => group.split(" ").map(stemOf));
const changes = synonymGroups[0]!;

/** Maximum number of words of a query. */
const maxQueryWords = 32;
/** The lengths of the beginnings of a word that are searched for. The maximum limits the cost of a long word. */
const minBeginning = 4;
const maxBeginning = 20;

/** Matches URLs, whose words do not describe an operation. */
const urlPattern = /\bhttps?:\/\/[^\s)>\]]+/giu;
/** Matches a short prefix with a hyphen: `re-run` is also indexed as `rerun`. */
const prefixedWordPattern = /(?<![\p{L}\p{N}])(\p{L}{1,2})-(\p{L}{3,})/gu;

/**
 * Splits a string into the stems of its words, in their order and with repetitions. Words are separated by all characters
 * except letters and digits, and by the capitals of `camelCase` and `HTTPStatus`. Words such as "the" are omitted, unless
 * the string has no other words.
 */
export function toStems(text: string): string[] {
  const words = toWords(text);
  const telling = words.filter((word) => !stopWords.has(word));
  return (telling.length > 0 ? telling : words).map(stemOf);
}

/**
 * Returns the stems to search for, with their weights: 1 for a word of the query, less for a synonym, for the beginning of
 * a word, and for what an unknown action may mean.
 */
export function toQueryTerms(query: string): Map<string, number> {
  const stems = [...new Set(toStems(query))].slice(0, maxQueryWords);
  const weights = new Map<string, number>();
  const add = (stem: string, weight: number) => weights.set(stem, Math.max(weight, weights.get(stem) ?? 0));
  for (const stem of stems) {
    add(stem, 1);
    for (const synonym of synonymsOf(stem)) add(synonym, 0.5);
    const longest = Math.min(stem.length - 1, maxBeginning);
    for (let length = minBeginning; length <= longest; length++) add(stem.slice(0, length), length / stem.length);
  }
  // In "close an issue" the first word is an action. One without synonyms may be a change.
  const [first = "", second = ""] = toWords(query);
  const isAction = stems.length > 1 && !stopWords.has(first) && stopWords.has(second);
  if (isAction && synonymsOf(stemOf(first)).length === 0) for (const stem of changes) add(stem, 0.1);
  return weights;
}

function synonymsOf(stem: string): string[] {
  return synonymGroups.filter((group) => group.includes(stem)).flat();
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
  const singular = word.replace(/(?<=..)ies$/, "y").replace(/(?<=ss|x|z|ch|sh)es$|(?<![isu])s$/, "");
  const root = singular.replace(/(?:ing|ed)$/, "");
  const isVerb = root !== singular && root.length > 2 && /[aeiouy]/.test(root);
  const stem = isVerb ? root.replace(/(?<=..)([bdgklmnprt])\1$/, "$1") : singular;
  return stem.length > 3 && stem.endsWith("e") ? stem.slice(0, -1) : stem;
}
