import { isDataObject } from "../../internal/objects.ts";
import type { CheckFunction } from "../check.ts";
import { hasValue } from "./parts.ts";
import type { Plan } from "./plan.ts";
import { defaultOf } from "./walk.ts";

// A plan that can change valid values is checked for changes. Any other plan, and every flat one, is only checked for
// class instances, which are read as objects. `false` always means "perhaps".
const needsOnlyInstanceCheck = (plan: Plan) => plan.planner.isFlat || !plan.canChange;

const checks = new WeakMap<Plan, CheckFunction>();
const always = () => true;

/** Returns whether a value is certainly not a class instance. All schemas share this function, so that it is optimised. */
export function looksClassless(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  const { constructor: maker } = value as { constructor?: unknown };
  return maker === Object || maker === undefined || Array.isArray(value);
}

/**
 * Tests quickly whether a value needs no change: it must pass {@link looksClassless} and both checks. The checks throw for
 * values that are nested too deeply or need too many steps. Call them inline: with a thousand operations, a wrapper
 * function costs 15 ns per call.
 */
export interface QuickCheck {
  readonly isValid: CheckFunction;
  /** Returns whether a valid value is unchanged; `false` means "perhaps not". Absent if all valid values are unchanged. */
  readonly isUnchanged: CheckFunction | undefined;
}

/**
 * Returns the check whether a valid value needs no change; for a flat plan, whether a value contains no class instance
 * where an object is described. Generated code, or interpreted where code generation is forbidden. Throws a stack
 * overflow for values that are nested too deeply.
 */
export function createUnchangedCheck(plan: Plan): CheckFunction {
  let check = checks.get(plan);
  if (check === undefined) {
    check = chooseCheck(plan);
    checks.set(plan, check);
  }
  return check;
}

function chooseCheck(plan: Plan): CheckFunction {
  if (!needsOnlyInstanceCheck(plan)) return compile(plan, false);
  const { flat } = plan;
  if (!flat.describesObjects) return always;
  return flat.describesObject && !describesObjectsInside(flat) ? looksClassless : compile(flat, false);
}

/**
 * Returns {@link createUnchangedCheck} for values that pass {@link looksClassless}; `undefined` if none of them
 * changes. It does not repeat that test, because generated code gets slower with its size.
 */
export function createRootCheck(plan: Plan): CheckFunction | undefined {
  if (!needsOnlyInstanceCheck(plan)) return plan.choices.length > 0 ? createUnchangedCheck(plan) : compile(plan, true);
  const check = createUnchangedCheck(plan);
  return check === always || check === looksClassless ? undefined : check;
}

/** Returns whether a part of the value is described as an object. Assumes so for pattern properties, which are found by key. */
function describesObjectsInside({ object, array }: Plan): boolean {
  const children = [...object.declared.values(), object.rest, ...array.prefix, array.rest];
  return object.hasPatterns || children.some((child) => child?.describesObjects);
}

/** Runs the check without generated code. */
export function isUnchanged(plan: Plan, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  const onlyInstances = needsOnlyInstanceCheck(plan);
  const selected = onlyInstances ? plan.flat : plan.select(value, true);
  if (selected === undefined) return false;
  if (onlyInstances && !selected.describesObjects) return true;
  if (Array.isArray(value)) return value.every((item, index) => isUnchanged(selected.array.planAt(index), item));
  if (selected.describesObject && !isDataObject(value)) return false;
  const { object: shape } = selected;
  for (const key in value) {
    const child = shape.childOf(key);
    if (child === undefined ? !onlyInstances : !isUnchanged(child, (value as Record<string, unknown>)[key]))
      return false;
  }
  return (
    onlyInstances ||
    shape.expected.every((property) => {
      if (hasValue(value as Record<string, unknown>, property.key, property.isInherited)) return true;
      return defaultOf(property.plan) === undefined && !(property.isRequired && property.isInherited);
    })
  );
}

function compile(plan: Plan, isClassless: boolean): CheckFunction {
  return new CheckWriter().compile(plan, isClassless) ?? ((value) => isUnchanged(plan, value));
}

/**
 * Reading the constructor costs a fraction of reading the prototype, above all in code that runs too rarely to be
 * optimised.
 */
const instanceTest = "{ const c = v.constructor; if (c !== Object && c !== undefined) return false; }";

/**
 * Writes one function per plan. Names from the schema appear in the code only as string literals; patterns and choices become
 * functions that the code calls.
 */
class CheckWriter {
  readonly #functions: string[] = [];
  readonly #names = new Map<Plan, string>();
  readonly #externals: unknown[] = [];

  /** Returns `undefined` where code cannot be generated. @param isClassless - whether the root needs no instance test */
  compile(plan: Plan, isClassless: boolean): CheckFunction | undefined {
    const entry = isClassless ? this.#define("entry", plan, true) : this.#functionFor(plan);
    const code = `"use strict";\n${this.#functions.join("\n")}\nreturn ${entry};`;
    try {
      const make = new Function("external", "hasOwn", "Object", code);
      return make(this.#externals, Object.hasOwn, Object) as CheckFunction;
    } catch {
      return undefined;
    }
  }

  #functionFor(plan: Plan): string {
    let name = this.#names.get(plan);
    if (name === undefined) {
      const isChoice = plan.choices.length > 0;
      name = isChoice ? this.#external(createChoiceCheck(plan)) : `check${this.#names.size}`;
      this.#names.set(plan, name);
      if (!isChoice) this.#define(name, plan, false);
    }
    return name;
  }

  #define(name: string, plan: Plan, isClassless: boolean): string {
    this.#functions.push(`function ${name}(v) {\n${this.#body(plan, isClassless)}\nreturn true;\n}`);
    return name;
  }

  #body(plan: Plan, isClassless: boolean): string {
    const onlyType = plan.types?.size === 1 && !plan.planner.isFlat ? [...plan.types][0] : undefined;
    if (onlyType === "object") return this.#objectBody(plan, isClassless);
    if (onlyType === "array") return this.#arrayBody(plan);
    return [
      'if (typeof v !== "object" || v === null) return true;',
      `if (Array.isArray(v)) {\n${this.#arrayBody(plan)}\nreturn true;\n}`,
      this.#objectBody(plan, isClassless),
    ].join("\n");
  }

  #arrayBody({ array }: Plan): string {
    const lines = array.prefix.map((plan, index) => this.#test(plan, `v[${index}]`));
    const rest = this.#test(array.rest, "v[i]");
    if (rest !== "") lines.push(`for (let i = ${array.prefix.length}; i < v.length; i++) { ${rest} }`);
    return lines.join("\n");
  }

  #objectBody(plan: Plan, isClassless: boolean): string {
    const { object: shape, describesObject } = plan;
    const lines = describesObject && !isClassless ? [instanceTest] : [];
    if (!needsOnlyInstanceCheck(plan)) {
      for (const { key, plan: child, isRequired, isInherited } of shape.expected) {
        const name = toLiteral(key);
        const isFilled = defaultOf(child) !== undefined;
        if (isInherited && (isFilled || isRequired)) lines.push(`if (!hasOwn(v, ${name})) return false;`);
        if (isFilled) lines.push(`if (v[${name}] === undefined) return false;`);
      }
    }
    const others = this.#otherKeys(plan);
    if (others === "") {
      for (const [key, child] of shape.declared) lines.push(this.#test(child, `v[${toLiteral(key)}]`));
    } else {
      const tests = [...shape.declared].map(([key, child]) => [toLiteral(key), this.#test(child, "v[k]")]);
      const cases = tests.filter(([, test]) => test !== "").map(([key, test]) => `case ${key}: ${test} break;`);
      // Keys without a test share one `break`, which keeps the code short.
      const untested = tests.filter(([, test]) => test === "").map(([key]) => `case ${key}:`);
      if (untested.length > 0) cases.push(...untested, "break;");
      lines.push(`for (const k in v) switch (k) {\n${cases.join("\n")}\ndefault: ${others}\n}`);
    }
    return lines.filter((line) => line !== "").join("\n");
  }

  /** The statement for properties that are not declared by name. */
  #otherKeys(plan: Plan): string {
    const { object: shape } = plan;
    const onlyInstances = needsOnlyInstanceCheck(plan);
    if (shape.hasPatterns) {
      const check = this.#external((key: string, value: unknown) => {
        const child = shape.childOf(key);
        return child === undefined ? onlyInstances : isUnchanged(child, value);
      });
      return `if (!${check}(k, v[k])) return false;`;
    }
    if (shape.rest === undefined) return onlyInstances ? "" : "return false;";
    return this.#test(shape.rest, "v[k]");
  }

  /** A statement that leaves the function if the value at `place` may change; empty if it never does. */
  #test(plan: Plan, place: string): string {
    const onlyInstances = needsOnlyInstanceCheck(plan);
    if (onlyInstances && !plan.describesObjects) return "";
    return `if (${place} !== undefined && !${this.#functionFor(onlyInstances ? plan.flat : plan)}(${place})) return false;`;
  }

  #external(value: unknown): string {
    this.#externals.push(value);
    return `external[${this.#externals.length - 1}]`;
  }
}

/** Compiles the check of a selected plan when a value first selects it. */
function createChoiceCheck(plan: Plan): CheckFunction {
  return (value) => {
    if (typeof value !== "object" || value === null) return true;
    const selected = plan.select(value, true);
    return selected !== undefined && createUnchangedCheck(selected)(value);
  };
}

/** Writes a string as a literal of generated code. */
function toLiteral(text: string): string {
  return JSON.stringify(text).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}
