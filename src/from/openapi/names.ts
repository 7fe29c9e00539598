/** Longest name that an operation may have. */
const longest = 256;

/** The name that a method of a path gets when the document gives none: `GET /users/{id}` is `get_users_id`. */
export function pathName(method: string, path: string): string {
  const parts = path.split(/[^\p{L}\p{N}]+/u).filter((part) => part !== "");
  return [method.toLowerCase(), ...parts].join("_");
}

/** Makes a text fit for a name: no control characters and lone surrogates, not too long. Two long texts that differ stay different. */
export function fitName(text: string): string {
  const plain = text.replaceAll(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/gu, "_");
  if (plain.length <= longest) return plain;
  // The cut may go through a surrogate pair.
  const start = plain.slice(0, longest - 9).replace(/\p{Cs}$/u, "");
  return `${start}_${hashText(plain)}`;
}

/** Eight hex digits that tell texts apart. Not for secrets. */
export function hashText(text: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0).toString(16).padStart(8, "0");
}

/** Gives out each name once. */
export class NameBook {
  readonly #owners = new Map<string, string>();
  /** The number to try next behind a name; counting from the start would take quadratic time. */
  readonly #counts = new Map<string, number>();

  /** Who has a name already. */
  ownerOf(name: string): string | undefined {
    return this.#owners.get(name);
  }

  /** Takes the first of `wanted` that is free, else the last one with a number behind it. */
  take(owner: string, ...wanted: string[]): string {
    const names = wanted.map(fitName);
    let name = names.find((candidate) => !this.#owners.has(candidate));
    const last = names.at(-1)!;
    while (name === undefined) {
      const count = this.#counts.get(last) ?? 2;
      this.#counts.set(last, count + 1);
      const numbered = fitName(`${last}_${count}`);
      if (!this.#owners.has(numbered)) name = numbered;
    }
    this.#owners.set(name, owner);
    return name;
  }
}
