import { escapeToken } from "../../internal/json-pointer.ts";
import { isCallError } from "../../operation/index.ts";
import { toBase64 } from "./base64.ts";
import { readBinary } from "./binary.ts";
import { notSendable } from "./errors.ts";
import { tag } from "./tags.ts";

/** What the copy of a frame may cost, and what its errors say. */
interface WriteOptions {
  maxDepth: number;
  /** Throws a `RangeError` when there are more. */
  maxParts: number;
  mayHaveRun: boolean;
}

/**
 * Copies a frame into JSON in which everything that JSON cannot hold is a list that begins with a tag. Throws
 * `EXECUTION_ERROR` with the path of what cannot travel at all.
 */
export function toTaggedFrame(frame: object, options: WriteOptions): unknown {
  const told = Object.entries(frame).filter(([, value]) => value !== undefined);
  return new TaggedWriter(options).copy(Object.fromEntries(told));
}

class TaggedWriter {
  readonly #path: Array<string | number> = [];
  readonly #ancestors: object[] = [];
  readonly #options: WriteOptions;
  #partsLeft: number;

  constructor(options: WriteOptions) {
    this.#options = options;
    this.#partsLeft = options.maxParts;
  }

  copy(value: unknown): unknown {
    switch (typeof value) {
      case "string":
      case "boolean":
        return value;
      case "number":
        return Number.isFinite(value) && !Object.is(value, -0) ? value : [tag.number, formatNumber(value)];
      case "undefined":
        return [tag.undefined];
      case "bigint":
        return [tag.bigint, value.toString()];
      case "object":
        return value === null ? null : this.#copyObject(value);
      case "function":
        throw this.#fail("functions do not travel");
      default:
        throw this.#fail("symbols do not travel");
    }
  }

  #copyObject(object: object): unknown {
    if (this.#ancestors.includes(object)) throw this.#fail("it contains itself");
    if (this.#ancestors.length >= this.#options.maxDepth) throw this.#fail("it is nested too deep");
    this.#count(1);
    this.#ancestors.push(object);
    const copied = this.#copyContent(object);
    this.#ancestors.pop();
    return copied;
  }

  #copyContent(object: object): unknown {
    if (Array.isArray(object)) return this.#copyList(object);
    if (object instanceof Date) return [tag.date, Number.isNaN(object.getTime()) ? null : object.getTime()];
    if (object instanceof Map) return this.#copyEntries(object);
    if (object instanceof Set) return [tag.set, ...this.#copyItems([...object])];
    if (object instanceof Error) return this.#copyError(object);
    const binary = readBinary(object);
    if (binary !== undefined) return [tag.bytes, binary.kind, toBase64(binary.bytes)];
    if (object instanceof Number || object instanceof String || object instanceof Boolean) {
      return this.copy(object.valueOf());
    }
    return this.#copyPlain(object);
  }

  #copyPlain(object: object): unknown {
    const prototype = Object.getPrototypeOf(object);
    const isInstance = prototype !== Object.prototype && prototype !== null;
    if (isInstance && typeof (object as { toJSON?: unknown }).toJSON === "function") {
      return this.copy(this.#read(() => (object as { toJSON(): unknown }).toJSON()));
    }
    return this.#copyProperties(object, Object.keys(object));
  }

  #copyList(list: readonly unknown[]): unknown[] {
    const items = this.#copyItems(list);
    const first = list[0];
    return typeof first === "string" && first.startsWith(tag.list) ? [tag.list, ...items] : items;
  }

  #copyItems(list: readonly unknown[]): unknown[] {
    const items: unknown[] = [];
    this.#count(list.length);
    for (let index = 0; index < list.length; index++) items.push(this.#copyAt(index, list[index]));
    return items;
  }

  #copyEntries(map: Map<unknown, unknown>): unknown[] {
    const entries: unknown[] = [tag.map];
    for (const [key, value] of map) {
      this.#count(1);
      const step = typeof key === "string" ? key : entries.length - 1;
      entries.push([this.#copyAt(step, key), this.#copyAt(step, value)]);
    }
    return entries;
  }

  /** An error's cause travels with it, except that of a `CallError`, which is private to where it happened. */
  #copyError(error: Error): unknown[] {
    const ownKeys = Object.keys(error).filter((key) => key !== "stack" && key !== "cause");
    const content = this.#copyProperties(error, ownKeys);
    content["name"] = this.#read(() => String(error.name), "name");
    content["message"] = this.#read(() => String(error.message), "message");
    for (const key of ["cause", "errors"]) {
      if (isCallError(error) || !Object.hasOwn(error, key)) continue;
      content[key] = this.#copyAt(
        key,
        this.#read(() => (error as unknown as Record<string, unknown>)[key], key),
      );
    }
    return [tag.error, content];
  }

  #copyProperties(object: object, keys: readonly string[]): Record<string, unknown> {
    // Without a prototype, `__proto__` is a key like any other.
    const copied: Record<string, unknown> = Object.create(null);
    this.#count(keys.length);
    for (const key of keys) {
      copied[key] = this.#copyAt(
        key,
        this.#read(() => (object as Record<string, unknown>)[key], key),
      );
    }
    return copied;
  }

  #copyAt(step: string | number, value: unknown): unknown {
    this.#path.push(step);
    const copied = this.copy(value);
    this.#path.pop();
    return copied;
  }

  #read(get: () => unknown, key?: string): unknown {
    try {
      return get();
    } catch (error) {
      if (key !== undefined) this.#path.push(key);
      throw this.#fail("reading it failed", error);
    }
  }

  /** A value that refers to the same parts many times can be small here and endless on the wire. */
  #count(parts: number): void {
    this.#partsLeft -= parts;
    if (this.#partsLeft < 0) throw new RangeError("too many parts");
  }

  #fail(what: string, cause?: unknown): Error {
    const path = this.#path.map((step) => `/${escapeToken(String(step))}`).join("");
    return notSendable(what, path, { mayHaveRun: this.#options.mayHaveRun, cause });
  }
}

function formatNumber(value: number): string {
  return Object.is(value, -0) ? "-0" : String(value);
}
