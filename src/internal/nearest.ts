const maxNameLength = 128;
const maxDistance = 3;
/** Names with fewer letters are not compared without their punctuation. */
const minLetters = 4;

/**
 * Returns the candidate that was probably meant by a mistyped name: the one with the fewest changed characters, at most
 * three and at most a third of the name, or else one with the same letters and digits, such as `issues/add-labels` for
 * `issues.addLabels`. Of equal candidates, the first one is returned. Fast for ten thousand candidates. Returns `undefined` for
 * names over 128 characters.
 */
export function nearest(name: string, candidates: Iterable<string>): string | undefined {
  if (name.length > maxNameLength) return undefined;
  const letters = toLetters(name);
  let limit = Math.min(maxDistance, Math.floor(name.length / 3));
  let found: string | undefined;
  let alike: string | undefined;
  for (const candidate of candidates) {
    const distance = isSwap(name, candidate) ? 1 : distanceUpTo(limit, name, candidate);
    if (distance <= limit) {
      found = candidate;
      limit = distance - 1; // Only a nearer candidate replaces this one.
    }
    if (found === undefined && letters.length >= minLetters && toLetters(candidate) === letters) alike ??= candidate;
  }
  return found ?? alike;
}

function toLetters(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");
}

/** Returns whether the only difference is that two neighbours are swapped. */
function isSwap(a: string, b: string): boolean {
  if (a === b || a.length !== b.length) return false;
  let index = 0;
  while (a[index] === b[index]) index++;
  return a[index] === b[index + 1] && a[index + 1] === b[index] && a.slice(index + 2) === b.slice(index + 2);
}

/** Returns the Levenshtein distance, or `limit + 1` if it is larger. Fast for small limits. */
function distanceUpTo(limit: number, a: string, b: string): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start++;
  const [restA, restB] = [a.slice(start), b.slice(start)];
  if (restA === "" || restB === "") return restA.length + restB.length;
  if (limit === 0) return 1;
  const replaced = distanceUpTo(limit - 1, restA.slice(1), restB.slice(1));
  const removed = distanceUpTo(limit - 1, restA.slice(1), restB);
  const added = distanceUpTo(limit - 1, restA, restB.slice(1));
  return 1 + Math.min(replaced, removed, added);
}
