import { hasValue, isPlainObject } from "./plain.ts";
import { createPlainCheck, plainObjectTest, toLiteral } from "./plain-check.ts";
import type { Plan } from "./plan.ts";
import { defaultOf } from "./walk.ts";

/** Tells whether nothing would be done to a value that fits. `false` means "perhaps". */
export type KnownCheck = (value: unknown) => boolean;

const checks = new WeakMap<Plan, KnownCheck>();

/**
 * The check of a whole document, for values that have passed `isPlainAtRoot` already. Code that is different for every
 * schema is the more expensive the more it does.
 */
export function createRootCheck(plan: Plan): KnownCheck {
  return plan.hasWork && plan.choices.length === 0
    ? (new KnownCompiler().compile(plan, true) ?? createKnownCheck(plan))
    : createKnownCheck(plan);
}

/** The known-keys check of a plan: generated code, or interpreted where generating code is forbidden. */
function createKnownCheck(plan: Plan): KnownCheck {
  let check = checks.get(plan);
  if (check === undefined) {
    check = plan.hasWork
      ? (new KnownCompiler().compile(plan, false) ?? ((value) => isKnown(plan, value)))
      : createPlainCheck(plan.flat);
    checks.set(plan, check);
  }
  return check;
}

/** The check without generated code. */
export function isKnown(plan: Plan, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (!plan.hasWork) return createPlainCheck(plan.flat)(value);
  const selected = plan.select(value, true);
  if (selected === undefined) return false;
  return Array.isArray(value)
    ? isKnownArray(selected, value)
    : isKnownObject(selected, value as Record<string, unknown>);
}

function isKnownArray({ array }: Plan, value: unknown[]): boolean {
  for (let index = 0; index < value.length; index++) if (!isKnown(array.planAt(index), value[index])) return false;
  return true;
}

function isKnownObject({ object: shape, describesObject }: Plan, value: Record<string, unknown>): boolean {
  if (describesObject && !isPlainObject(value)) return false;
  for (const key in value) {
    const child = shape.childOf(key);
    if (child === undefined || !isKnown(child, value[key])) return false;
  }
  for (const { key, plan, required, inherited } of shape.wanted) {
    if (hasValue(value, key, inherited)) continue;
    if (defaultOf(plan) !== undefined || (required && inherited)) return false;
  }
  return true;
}

/**
 * Writes one function for each plan. Whatever comes from the schema goes into the code as a string literal and
 * nowhere else; patterns and choices stay outside, as functions that the code calls.
 */
class KnownCompiler {
  readonly #functions: string[] = [];
  readonly #names = new Map<Plan, string>();
  readonly #externals: unknown[] = [];

  /** `undefined` where code cannot be generated. */
  compile(plan: Plan, isTested: boolean): KnownCheck | undefined {
    const entry = isTested && plan.choices.length === 0 ? this.#define("entry", plan, true) : this.#functionFor(plan);
    const code = `"use strict";\n${this.#functions.join("\n")}\nreturn ${entry};`;
    try {
      const make = new Function("external", "hasOwn", "Object", code);
      return make(this.#externals, Object.hasOwn, Object) as KnownCheck;
    } catch {
      return undefined;
    }
  }

  #functionFor(plan: Plan): string {
    let name = this.#names.get(plan);
    if (name !== undefined) return name;
    if (plan.choices.length > 0) {
      name = this.#external(createChoiceCheck(plan));
      this.#names.set(plan, name);
      return name;
    }
    name = `known${this.#names.size}`;
    this.#names.set(plan, name);
    return this.#define(name, plan, false);
  }

  #define(name: string, plan: Plan, isTested: boolean): string {
    this.#functions.push(`function ${name}(v) {\n${this.#body(plan, isTested)}\nreturn true;\n}`);
    return name;
  }

  #body(plan: Plan, isTested: boolean): string {
    const only = plan.types?.size === 1 ? [...plan.types][0] : undefined;
    if (only === "object") return this.#objectBody(plan, isTested);
    if (only === "array") return this.#arrayBody(plan);
    return [
      'if (typeof v !== "object" || v === null) return true;',
      `if (Array.isArray(v)) {\n${this.#arrayBody(plan)}\nreturn true;\n}`,
      this.#objectBody(plan, isTested),
    ].join("\n");
  }

  #arrayBody({ array }: Plan): string {
    const lines = array.prefix.map((plan, index) => this.#test(plan, `v[${index}]`));
    const rest = this.#test(array.rest, "v[i]");
    if (rest !== "") lines.push(`for (let i = ${array.prefix.length}; i < v.length; i++) { ${rest} }`);
    return lines.join("\n");
  }

  #objectBody({ object: shape, describesObject }: Plan, isTested: boolean): string {
    const lines: string[] = [];
    if (describesObject && !isTested) lines.push(plainObjectTest);
    for (const { key, plan, required, inherited } of shape.wanted) {
      const name = toLiteral(key);
      const filled = defaultOf(plan) !== undefined;
      if (inherited && (filled || required)) lines.push(`if (!hasOwn(v, ${name})) return false;`);
      if (filled) lines.push(`if (v[${name}] === undefined) return false;`);
    }
    const others = this.#otherKeys(shape);
    if (others === "") {
      for (const [key, plan] of shape.declared) lines.push(this.#test(plan, `v[${toLiteral(key)}]`));
    } else {
      const cases: string[] = [];
      for (const [key, plan] of shape.declared) {
        const test = this.#test(plan, "v[k]");
        // Keys without a test share the last `break`, which keeps the code short.
        if (test === "") cases.push(`case ${toLiteral(key)}:`);
        else cases.unshift(`case ${toLiteral(key)}: ${test} break;`);
      }
      if (cases.at(-1)?.endsWith(":")) cases.push("break;");
      lines.push(`for (const k in v) switch (k) {\n${cases.join("\n")}\ndefault: ${others}\n}`);
    }
    return lines.filter((line) => line !== "").join("\n");
  }

  /** What is to be said about properties that are not declared by name. */
  #otherKeys(shape: Plan["object"]): string {
    if (shape.hasPatterns) {
      const check = this.#external((key: string, value: unknown) => {
        const child = shape.childOf(key);
        return child !== undefined && isKnown(child, value);
      });
      return `if (!${check}(k, v[k])) return false;`;
    }
    return shape.rest === undefined ? "return false;" : this.#test(shape.rest, "v[k]");
  }

  /** A statement that leaves the function when the value at `place` is not known; empty when it always is. */
  #test(plan: Plan, place: string): string {
    if (!plan.hasWork && !plan.describesObjects) return "";
    const check = plan.hasWork ? this.#functionFor(plan) : this.#external(createPlainCheck(plan.flat));
    return `if (${place} !== undefined && !${check}(${place})) return false;`;
  }

  #external(value: unknown): string {
    this.#externals.push(value);
    return `external[${this.#externals.length - 1}]`;
  }
}

/** Compiles what a value selects when one selects it first. */
function createChoiceCheck(plan: Plan): KnownCheck {
  return (value) => {
    if (typeof value !== "object" || value === null) return true;
    const selected = plan.select(value, true);
    return selected !== undefined && createKnownCheck(selected)(value);
  };
}
