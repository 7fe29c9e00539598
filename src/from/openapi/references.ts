import { extendPointer, hasElement, unescapeToken } from "../../internal/json-pointer.ts";
import { getOwn, type JSONObject } from "../../internal/objects.ts";
import { quote } from "../../internal/text.ts";
import { decodePercent } from "../../internal/urls.ts";
import { documentLimitExceeded } from "./errors.ts";

/** A value and its location. `base` is the URL of the document that contains it, or `""` for the imported document. */
export interface Located<T = unknown> {
  value: T;
  /** JSON pointer such as `#/components/schemas/Pet`. In another document, its URL precedes the `#`. */
  pointer: string;
  base: string;
}

/** Returns a property of a located object, with its own location. */
export function within(holder: Located, ...keys: string[]): Located {
  return {
    value: keys.reduce<unknown>((value, key) => getOwn(value, key), holder.value),
    pointer: extendPointer(holder.pointer, ...keys),
    base: holder.base,
  };
}

/** Thrown if a reference cannot be resolved. An `external` reference points outside the document and is not allowed. */
export class ReferenceProblem extends Error {
  override readonly name = "ReferenceProblem";
  readonly kind: "external" | "dangling";
  readonly pointer: string;

  constructor(kind: "external" | "dangling", pointer: string, message: string) {
    super(message);
    this.kind = kind;
    this.pointer = pointer;
  }
}

// Each reference on the path to a target uses stack space.
const maxReferenceChain = 100;

/** Resolves the references of one document and of the external documents that the operator allowed. Never fetches. */
export class References {
  readonly #root: JSONObject;
  readonly #documentUrl: string | undefined;
  readonly #externals: ReadonlyMap<string, unknown>;
  readonly #limit: number;
  readonly #found = new Map<string, Located>();
  /** References that are being resolved. A reference may point through another. */
  readonly #walking = new Set<string>();
  #named: Map<string, Located> | undefined;

  constructor(
    root: JSONObject,
    options: { documentUrl?: string; externals?: ReadonlyMap<string, unknown>; limit: number },
  ) {
    this.#root = root;
    this.#documentUrl = options.documentUrl;
    this.#externals = options.externals ?? new Map();
    this.#limit = options.limit;
  }

  /** Resolves a reference; `from` is the value that contains it. @throws ReferenceProblem */
  resolve(reference: string, from: Located): Located {
    const key = `${from.base}\n${reference}`;
    const known = this.#found.get(key);
    if (known !== undefined) return known;
    if (this.#found.size >= this.#limit) throw documentLimitExceeded("references", `over ${this.#limit} references`);
    if (this.#walking.has(key)) {
      throw new ReferenceProblem("dangling", from.pointer, `${quote(reference)} refers to itself.`);
    }
    if (this.#walking.size >= maxReferenceChain) {
      throw new ReferenceProblem("dangling", from.pointer, `${quote(reference)} passes through too many references.`);
    }
    this.#walking.add(key);
    try {
      const found = this.#lookup(reference, from);
      this.#found.set(key, found);
      return found;
    } finally {
      this.#walking.delete(key);
    }
  }

  /** Follows `$ref` after `$ref` until the value is not a reference. @throws ReferenceProblem */
  deref(located: Located): Located {
    let current = located;
    let seen: Set<unknown> | undefined;
    for (let reference = getOwn(current.value, "$ref"); typeof reference === "string"; ) {
      seen ??= new Set();
      if (seen.has(current.value)) {
        throw new ReferenceProblem("dangling", located.pointer, `${quote(reference)} refers to itself.`);
      }
      seen.add(current.value);
      current = this.resolve(reference, current);
      reference = getOwn(current.value, "$ref");
    }
    return current;
  }

  /**
   * Like `deref`, but returns `undefined` for a reference that cannot be resolved. Use it if the problem was already
   * reported.
   */
  tryDeref(located: Located): Located | undefined {
    try {
      return this.deref(located);
    } catch (error) {
      if (error instanceof ReferenceProblem) return undefined;
      throw error;
    }
  }

  #lookup(reference: string, from: Located): Located {
    const hash = reference.indexOf("#");
    const file = hash < 0 ? reference : reference.slice(0, hash);
    const encoded = hash < 0 ? "" : reference.slice(hash + 1);
    const fragment = decodePercent(encoded) ?? encoded;
    const base = file === "" ? from.base : this.#baseOf(file, from);
    if (base === undefined) {
      const named = this.#byName(reference);
      if (named !== undefined) return named;
      throw new ReferenceProblem(
        "external",
        from.pointer,
        `${quote(reference)} points outside the document. Allow it with externalRefs.`,
      );
    }
    const root = base === "" ? this.#root : this.#externals.get(base);
    if (fragment === "" || fragment.startsWith("/")) {
      const found = this.#follow({ value: root, pointer: `${base}#`, base }, fragment);
      if (found !== undefined) return found;
    } else {
      const named = this.#byName(`${base}#${fragment}`);
      if (named !== undefined) return named;
    }
    throw new ReferenceProblem("dangling", from.pointer, `${quote(reference)} cannot be resolved.`);
  }

  #baseOf(file: string, from: Located): string | undefined {
    const absolute = absoluteUrl(file, from.base === "" ? this.#documentUrl : from.base);
    if (absolute === undefined) return undefined;
    if (absolute === this.#documentUrl) return "";
    return this.#externals.has(absolute) ? absolute : undefined;
  }

  #follow(root: Located, fragment: string): Located | undefined {
    let { value } = root;
    let walked = 0;
    for (const part of fragment === "" ? [] : fragment.slice(1).split("/")) {
      const key = unescapeToken(part);
      if (!hasElement(value, key)) {
        // Some documents point through another reference, which is unambiguous.
        if (typeof getOwn(value, "$ref") !== "string") return undefined;
        const through = this.deref({ value, pointer: root.pointer + fragment.slice(0, walked), base: root.base });
        return this.#follow(through, fragment.slice(walked));
      }
      value = value[key];
      walked += part.length + 1;
    }
    return { value, pointer: root.pointer + fragment, base: root.base };
  }

  /** Finds a schema by `$id` or `$anchor`. Names are collected when the first reference needs one. */
  #byName(name: string): Located | undefined {
    if (this.#named === undefined) {
      this.#named = new Map();
      this.#readNames({ value: this.#root, pointer: "#", base: "" });
      for (const [url, document] of this.#externals) {
        this.#readNames({ value: document, pointer: `${url}#`, base: url });
      }
    }
    return this.#named.get(name) ?? this.#named.get(name.replace(/#$/, ""));
  }

  #readNames(root: Located): void {
    const seen = new Set<unknown>();
    const pending: Located[] = [root];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      const { value, pointer, base } = next;
      if (typeof value !== "object" || value === null || seen.has(value)) continue;
      seen.add(value);
      for (const keyword of ["$anchor", "$dynamicAnchor"]) {
        const anchor = getOwn(value, keyword);
        if (typeof anchor === "string") this.#named!.set(`${base}#${anchor}`, next);
      }
      const id = getOwn(value, "$id");
      if (typeof id === "string") this.#named!.set(id.replace(/#$/, ""), next);
      for (const key of Object.keys(value)) {
        pending.push({ value: getOwn(value, key), pointer: extendPointer(pointer, key), base });
      }
    }
  }
}

/** Resolves the file part of a reference. Returns `undefined` without a base URL. */
export function absoluteUrl(file: string, base: string | undefined): string | undefined {
  return URL.canParse(file, base) ? new URL(file, base).href : undefined;
}
