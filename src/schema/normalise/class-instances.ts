import type { TSchema } from "typebox";
import { readJSONForm } from "../../internal/json-safe.ts";
import { isDataObject, isObject, type JSONObject, setOwn } from "../../internal/objects.ts";
import { type CheckFunction, isStackOverflow } from "../check.ts";
import { compileSchema } from "../compile.ts";
import { hidesState, isWireValue } from "../instances.ts";
import { isInheritedName, mapParts, PlanResults } from "./parts.ts";
import { type Plan, Planner } from "./plan.ts";
import { createRootCheck, createUnchangedCheck, type QuickCheck } from "./unchanged-check.ts";

/** Reads class instances as objects where a schema describes an object. */
export interface InstanceReader {
  /** Accepts values that are valid and contain no instance to read. Compiled on the first read of the property. */
  readonly quickCheck: QuickCheck;
  /** Returns an input as a transport would send it: the result of `toJSON`, otherwise own enumerable properties. */
  readInput(value: unknown): unknown;
  /** Returns data with instances replaced by objects that include their declared properties, own or inherited. */
  readOutput(value: unknown): unknown;
}

const readers = new WeakMap<object, InstanceReader>();

/** Returns the reader of a schema, always the same one. It returns values without instances unchanged. */
export function createInstanceReader(schema: TSchema): InstanceReader {
  if (!isObject(schema)) return new SchemaInstanceReader(schema, undefined);
  let reader = readers.get(schema);
  if (reader === undefined) {
    const plan = new Planner(schema, true).root;
    reader = new SchemaInstanceReader(schema, plan.describesObjects ? plan : undefined);
    readers.set(schema, reader);
  }
  return reader;
}

class SchemaInstanceReader implements InstanceReader {
  readonly #schema: TSchema;
  /** Absent when the schema describes no object. */
  readonly #plan: Plan | undefined;
  readonly #isInstanceFree: CheckFunction | undefined;

  constructor(schema: TSchema, plan: Plan | undefined) {
    this.#schema = schema;
    this.#plan = plan;
    this.#isInstanceFree = plan && createUnchangedCheck(plan);
  }

  get quickCheck(): QuickCheck {
    const { throwingCheck: isValid } = compileSchema(this.#schema);
    return { isValid, isUnchanged: this.#plan && createRootCheck(this.#plan) };
  }

  readInput(value: unknown): unknown {
    return this.#read(value, readAsSent);
  }

  readOutput(value: unknown): unknown {
    return this.#read(value, readDeclared);
  }

  #read(value: unknown, readInstance: ReadInstance): unknown {
    if (this.#plan === undefined) return value;
    try {
      return this.#isInstanceFree!(value) ? value : new ReadRun(readInstance).read(this.#plan, value);
    } catch (error) {
      // The value is nested too deeply. The check reports it.
      if (isStackOverflow(error)) return value;
      throw error;
    }
  }
}

type ReadInstance = (instance: object, plan: Plan) => unknown;

class ReadRun {
  readonly #readInstance: ReadInstance;
  readonly #results = new PlanResults();

  constructor(readInstance: ReadInstance) {
    this.#readInstance = readInstance;
  }

  read(plan: Plan | undefined, value: unknown): unknown {
    if (typeof value !== "object" || value === null || !plan?.describesObjects) return value;
    return this.#results.of(plan, value, this.#readObject);
  }

  readonly #readObject = (plan: Plan, value: object): unknown => {
    const isData = Array.isArray(value) || isDataObject(value);
    const data = isData || !plan.describesObject ? value : this.#readInstance(value, plan);
    if (!Array.isArray(data) && !isDataObject(data)) return data;
    return mapParts(data, (part, key) =>
      this.read(typeof key === "number" ? plan.array.planAt(key) : plan.object.childOf(key), part),
    );
  };
}

/** Returns whether an instance stays unchanged: transports can send it, or it has no readable properties. */
function staysInstance(instance: object): boolean {
  return isWireValue(instance) || instance instanceof Number || instance instanceof String;
}

function readAsSent(instance: object): unknown {
  if (staysInstance(instance)) return instance;
  const form = readJSONForm(instance);
  if (form !== undefined) return form[0];
  return hidesState(instance) ? instance : { ...instance };
}

function readDeclared(instance: object, { object: shape }: Plan): unknown {
  if (staysInstance(instance)) return instance;
  const isHidden = hidesState(instance);
  const form = readJSONForm(instance)?.[0];
  const data: JSONObject = isDataObject(form) ? { ...form } : isHidden ? {} : { ...instance };
  let isEmpty = isHidden && !isDataObject(form);
  for (const key of shape.declared.keys()) {
    if (Object.hasOwn(data, key)) continue;
    const isOwn = Object.hasOwn(instance, key);
    // Methods and members of Object.prototype are not data.
    if (!isOwn && isInheritedName(key)) continue;
    const value = (instance as JSONObject)[key];
    if (value === undefined || (!isOwn && typeof value === "function")) continue;
    setOwn(data, key, value);
    isEmpty = false;
  }
  return isEmpty ? instance : data;
}
