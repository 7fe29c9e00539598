import { toBase64 } from "../../internal/base64.ts";
import { escapeToken } from "../../internal/json-pointer.ts";
import { readJSONForm } from "../../internal/json-safe.ts";
import { type CallError, isCallError } from "../../operation/index.ts";
import { classNameOf, hidesState } from "../../schema/instances.ts";
import {
  maxCollections,
  maxDigits,
  maxErrors,
  maxNumericKeys,
  minPartBytes,
  notSendable,
  payloadTooLarge,
  readBinary,
  tag,
} from "./wire-format.ts";

/** Limits for copying a frame, and properties of the errors. */
interface WriteOptions {
  maxDepth: number;
  maxMessage: number;
  mayHaveRun: boolean;
}

/**
 * Copies a frame into JSON. Values that JSON cannot represent become lists that begin with a tag. Throws
 * `EXECUTION_ERROR` with the path of a value that cannot be sent, and `PAYLOAD_TOO_LARGE` if the frame is too large.
 */
export function toTaggedFrame(frame: object, options: WriteOptions): unknown {
  const present = Object.entries(frame).filter(([, value]) => value !== undefined);
  return new TaggedWriter(options).copy(Object.fromEntries(present));
}

class TaggedWriter {
  readonly #path: Array<string | number> = [];
  readonly #ancestors: object[] = [];
  readonly #options: WriteOptions;
  #partsLeft: number;
  #errorsLeft = maxErrors;
  #collectionsLeft = maxCollections;
  #numericKeysLeft = maxNumericKeys;
  /** The error that this writer has thrown. Any other error was thrown by a value. */
  #failure: CallError | undefined;

  constructor(options: WriteOptions) {
    this.#options = options;
    this.#partsLeft = options.maxMessage / minPartBytes;
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
        return [tag.bigint, this.#formatDigits(value)];
      case "object":
        return value === null ? null : this.#copyObject(value);
      case "function":
        throw this.#fail("functions cannot be sent");
      default:
        throw this.#fail("symbols cannot be sent");
    }
  }

  #copyObject(object: object): unknown {
    if (this.#ancestors.includes(object)) throw this.#fail("it contains itself");
    if (this.#ancestors.length >= this.#options.maxDepth) throw this.#fail("it is nested too deeply");
    this.#count(1);
    this.#ancestors.push(object);
    try {
      return this.#copyContent(object);
    } catch (error) {
      // A getter, a proxy, a `toJSON` or a detached buffer failed.
      throw error === this.#failure ? error : this.#fail("reading it failed", error);
    } finally {
      this.#ancestors.pop();
    }
  }

  #copyContent(object: object): unknown {
    if (Array.isArray(object)) return this.#copyList(object);
    if (object instanceof Date) return [tag.date, Number.isNaN(object.getTime()) ? null : object.getTime()];
    if (object instanceof Map) return this.#copyEntries(object);
    if (object instanceof Set) return [tag.set, ...this.#copyItems(this.#countKeys([...object]))];
    if (object instanceof Error) return this.#copyError(object);
    const binary = readBinary(object);
    if (binary !== undefined) return [tag.bytes, binary.kind, toBase64(binary.bytes)];
    if (object instanceof Number || object instanceof String || object instanceof Boolean) {
      return this.copy(object.valueOf());
    }
    return this.#copyObjectOfClass(object);
  }

  #copyObjectOfClass(object: object): unknown {
    const prototype = Object.getPrototypeOf(object);
    if (prototype !== Object.prototype && prototype !== null) {
      const form = readJSONForm(object);
      if (form !== undefined) return this.copy(form[0]);
      if (hidesState(object)) throw this.#fail(describeLoss(object));
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
    this.#countKeys([...map.keys()]);
    for (const [key, value] of map) {
      this.#count(1);
      const step = typeof key === "string" ? key : entries.length - 1;
      entries.push([this.#copyAt(step, key), this.#copyAt(step, value)]);
    }
    return entries;
  }

  #countKeys(keys: unknown[]): unknown[] {
    if (--this.#collectionsLeft < 0) throw this.#fail(`a message carries at most ${maxCollections} maps and sets`);
    for (const key of keys) if (typeof key === "number" || typeof key === "bigint") this.#numericKeysLeft -= 1;
    if (this.#numericKeysLeft < 0) {
      throw this.#fail(`a message carries at most ${maxNumericKeys} numbers as keys of maps and sets; send an array`);
    }
    return keys;
  }

  /** Copies an error with its cause. The cause of a `CallError` is private and is not sent. */
  #copyError(error: Error): unknown[] {
    if (--this.#errorsLeft < 0) throw this.#fail(`a message carries at most ${maxErrors} errors`);
    const ownKeys = Object.keys(error).filter((key) => key !== "stack" && key !== "cause");
    const content = this.#copyProperties(error, ownKeys);
    content["name"] = String(error.name);
    content["message"] = String(error.message);
    for (const key of ["cause", "errors"]) {
      if (isCallError(error) || !Object.hasOwn(error, key)) continue;
      Object.assign(content, this.#copyProperties(error, [key]));
    }
    return [tag.error, content];
  }

  #copyProperties(object: object, keys: readonly string[]): Record<string, unknown> {
    // Without a prototype, `__proto__` is a key like any other.
    const copied: Record<string, unknown> = Object.create(null);
    this.#count(keys.length);
    for (const key of keys) {
      this.#path.push(key);
      copied[key] = this.copy((object as Record<string, unknown>)[key]);
      this.#path.pop();
    }
    return copied;
  }

  #copyAt(step: string | number, value: unknown): unknown {
    this.#path.push(step);
    const copied = this.copy(value);
    this.#path.pop();
    return copied;
  }

  #formatDigits(value: bigint): string {
    // Check the hexadecimal length first: it is cheap, whereas formatting a huge number in decimal takes very long.
    const digits = value.toString(16).length > maxDigits ? undefined : value.toString();
    if (digits === undefined || digits.length > maxDigits) throw this.#fail(`it has more than ${maxDigits} digits`);
    return digits;
  }

  /**
   * Counts parts, because a value that refers to the same parts many times is small in memory but can be huge on the
   * wire.
   */
  #count(parts: number): void {
    this.#partsLeft -= parts;
    if (this.#partsLeft >= 0) return;
    this.#failure = payloadTooLarge(this.#options.maxMessage, this.#options.mayHaveRun);
    throw this.#failure;
  }

  #fail(what: string, cause?: unknown): CallError {
    const path = this.#path.map((step) => `/${escapeToken(String(step))}`).join("");
    this.#failure = notSendable(what, path, { mayHaveRun: this.#options.mayHaveRun, cause });
    return this.#failure;
  }
}

function describeLoss(object: object): string {
  if (object instanceof Promise) return "promises cannot be sent; an await may be missing";
  return `the state of a ${classNameOf(object)} is not in its own enumerable properties and would be lost`;
}

function formatNumber(value: number): string {
  return Object.is(value, -0) ? "-0" : String(value);
}
