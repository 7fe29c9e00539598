import type { TSchema } from "typebox";
import { isStackOverflow } from "../check.ts";
import { isRecord } from "../keywords.ts";
import { withinBound } from "../step-meter.ts";
import { collectFacets } from "./facets.ts";
import { cloneData, hasValue, isInheritedName, isPlainObject, setOwn } from "./plain.ts";
import { type Plan, Planner, reaches } from "./plan.ts";
import type { Schema } from "./schema-checks.ts";
import { admitsKind } from "./select.ts";

/** Gives the value with its missing defaults, or the value itself when none is missing. */
export type DefaultFiller = (value: unknown) => unknown;

/** How often filling looks at each part of a value. */
const looks = 4;

const fillers = new WeakMap<object, DefaultFiller | null>();

/**
 * Makes a function that fills declared defaults into a copy, for inputs: nothing is converted or stripped. In `anyOf`
 * and `oneOf` defaults count when exactly one branch takes the value. `undefined` when no default can be reached.
 */
export function createDefaultFiller(schema: TSchema): DefaultFiller | undefined {
  if (!isRecord(schema)) return undefined;
  let filler = fillers.get(schema);
  if (filler === undefined) {
    filler = makeFiller(schema);
    fillers.set(schema, filler);
  }
  return filler ?? undefined;
}

function makeFiller(schema: TSchema): DefaultFiller | null {
  const planner = new Planner(schema);
  const { checks } = planner;
  if (!checks.separable || !reaches(checks.root, checks, (part) => Object.hasOwn(part, "default"))) return null;
  const defaults = new Defaults();
  const fill: DefaultFiller = (value) => defaults.fillAll(planner.root, value);
  return (value) => {
    try {
      return withinBound(value, looks, fill);
    } catch (error) {
      // Nested too deeply, or too many steps; validating will say so.
      if (isStackOverflow(error)) return value;
      throw error;
    }
  };
}

class Defaults {
  /** By plan: the default with its own defaults filled; `null` while that goes on and for one without an end. */
  readonly #prepared = new Map<Plan, { value: unknown } | null | undefined>();

  /** Results of the running call, where alternatives would ask for the same ones again and again. */
  #done: Map<object, Map<Plan, object>> | undefined;

  fillAll(plan: Plan, value: unknown): unknown {
    try {
      return this.fill(plan, value);
    } finally {
      this.#done = undefined;
    }
  }

  fill(plan: Plan, value: unknown): unknown {
    if (value === undefined) return cloneData(this.#defaultOf(plan)?.value);
    if (typeof value !== "object" || value === null) return value;
    if (plan.choices.length === 0) return this.#fillParts(plan, value);
    this.#done ??= new Map();
    let results = this.#done.get(value);
    if (results === undefined) {
      results = new Map();
      this.#done.set(value, results);
    }
    let filled = results.get(plan);
    if (filled === undefined) {
      filled = this.#fillChoices(plan, this.#fillParts(plan, value));
      results.set(plan, filled);
    }
    return filled;
  }

  #fillParts(plan: Plan, value: object): object {
    if (Array.isArray(value)) return this.#fillItems(plan, value);
    return isPlainObject(value) ? this.#fillProperties(plan, value) : value;
  }

  #fillItems({ array }: Plan, value: unknown[]): unknown[] {
    let copy: unknown[] | undefined;
    for (let index = 0; index < value.length; index++) {
      const before = value[index];
      const after = before === undefined ? before : this.fill(array.planAt(index), before);
      if (after === before) continue;
      copy ??= value.slice();
      copy[index] = after;
    }
    return copy ?? value;
  }

  #fillProperties({ object: shape }: Plan, value: Record<string, unknown>): Record<string, unknown> {
    let copy: Record<string, unknown> | undefined;
    for (const key of new Set([...shape.declared.keys(), ...Object.keys(value)])) {
      const plan = shape.childOf(key);
      const before = hasValue(value, key, isInheritedName(key)) ? value[key] : undefined;
      if (plan === undefined || (before === undefined && !shape.declared.has(key))) continue;
      const after = this.fill(plan, before);
      if (after === before) continue;
      copy ??= { ...value };
      setOwn(copy, key, after);
    }
    return copy ?? value;
  }

  #fillChoices(plan: Plan, value: object): object {
    const { planner } = plan;
    let filled = value;
    for (const choice of plan.choices) {
      if (choice.kind === "if") {
        const holds = planner.checks.of(choice.condition)(filled);
        filled = this.#fillWith(plan, holds ? choice.positive : choice.negative, filled);
      } else if (choice.kind === "dependent") {
        if (Object.hasOwn(filled, choice.key)) filled = this.#fillWith(plan, choice.schema, filled);
      } else {
        filled = this.#fillOnlyBranch(plan, choice.branches, filled);
      }
    }
    return filled;
  }

  #fillOnlyBranch(plan: Plan, branches: readonly Schema[], value: object): object {
    const { checks } = plan.planner;
    const taking: object[] = [];
    for (const branch of branches) {
      if (!admitsKind(plan.planner.typesOf(branch), value)) continue;
      const filled = this.#fillWith(plan, branch, value);
      if (checks.of(branch)(filled)) taking.push(filled);
    }
    return taking.length === 1 ? taking[0]! : value;
  }

  #fillWith(plan: Plan, schema: Schema, value: object): object {
    const more = collectFacets([schema], plan.planner.checks, plan.facets);
    return more.facets.length === 0 ? value : (this.fill(plan.planner.planFor([schema]), value) as object);
  }

  #defaultOf(plan: Plan): { value: unknown } | undefined {
    if (this.#prepared.has(plan)) {
      const known = this.#prepared.get(plan);
      if (known === null) this.#prepared.set(plan, undefined);
      return known ?? undefined;
    }
    const facet = plan.facets.find((candidate) => Object.hasOwn(candidate, "default"));
    if (facet === undefined || facet["default"] === undefined) return undefined;
    this.#prepared.set(plan, null);
    const value = this.fill(plan, facet["default"]);
    // When it was asked for while it was made, it contains itself and would never end.
    const endless = this.#prepared.get(plan) === undefined;
    const filling = endless ? undefined : { value };
    this.#prepared.set(plan, filling);
    return filling;
  }
}
