import { getOwn } from "../../internal/objects.ts";
import type { HTTPServiceConfig } from "./config.ts";
import type { MethodEntry } from "./endpoint.ts";

/** Maximum length of the name of an operation. */
const maxNameLength = 256;

/** Returns the name of a method without an `operationId`: `GET /users/{id}` becomes `get_users_id`. */
export function pathName(method: string, path: string): string {
  const parts = path.split(/[^\p{L}\p{N}]+/u).filter((part) => part !== "");
  return [method.toLowerCase(), ...parts].join("_");
}

/** Returns the name of an operation from `rename` of the configuration, or its own. */
export function renamed({ rename }: HTTPServiceConfig, name: string, { method, path }: MethodEntry): string {
  const other = typeof rename === "function" ? rename(name, { method, path }) : getOwn(rename, name);
  return typeof other === "string" && other !== "" ? other : name;
}

/**
 * Converts a string into a valid name without control characters and lone surrogates. Long strings are shortened, but
 * different strings stay different.
 */
export function fitName(text: string): string {
  const valid = text.replaceAll(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/gu, "_");
  if (valid.length <= maxNameLength) return valid;
  // The cut may split a surrogate pair.
  const start = valid.slice(0, maxNameLength - 9).replace(/\p{Cs}$/u, "");
  return `${start}_${hashText(valid)}`;
}

/** Returns eight hex digits that distinguish strings. Do not use it for secrets. */
export function hashText(text: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0).toString(16).padStart(8, "0");
}

/** Assigns each name once. */
export class NameAllocator {
  readonly #owners = new Map<string, string>();
  /** The next number to append to a name. Counting from the start would take quadratic time. */
  readonly #counts = new Map<string, number>();

  /** Returns the owner of a name that is in use. */
  ownerOf(name: string): string | undefined {
    return this.#owners.get(name);
  }

  /** Assigns the first name of `wanted` that is free, or the last one with a number appended. */
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
