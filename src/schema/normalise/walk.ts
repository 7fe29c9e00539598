import { isWireValue, readJSONForm } from "../../internal/instances.ts";
import { convertScalar } from "./convert.ts";
import { DriftLog } from "./drift-log.ts";
import type { ObjectShape, WantedProperty } from "./object-shape.ts";
import { cloneData, hasValue, isPlainObject, setOwn } from "./plain.ts";
import type { Filling, Plan } from "./plan.ts";

type Data = Record<string, unknown>;

// A change can select other branches, which change more. What has not come to rest after this many rounds will not.
const mostRounds = 8;
// Values inside each other that never rest would multiply their rounds; this bounds all of them together.
const mostRepeats = 10_000;

/** Thrown by a {@link Walker} when changes keep calling for further changes. The data can only stay as it came. */
export class RestlessError extends Error {}

/** Normalises values by their plans. Copies on the first change and notes everything in its log. */
export class Walker {
  readonly log: DriftLog;
  readonly #invents: boolean;
  #repeats = 0;

  /** @param invents - whether a missing required property gets the empty value of its type */
  constructor(log: DriftLog, invents = true) {
    this.log = log;
    this.#invents = invents;
  }

  /** Gives the value as the plan wants it. `valid` says that it is known to fit, so that it only needs tidying. */
  walk(plan: Plan, value: unknown, valid: boolean): unknown {
    if (valid && !plan.hasWork) return value;
    if (typeof value !== "object" || value === null) return this.#walkScalar(plan, value, valid);
    return plan.guarded ? this.#walkGuarded(plan, value, valid) : this.#walkParts(plan, value, valid);
  }

  #walkScalar(plan: Plan, value: unknown, valid: boolean): unknown {
    if (valid || plan.fitsScalar(value)) return value;
    const selected = plan.select(value, false);
    const fits = (candidate: unknown) => plan.fits(candidate);
    const converted = selected?.types && convertScalar(value, selected.types, fits);
    if (converted === undefined) {
      this.log.mismatch(selected === undefined ? "fits no alternative" : describeExpected(selected));
      return value;
    }
    this.log.change("converted", `${typeof value} to ${typeof converted}`);
    return converted;
  }

  /** Repeats until nothing changes any more, and takes back what would make a good value a bad one. */
  #walkGuarded(plan: Plan, value: object, valid: boolean): unknown {
    const wasValid = valid || plan.fits(value);
    if (wasValid && !plan.hasWork) return value;
    const mark = this.log.mark();
    let current: unknown = value;
    for (let round = 0; ; round++) {
      if (round === mostRounds) return this.#takeBack(mark, value);
      // The second round only confirms the first; what comes after is out of the ordinary.
      if (round > 1 && ++this.#repeats > mostRepeats) throw new RestlessError();
      this.log.forgetMismatches(mark);
      const currentValid = wasValid && current === value;
      let selected = plan.select(current, currentValid);
      if (selected !== undefined && isPlainObject(current)) {
        const converted = this.#convertForOthers(selected, current);
        if (converted !== undefined) {
          current = converted;
          selected = plan.select(current, false);
        }
      }
      if (selected === undefined) {
        this.log.mismatch("fits no alternative");
        break;
      }
      const next = this.#walkParts(selected, current as object, wasValid && current === value);
      if (next === current) break;
      current = next;
    }
    if (current === value ? wasValid : plan.fits(current)) return current;
    if (wasValid) return this.#takeBack(mark, value);
    if (!this.log.hasMismatchSince(mark)) this.log.mismatch("does not fit the schema");
    return current;
  }

  /**
   * Converts properties that no passing alternative of an `anyOf` knows, when a failing one that declares them passes
   * then, beside those that passed already. Without this they would be stripped before anyone looked at them.
   */
  #convertForOthers(selected: Plan, value: Data): Data | undefined {
    const unknown = Object.keys(value).filter((key) => selected.object.childOf(key) === undefined);
    if (unknown.length === 0) return undefined;
    const { checks } = selected.planner;
    for (let plan = selected.previous; plan !== undefined; plan = plan.previous) {
      for (const choice of plan.choices) {
        if (choice.kind !== "anyOf") continue;
        const passing = choice.branches.filter((branch) => checks.of(branch)(value));
        for (const branch of passing.length === 0 ? [] : choice.branches) {
          if (passing.includes(branch)) continue;
          const child = (key: string) => declaredChild(selected.planner.planFor([branch]), key);
          const keys = unknown.filter((key) => child(key) !== undefined);
          const attempt =
            keys.length === 0 ? undefined : new Walker(new DriftLog(), false).#walkKeys(value, keys, child);
          if (attempt === undefined || ![branch, ...passing].every((one) => checks.of(one)(attempt))) continue;
          return this.#walkKeys(value, keys, child);
        }
      }
    }
    return undefined;
  }

  #walkKeys(value: Data, keys: readonly string[], child: (key: string) => Plan | undefined): Data {
    const copy = { ...value };
    for (const key of keys) {
      this.log.path.push(key);
      setOwn(copy, key, this.walk(child(key)!, value[key], false));
      this.log.path.pop();
    }
    return copy;
  }

  #takeBack(mark: ReturnType<DriftLog["mark"]>, value: unknown): unknown {
    this.log.restore(mark);
    this.log.mismatch("cannot be normalised without breaking the schema");
    return value;
  }

  #walkParts(plan: Plan, value: object, valid: boolean): unknown {
    if (Array.isArray(value)) {
      if (valid || plan.admits("array")) return this.#walkArray(plan, value, valid);
    } else if (!isPlainObject(value)) {
      if (valid || plan.fits(value)) return value;
      const form = isWireValue(value) ? undefined : readJSONForm(value);
      if (form !== undefined && plan.fits(form[0])) {
        this.log.change("converted", `object to ${typeof form[0]}`);
        return form[0];
      }
    } else if (valid || plan.admits("object")) {
      return this.#walkObject(plan, value, valid);
    }
    this.log.mismatch(describeExpected(plan));
    return value;
  }

  #walkArray(plan: Plan, value: unknown[], valid: boolean): unknown[] {
    const { array } = plan;
    const { path } = this.log;
    if (valid && array.prefix.length === 0 && !array.rest.hasWork) return value;
    let copy: unknown[] | undefined;
    for (let index = 0; index < value.length; index++) {
      const before = value[index];
      // A hole is no item; checks skip it too.
      if (before === undefined && !(index in value)) continue;
      path.push(index);
      const after = this.walk(array.planAt(index), before, valid);
      path.pop();
      if (Object.is(after, before)) continue;
      copy ??= value.slice();
      copy[index] = after;
    }
    return copy ?? value;
  }

  #walkObject(plan: Plan, value: Data, valid: boolean): unknown {
    const shape = plan.object;
    if (shape.shaped && isForeign(shape, value)) {
      if (!valid || hasUnknown(shape, value)) this.log.mismatch("none of the declared properties");
      return value;
    }
    const copy = this.#walkProperties(shape, value, valid);
    return this.#addMissing(shape, value, copy, valid);
  }

  #walkProperties(shape: ObjectShape, value: Data, valid: boolean): Data | undefined {
    const { path } = this.log;
    let copy: Data | undefined;
    let unknown: string[] | undefined;
    for (const key in value) {
      const plan = shape.childOf(key);
      const before = value[key];
      if (plan === undefined || (before === undefined && !shape.declared.has(key) && !plan.fits(undefined))) {
        if (!Object.hasOwn(value, key)) continue;
        unknown ??= [];
        unknown.push(key);
        this.log.change("stripped", "not in the schema", key);
      } else if (before !== undefined && (!valid || plan.hasWork)) {
        path.push(key);
        const after = this.walk(plan, before, valid);
        path.pop();
        if (Object.is(after, before)) continue;
        copy ??= { ...value };
        setOwn(copy, key, after);
      }
    }
    return unknown === undefined ? copy : omit(copy ?? value, unknown);
  }

  #addMissing(shape: ObjectShape, value: Data, copy: Data | undefined, valid: boolean): Data {
    let result = copy;
    for (const property of valid ? shape.fillable : shape.wanted) {
      const { key, plan } = property;
      if (hasValue(value, key, property.inherited)) continue;
      const filling = this.#fill(property, value, valid);
      if (filling === undefined) continue;
      result ??= { ...value };
      setOwn(result, key, cloneData(filling.value));
      if (filling === plan.default) this.log.change("filled", "default", key);
      else this.log.change("invented", "missing, set to its empty value", key);
    }
    return result ?? value;
  }

  #fill({ key, plan, required }: WantedProperty, value: Data, valid: boolean): Filling | undefined {
    const filling = defaultOf(plan);
    if (filling !== undefined || !required) return filling;
    if (Object.hasOwn(value, key) && plan.fits(undefined)) return undefined;
    const empty = valid || !this.#invents ? undefined : emptyOf(plan);
    if (empty === undefined) this.log.mismatch("required, missing", key);
    return empty;
  }
}

/**
 * The declared default, normalised, when it fits its own schema. One that would contain itself has no end and
 * counts as none.
 */
export function defaultOf(plan: Plan): Filling | undefined {
  if (plan.defaultReady) return plan.default ?? undefined;
  if (plan.default === null) {
    plan.default = undefined;
    plan.defaultReady = true;
    return undefined;
  }
  const facet = plan.facets.find((candidate) => Object.hasOwn(candidate, "default"));
  plan.default = null;
  const filling = facet && fillingOf(plan, facet["default"]);
  if (!plan.defaultReady) plan.default = filling;
  plan.defaultReady = true;
  return plan.default ?? undefined;
}

/** `null` where it is allowed, else the empty value of the type, when it fits. */
function emptyOf(plan: Plan): Filling | undefined {
  if (plan.fits(null)) return { value: null };
  for (const type of plan.types ?? []) {
    const create = emptyValues[type];
    const filling = create && fillingOf(plan, create());
    if (filling !== undefined) return filling;
  }
  return undefined;
}

const emptyValues: Record<string, () => unknown> = Object.assign(Object.create(null), {
  string: () => "",
  integer: () => 0,
  number: () => 0,
  boolean: () => false,
  array: () => [],
  object: () => ({}),
});

function fillingOf(plan: Plan, value: unknown): Filling | undefined {
  if (!plan.fits(value)) return undefined;
  const normalised = new Walker(new DriftLog()).walk(plan, value, true);
  return { value: normalised };
}

/** Whether the object has values and none of them is declared: then it is something else. */
function isForeign(shape: ObjectShape, value: Data): boolean {
  let empty = true;
  for (const key in value) {
    if (value[key] === undefined) continue;
    if (shape.declares(key)) return false;
    if (Object.hasOwn(value, key)) empty = false;
  }
  return !empty;
}

function declaredChild({ flat }: Plan, key: string): Plan | undefined {
  return flat.object.declares(key) ? flat.object.childOf(key) : undefined;
}

function hasUnknown(shape: ObjectShape, value: Data): boolean {
  return Object.keys(value).some((key) => shape.childOf(key) === undefined);
}

/** A copy without some of the properties, which come in the order of the object. Symbols are not described and stay. */
function omit(value: Data, unwanted: readonly string[]): Data {
  const copy: Data = {};
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
  const names = [...(types ?? [])].filter((type) => type in emptyValues || type === "null");
  return names.length > 0 ? `expected ${names.join(" or ")}` : "does not fit the schema";
}
