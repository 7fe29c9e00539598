import { readJSONForm } from "../../internal/json-safe.ts";
import { isDataObject, type JSONObject, setOwn } from "../../internal/objects.ts";
import { isWireValue } from "../instances.ts";
import { convertScalar } from "./convert.ts";
import { DriftLog } from "./drift-log.ts";
import { cloneData, type DefaultValue, DefaultValues, hasValue, mapItems } from "./parts.ts";
import type { Plan } from "./plan.ts";
import type { ExpectedProperty, ObjectShape } from "./shapes.ts";

// A change can select other branches, which change more. A value that still changes after this many rounds never settles.
const maxRounds = 8;
// Nested values that never settle would multiply their rounds; this limits all of them together.
const maxRepeatedRounds = 10_000;

/** Thrown by a {@link Walker} when every change leads to another one. The data is then returned unchanged. */
export class NoFixpointError extends Error {}

/** Normalises values by their plans. Copies on the first change and records everything in its log. */
export class Walker {
  readonly log: DriftLog;
  readonly #invents: boolean;
  #repeatedRounds = 0;

  /** @param invents - whether a missing required property is set to the empty value of its type */
  constructor(log: DriftLog, invents = true) {
    this.log = log;
    this.#invents = invents;
  }

  /** Returns the normalised value. `valid` means that the value is valid and can only be stripped and filled. */
  walk(plan: Plan, value: unknown, valid: boolean): unknown {
    if (valid && !plan.canChange) return value;
    if (typeof value !== "object" || value === null) return this.#walkScalar(plan, value, valid);
    return plan.needsWholeCheck ? this.#walkWhole(plan, value, valid) : this.#walkParts(plan, value, valid);
  }

  #walkScalar(plan: Plan, value: unknown, valid: boolean): unknown {
    if (valid || plan.isValidScalar(value)) return value;
    const selected = plan.select(value, false);
    const converted = selected?.types && convertScalar(value, selected.types, (candidate) => plan.isValid(candidate));
    if (converted === undefined) {
      this.log.mismatch(selected === undefined ? noAlternative : describeExpected(selected));
      return value;
    }
    this.log.change("converted", `${typeof value} to ${typeof converted}`);
    return converted;
  }

  /** Repeats until nothing changes, and reverts changes that would make a valid value invalid. */
  #walkWhole(plan: Plan, value: object, valid: boolean): unknown {
    const wasValid = valid || plan.isValid(value);
    if (wasValid && !plan.canChange) return value;
    const mark = this.log.mark();
    let current: unknown = value;
    for (let round = 0; ; round++) {
      if (round === maxRounds) return this.#revert(mark, value);
      // The second round only confirms the first.
      if (round > 1 && ++this.#repeatedRounds > maxRepeatedRounds) throw new NoFixpointError();
      this.log.forgetMismatches(mark);
      let selected = plan.select(current, wasValid && current === value);
      const converted = selected && isDataObject(current) && this.#convertForOthers(selected, current);
      if (converted) {
        current = converted;
        selected = plan.select(current, false);
      }
      if (selected === undefined) {
        this.log.mismatch(noAlternative);
        break;
      }
      const next = this.#walkParts(selected, current as object, wasValid && current === value);
      if (next === current) break;
      current = next;
    }
    if (current === value ? wasValid : plan.isValid(current)) return current;
    if (wasValid) return this.#revert(mark, value);
    if (!this.log.hasMismatchSince(mark)) this.log.mismatch(doesNotMatch);
    return current;
  }

  /**
   * Converts properties that no passing alternative of an `anyOf` declares, if a failing alternative that declares them
   * then passes too. Otherwise they would be stripped before they could be converted.
   */
  #convertForOthers(selected: Plan, value: JSONObject): JSONObject | undefined {
    const unknown = Object.keys(value).filter((key) => selected.object.childOf(key) === undefined);
    if (unknown.length === 0) return undefined;
    const { document } = selected.planner;
    for (let plan = selected.previous; plan !== undefined; plan = plan.previous) {
      for (const choice of plan.choices) {
        if (choice.kind !== "anyOf") continue;
        const passing = choice.branches.filter((branch) => document.checkOf(branch)(value));
        for (const branch of passing.length === 0 ? [] : choice.branches) {
          if (passing.includes(branch)) continue;
          const { object } = selected.planner.planFor([branch]).flat;
          const keys = unknown.filter((key) => object.declares(key));
          if (keys.length === 0) continue;
          const attempt = new Walker(new DriftLog(), false).#walkKeys(object, value, keys);
          if (![branch, ...passing].every((one) => document.checkOf(one)(attempt))) continue;
          return this.#walkKeys(object, value, keys);
        }
      }
    }
    return undefined;
  }

  #walkKeys(shape: ObjectShape, value: JSONObject, keys: readonly string[]): JSONObject {
    const copy = { ...value };
    for (const key of keys) setOwn(copy, key, this.#walkAt(key, shape.childOf(key)!, value[key], false));
    return copy;
  }

  #walkAt(key: string | number, plan: Plan, value: unknown, valid: boolean): unknown {
    this.log.path.push(key);
    const walked = this.walk(plan, value, valid);
    this.log.path.pop();
    return walked;
  }

  #revert(mark: ReturnType<DriftLog["mark"]>, value: unknown): unknown {
    this.log.restore(mark);
    this.log.mismatch("cannot be normalised without breaking the schema");
    return value;
  }

  #walkParts(plan: Plan, value: object, valid: boolean): unknown {
    if (Array.isArray(value)) {
      if (valid || plan.admits("array")) return this.#walkArray(plan, value, valid);
    } else if (!isDataObject(value)) {
      if (valid || plan.isValid(value)) return value;
      const form = isWireValue(value) ? undefined : readJSONForm(value);
      if (form !== undefined && plan.isValid(form[0])) {
        this.log.change("converted", `object to ${typeof form[0]}`);
        return form[0];
      }
    } else if (valid || plan.admits("object")) {
      return this.#walkObject(plan, value, valid);
    }
    this.log.mismatch(describeExpected(plan));
    return value;
  }

  #walkArray({ array }: Plan, value: unknown[], valid: boolean): unknown[] {
    if (valid && array.prefix.length === 0 && !array.rest.canChange) return value;
    return mapItems(value, (item, index) => this.#walkAt(index, array.planAt(index), item, valid));
  }

  #walkObject({ object: shape }: Plan, value: JSONObject, valid: boolean): unknown {
    if (shape.hasShape && hasOnlyUndeclared(shape, value)) {
      if (!valid || hasUnknown(shape, value)) this.log.mismatch("none of the declared properties");
      return value;
    }
    const copy = this.#walkProperties(shape, value, valid);
    return this.#addMissing(shape, value, copy, valid);
  }

  #walkProperties(shape: ObjectShape, value: JSONObject, valid: boolean): JSONObject | undefined {
    let copy: JSONObject | undefined;
    let unknown: string[] | undefined;
    for (const key in value) {
      const plan = shape.childOf(key);
      const before = value[key];
      if (plan === undefined || (before === undefined && !shape.declared.has(key) && !plan.isValid(undefined))) {
        if (!Object.hasOwn(value, key)) continue;
        unknown ??= [];
        unknown.push(key);
        this.log.change("stripped", "not in the schema", key);
      } else if (before !== undefined && (!valid || plan.canChange)) {
        const after = this.#walkAt(key, plan, before, valid);
        if (Object.is(after, before)) continue;
        copy ??= { ...value };
        setOwn(copy, key, after);
      }
    }
    return unknown === undefined ? copy : omit(copy ?? value, unknown);
  }

  #addMissing(shape: ObjectShape, value: JSONObject, copy: JSONObject | undefined, valid: boolean): JSONObject {
    let result = copy;
    for (const property of valid ? shape.fillable : shape.expected) {
      const { key, plan, isRequired, isInherited } = property;
      if (hasValue(value, key, isInherited)) continue;
      const declared = defaultOf(plan);
      const missing = declared ?? (isRequired ? this.#inventFor(property, value, valid) : undefined);
      if (missing === undefined) continue;
      result ??= { ...value };
      setOwn(result, key, cloneData(missing.value));
      if (declared !== undefined) this.log.change("filled", "default", key);
      else this.log.change("invented", "missing, set to its empty value", key);
    }
    return result ?? value;
  }

  #inventFor({ key, plan }: ExpectedProperty, value: JSONObject, valid: boolean): DefaultValue | undefined {
    if (Object.hasOwn(value, key) && plan.isValid(undefined)) return undefined;
    const empty = valid || !this.#invents ? undefined : emptyOf(plan);
    if (empty === undefined) this.log.mismatch("required, missing", key);
    return empty;
  }
}

const noAlternative = "matches no alternative";
const doesNotMatch = "does not match the schema";

const outputDefaults = new DefaultValues(normaliseDefault);

/** Returns the declared default of output data, normalised, if it is valid. */
export function defaultOf(plan: Plan): DefaultValue | undefined {
  return outputDefaults.of(plan);
}

function normaliseDefault(plan: Plan, value: unknown): DefaultValue | undefined {
  return plan.isValid(value) ? { value: new Walker(new DriftLog()).walk(plan, value, true) } : undefined;
}

/** Returns `null` where it is allowed, otherwise the empty value of the type if that is valid. */
function emptyOf(plan: Plan): DefaultValue | undefined {
  if (plan.isValid(null)) return { value: null };
  for (const type of plan.types ?? []) {
    const create = emptyValues.get(type);
    const empty = create && normaliseDefault(plan, create());
    if (empty !== undefined) return empty;
  }
  return undefined;
}

const emptyValues = new Map<string, () => unknown>([
  ["string", () => ""],
  ["integer", () => 0],
  ["number", () => 0],
  ["boolean", () => false],
  ["array", () => []],
  ["object", () => ({})],
]);

/** Returns whether the object has values and none of them is declared, so that it is a different object. */
function hasOnlyUndeclared(shape: ObjectShape, value: JSONObject): boolean {
  let isEmpty = true;
  for (const key in value) {
    if (value[key] === undefined) continue;
    if (shape.declares(key)) return false;
    if (Object.hasOwn(value, key)) isEmpty = false;
  }
  return !isEmpty;
}

function hasUnknown(shape: ObjectShape, value: JSONObject): boolean {
  return Object.keys(value).some((key) => shape.childOf(key) === undefined);
}

/** Copies an object without the unwanted properties, which must be in its order. Keeps symbols, which schemas ignore. */
function omit(value: JSONObject, unwanted: readonly string[]): JSONObject {
  const copy: JSONObject = {};
  let next = 0;
  for (const key in value) {
    if (key === unwanted[next]) next++;
    else if (Object.hasOwn(value, key)) setOwn(copy, key, value[key]);
  }
  for (const symbol of Object.getOwnPropertySymbols(value)) {
    Object.defineProperty(copy, symbol, Object.getOwnPropertyDescriptor(value, symbol)!);
  }
  return copy;
}

function describeExpected({ types, never }: Plan): string {
  if (never) return "not allowed";
  const names = [...(types ?? [])].filter((type) => emptyValues.has(type) || type === "null");
  return names.length > 0 ? `expected ${names.join(" or ")}` : doesNotMatch;
}
