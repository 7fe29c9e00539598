import { isPlainObject } from "./plain.ts";
import type { Plan } from "./plan.ts";

/** Whether no instance of a class stands where a schema describes an object. `false` means "perhaps". */
type PlainCheck = (value: unknown) => boolean;

const checks = new WeakMap<Plan, PlainCheck>();

/**
 * A statement of generated code: it leaves the function when `v` may be an instance of a class. Reading the constructor
 * costs a fraction of asking for the prototype, above all in code that runs too seldom to be optimised.
 */
export const plainObjectTest = "{ const c = v.constructor; if (c !== Object && c !== undefined) return false; }";

/** The check of a plan without choices: generated code, or interpreted where generating code is forbidden. */
export function createPlainCheck(plan: Plan): PlainCheck {
  let check = checks.get(plan);
  if (check === undefined) {
    check = chooseCheck(plan);
    checks.set(plan, check);
  }
  return check;
}

function chooseCheck(plan: Plan): PlainCheck {
  if (!plan.describesObjects) return () => true;
  // Most inputs are an object of scalars. They share a function, which the engine has then optimised already.
  if (plan.describesObject && !childPlans(plan).some((child) => child.describesObjects)) return isPlainAtRoot;
  return new PlainCompiler().compile(plan) ?? ((value) => isPlainBelow(plan, value));
}

/** Plans of all values inside; those of patterns are found by key only, and count as describing an object. */
function childPlans({ object, array }: Plan): Array<Pick<Plan, "describesObjects">> {
  const patterns = object.hasPatterns ? [{ describesObjects: true }] : [];
  const rest = object.rest === undefined ? [] : [object.rest];
  return [...object.declared.values(), ...rest, ...patterns, ...array.prefix, array.rest];
}

/** Whether the value itself is surely no instance of a class. One function for all schemas, so that it is always hot. */
export function isPlainAtRoot(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  const { constructor: maker } = value as { constructor?: unknown };
  return maker === Object || maker === undefined || Array.isArray(value);
}

/** The check without generated code. */
function isPlainBelow(plan: Plan | undefined, value: unknown): boolean {
  if (typeof value !== "object" || value === null || !plan?.describesObjects) return true;
  if (Array.isArray(value)) return value.every((item, index) => isPlainBelow(plan.array.planAt(index), item));
  if (plan.describesObject && !isPlainObject(value)) return false;
  for (const key in value) {
    if (!isPlainBelow(plan.object.childOf(key), (value as Record<string, unknown>)[key])) return false;
  }
  return true;
}

/** Writes one function for each plan. What comes from the schema goes into the code as a string literal only. */
class PlainCompiler {
  readonly #functions: string[] = [];
  readonly #names = new Map<Plan, string>();
  readonly #externals: unknown[] = [];

  /** `undefined` where code cannot be generated. */
  compile(plan: Plan): PlainCheck | undefined {
    const entry = this.#functionFor(plan);
    const code = `"use strict";\n${this.#functions.join("\n")}\nreturn ${entry};`;
    try {
      return new Function("external", "Object", code)(this.#externals, Object) as PlainCheck;
    } catch {
      return undefined;
    }
  }

  #functionFor(plan: Plan): string {
    let name = this.#names.get(plan);
    if (name !== undefined) return name;
    name = `plain${this.#names.size}`;
    this.#names.set(plan, name);
    const body = [
      'if (typeof v !== "object" || v === null) return true;',
      `if (Array.isArray(v)) {\n${this.#arrayBody(plan)}\nreturn true;\n}`,
      plan.describesObject ? plainObjectTest : "",
      this.#objectBody(plan),
    ];
    this.#functions.push(`function ${name}(v) {\n${body.join("\n")}\nreturn true;\n}`);
    return name;
  }

  #arrayBody({ array }: Plan): string {
    const lines = array.prefix.map((plan, index) => this.#test(plan, `v[${index}]`));
    const rest = this.#test(array.rest, "v[i]");
    if (rest !== "") lines.push(`for (let i = ${array.prefix.length}; i < v.length; i++) { ${rest} }`);
    return lines.join("\n");
  }

  #objectBody({ object: shape }: Plan): string {
    const others = this.#otherKeys(shape);
    if (others === "") {
      return [...shape.declared].map(([key, plan]) => this.#test(plan, `v[${toLiteral(key)}]`)).join("\n");
    }
    const cases = [...shape.declared].map(
      ([key, plan]) => `case ${toLiteral(key)}: ${this.#test(plan, "v[k]")} break;`,
    );
    return `for (const k in v) switch (k) {\n${cases.join("\n")}\ndefault: ${others}\n}`;
  }

  #otherKeys(shape: Plan["object"]): string {
    if (!shape.hasPatterns) return shape.rest === undefined ? "" : this.#test(shape.rest, "v[k]");
    this.#externals.push((key: string, value: unknown) => isPlainBelow(shape.childOf(key), value));
    return `if (!external[${this.#externals.length - 1}](k, v[k])) return false;`;
  }

  #test(plan: Plan, place: string): string {
    return plan.describesObjects ? `if (!${this.#functionFor(plan)}(${place})) return false;` : "";
  }
}

/** A string as a literal of generated code. */
export function toLiteral(text: string): string {
  return JSON.stringify(text).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}
