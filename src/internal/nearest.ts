const maxNameLength = 128;
const maxDistance = 3;
/** Maximum number of candidates that are fully compared, which limits the cost of hostile names. */
const maxCompared = 2_000;

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
  const wanted = characterSet(name);
  const row = new Uint8Array(maxNameLength + maxDistance + 1);
  let found: string | undefined;
  let alike: string | undefined;
  let compared = 0;
  let limit = Math.min(maxDistance, Math.floor(name.length / 3));
  for (const candidate of candidates) {
    if (alike === undefined && hasSameLetters(name, candidate)) alike = candidate;
    if (Math.abs(candidate.length - name.length) > limit) continue;
    const offered = characterSet(candidate);
    // One change adds at most one new character and removes at most one.
    if (countBits(wanted & ~offered) > limit || countBits(offered & ~wanted) > limit) continue;
    if (++compared > maxCompared) break;
    const distance = distanceUpTo(limit, name, candidate, row);
    if (distance > limit) continue;
    found = candidate;
    if (distance === 0) break;
    limit = distance - 1;
  }
  return found ?? alike;
}

/** Compares letters and digits only, and ignores case. Ends at the first difference, because most names differ early. */
function hasSameLetters(a: string, b: string): boolean {
  let indexA = 0;
  let indexB = 0;
  for (let count = 0; ; count++) {
    while (indexA < a.length && isPunctuation(a.charCodeAt(indexA))) indexA++;
    while (indexB < b.length && isPunctuation(b.charCodeAt(indexB))) indexB++;
    if (indexA === a.length || indexB === b.length) {
      return count >= minLetters && indexA === a.length && indexB === b.length;
    }
    if (toLowerCase(a.charCodeAt(indexA++)) !== toLowerCase(b.charCodeAt(indexB++))) return false;
  }
}

/** Returns whether a character is an ASCII character other than a letter or digit. */
function isPunctuation(code: number): boolean {
  return code < 48 || (code > 57 && code < 65) || (code > 90 && code < 97) || (code > 122 && code < 128);
}

function toLowerCase(code: number): number {
  return code >= 65 && code <= 90 ? code + 32 : code;
}

/** Returns the set of characters of a string in 32 bits; some characters share a bit. */
function characterSet(text: string): number {
  let set = 0;
  for (let index = 0; index < text.length; index++) set |= 1 << (text.charCodeAt(index) & 31);
  return set;
}

function countBits(bits: number): number {
  let count = 0;
  for (let rest = bits; rest !== 0; rest &= rest - 1) count++;
  return count;
}

/**
 * Returns the Levenshtein distance, or a number above `limit` if the distance is larger; 1 if the only difference is that two
 * neighbours are swapped. Only cells within `limit` of the diagonal matter, so only these are filled. `row` is scratch
 * space.
 */
function distanceUpTo(limit: number, a: string, b: string, row: Uint8Array): number {
  let start = 0;
  while (start < a.length && a.charCodeAt(start) === b.charCodeAt(start)) start++;
  let endA = a.length;
  let endB = b.length;
  while (endA > start && endB > start && a.charCodeAt(endA - 1) === b.charCodeAt(endB - 1)) {
    endA--;
    endB--;
  }
  const lines = endA - start;
  const columns = endB - start;
  if (lines === 0 || columns === 0) return lines + columns;
  const isSwap = lines === 2 && columns === 2 && a[start] === b[start + 1] && a[start + 1] === b[start];
  if (isSwap) return 1;

  const outside = limit + 1;
  for (let column = 0; column <= columns; column++) row[column] = Math.min(column, outside);
  for (let line = 1; line <= lines; line++) {
    const first = Math.max(1, line - limit);
    const last = Math.min(columns, line + limit);
    let diagonal = row[first - 1]!;
    let left = first === 1 ? Math.min(line, outside) : outside;
    let smallest = left;
    row[first - 1] = left;
    for (let column = first; column <= last; column++) {
      const above = column === line + limit ? outside : row[column]!;
      let value = diagonal;
      if (a.charCodeAt(start + line - 1) !== b.charCodeAt(start + column - 1)) {
        value = 1 + (above < diagonal ? (above < left ? above : left) : diagonal < left ? diagonal : left);
      }
      diagonal = row[column]!;
      row[column] = left = value;
      if (value < smallest) smallest = value;
    }
    if (smallest > limit) return outside;
  }
  return row[columns]!;
}
