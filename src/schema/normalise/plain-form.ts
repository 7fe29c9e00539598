import type { TSchema } from "typebox";
import { hidesState, isWireValue, readJSONForm } from "../../internal/instances.ts";
import { isStackOverflow } from "../check.ts";
import { isRecord } from "../keywords.ts";
import { isInheritedName, isPlainObject, setOwn } from "./plain.ts";
import { createPlainCheck, isPlainAtRoot } from "./plain-check.ts";
import { type Plan, Planner } from "./plan.ts";

/** Reads instances of classes as plain objects, where a schema describes an object. */
export interface PlainForm {
  /**
   * Whether there is nothing to read in a value that has passed `isPlainAtRoot`. `false` means "look closer". Throws for
   * data that is nested too deeply. Absent when nothing inside can be an instance.
   */
  readonly isPlainInside?: (value: unknown) => boolean;
  /** An input as the wire would carry it: what `toJSON` returns, else own enumerable properties. */
  readInput(value: unknown): unknown;
  /** Data with the declared properties of instances as well, own or inherited. */
  readOutput(value: unknown): unknown;
}

const forms = new WeakMap<object, PlainForm>();
const anything: PlainForm = { readInput: (value) => value, readOutput: (value) => value };

/** The plain form of values of a schema. Values without instances are returned as they are. */
export function createPlainForm(schema: TSchema): PlainForm {
  if (!isRecord(schema)) return anything;
  let form = forms.get(schema);
  if (form === undefined) {
    form = makeForm(schema);
    forms.set(schema, form);
  }
  return form;
}

function makeForm(schema: TSchema): PlainForm {
  const plan = new Planner(schema, true).root;
  if (!plan.describesObjects) return anything;
  const isPlain = createPlainCheck(plan);
  const read = (value: unknown, isInput: boolean) => {
    try {
      return isPlain(value) ? value : new InstanceReader(isInput).read(plan, value);
    } catch (error) {
      // Nested too deeply; checking reports that.
      if (isStackOverflow(error)) return value;
      throw error;
    }
  };
  return {
    ...(isPlain !== isPlainAtRoot && { isPlainInside: isPlain }),
    readInput: (value) => read(value, true),
    readOutput: (value) => read(value, false),
  };
}

class InstanceReader {
  readonly #isInput: boolean;
  /** Results by object and plan: values that refer to the same parts many times must not be copied as often. */
  readonly #done = new Map<object, Map<Plan, unknown>>();

  constructor(isInput: boolean) {
    this.#isInput = isInput;
  }

  read(plan: Plan | undefined, value: unknown): unknown {
    if (typeof value !== "object" || value === null || !plan?.describesObjects) return value;
    let results = this.#done.get(value);
    if (results === undefined) {
      results = new Map();
      this.#done.set(value, results);
    }
    if (!results.has(plan)) results.set(plan, this.#readObject(plan, value));
    return results.get(plan);
  }

  #readObject(plan: Plan, value: object): unknown {
    if (Array.isArray(value)) return this.#readItems(plan, value);
    if (isPlainObject(value) || !plan.describesObject) return this.#readProperties(plan, value);
    const plain = this.#isInput ? readAsSent(value) : readDeclared(value, plan.object.declared.keys());
    return isPlainObject(plain) ? this.#readProperties(plan, plain) : plain;
  }

  #readItems({ array }: Plan, list: unknown[]): unknown[] {
    let copy: unknown[] | undefined;
    for (let index = 0; index < list.length; index++) {
      const before = list[index];
      const after = this.read(array.planAt(index), before);
      if (Object.is(after, before)) continue;
      copy ??= list.slice();
      copy[index] = after;
    }
    return copy ?? list;
  }

  #readProperties({ object: shape }: Plan, object: object): object {
    if (!isPlainObject(object)) return object;
    let copy: Record<string, unknown> | undefined;
    for (const key of Object.keys(object)) {
      const before = object[key];
      const after = this.read(shape.childOf(key), before);
      if (Object.is(after, before)) continue;
      copy ??= { ...object };
      setOwn(copy, key, after);
    }
    return copy ?? object;
  }
}

/** Whether an instance stays itself: the wire knows it, or there is nothing to read. */
function staysItself(instance: object): boolean {
  return isWireValue(instance) || instance instanceof Number || instance instanceof String;
}

function readAsSent(instance: object): unknown {
  if (staysItself(instance)) return instance;
  const form = readJSONForm(instance);
  if (form !== undefined) return form[0];
  return hidesState(instance) ? instance : { ...instance };
}

function readDeclared(instance: object, declared: Iterable<string>): unknown {
  if (staysItself(instance)) return instance;
  const isHidden = hidesState(instance);
  const form = readJSONForm(instance)?.[0];
  const plain: Record<string, unknown> = isPlainObject(form) ? { ...form } : isHidden ? {} : { ...instance };
  let isEmpty = isHidden && !isPlainObject(form);
  for (const key of declared) {
    if (Object.hasOwn(plain, key)) continue;
    const isOwn = Object.hasOwn(instance, key);
    // What every object inherits, and methods, are no data.
    if (!isOwn && isInheritedName(key)) continue;
    const value = (instance as Record<string, unknown>)[key];
    if (value === undefined || (!isOwn && typeof value === "function")) continue;
    setOwn(plain, key, value);
    isEmpty = false;
  }
  return isEmpty ? instance : plain;
}
