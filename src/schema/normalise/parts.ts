import { isDataObject, type JSONObject, setOwn } from "../../internal/objects.ts";
import type { Plan } from "./plan.ts";

/** Maps the items or own properties of a value. Returns the value itself if none changes, otherwise a copy. */
export function mapParts(value: object, map: (part: unknown, key: string | number) => unknown): object {
  return Array.isArray(value) ? mapItems(value, map) : mapProperties(value as JSONObject, map);
}

/** {@link mapParts} for an array. */
export function mapItems(list: unknown[], map: (item: unknown, index: number) => unknown): unknown[] {
  let copy: unknown[] | undefined;
  for (let index = 0; index < list.length; index++) {
    const before = list[index];
    // Checks skip holes too.
    if (before === undefined && !(index in list)) continue;
    const after = map(before, index);
    if (Object.is(after, before)) continue;
    copy ??= list.slice();
    copy[index] = after;
  }
  return copy ?? list;
}

/** {@link mapParts} for an object. */
export function mapProperties(object: JSONObject, map: (value: unknown, key: string) => unknown): JSONObject {
  let copy: JSONObject | undefined;
  for (const key of Object.keys(object)) {
    const after = map(object[key], key);
    if (Object.is(after, object[key])) continue;
    copy ??= { ...object };
    setOwn(copy, key, after);
  }
  return copy ?? object;
}

/** Copies arrays and objects without a class; all other values are shared. */
export function cloneData(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(cloneData);
  if (!isDataObject(value)) return value;
  const copy: JSONObject = {};
  for (const key of Object.keys(value)) setOwn(copy, key, cloneData(value[key]));
  return copy;
}

/** Returns whether an object has a value at an own key. `isInherited` is {@link isInheritedName} of the key. */
export function hasValue(object: JSONObject, key: string, isInherited: boolean): boolean {
  return object[key] !== undefined && (!isInherited || Object.hasOwn(object, key));
}

/** Returns whether every object inherits a value of this name. */
export function isInheritedName(key: string): boolean {
  return key in Object.prototype;
}

/** Results by value and plan: a part that occurs many times in a value is processed once. */
export class PlanResults {
  readonly #results = new Map<object, Map<Plan, unknown>>();

  /** Returns the result for a value, created by `make` on the first call. */
  of<T extends object>(plan: Plan, value: T, make: (plan: Plan, value: T) => unknown): unknown {
    let results = this.#results.get(value);
    if (results === undefined) {
      results = new Map();
      this.#results.set(value, results);
    }
    if (!results.has(plan)) results.set(plan, make(plan, value));
    return results.get(plan);
  }
}

/** A value for a missing property. */
export interface DefaultValue {
  /** Shared: copy it with {@link cloneData} before it becomes part of data. */
  readonly value: unknown;
}

/** The declared defaults of plans, each completed once, for example with its own defaults. */
export class DefaultValues {
  readonly #complete: (plan: Plan, value: unknown) => DefaultValue | undefined;
  /** `null` while a default is being completed. */
  readonly #completed = new WeakMap<Plan, DefaultValue | null | undefined>();

  constructor(complete: (plan: Plan, value: unknown) => DefaultValue | undefined) {
    this.#complete = complete;
  }

  /** Returns the completed default; `undefined` without one, and for one that would contain itself endlessly. */
  of(plan: Plan): DefaultValue | undefined {
    const known = this.#completed.get(plan);
    if (known === null) this.#completed.set(plan, undefined); // The default is needed to complete itself.
    if (this.#completed.has(plan)) return known ?? undefined;
    this.#completed.set(plan, null);
    const completed = plan.hasDefault ? this.#complete(plan, plan.declaredDefault) : undefined;
    if (this.#completed.get(plan) === null) this.#completed.set(plan, completed);
    return this.#completed.get(plan) ?? undefined;
  }
}
