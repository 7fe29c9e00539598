import type { TSchema } from "typebox";
import { isDataObject, isObject, setOwn } from "../../internal/objects.ts";
import { isStackOverflow } from "../check.ts";
import { withinBound } from "../step-meter.ts";
import { admitsKind, collectApplicable } from "./choices.ts";
import { cloneData, DefaultValues, hasValue, isInheritedName, mapItems, mapProperties, PlanResults } from "./parts.ts";
import { type Plan, Planner } from "./plan.ts";
import type { Schema } from "./schema-document.ts";

/** Returns the value with its missing defaults, or the value itself if none is missing. */
export type DefaultFiller = (value: unknown) => unknown;

/** Number of times that filling checks each part of a value. */
const checksPerPart = 4;

const fillers = new WeakMap<object, DefaultFiller | null>();

/**
 * Creates a function that fills declared defaults into a copy of an input; it does not convert or strip values. In `anyOf` and
 * `oneOf` it uses the defaults of a branch if only that branch accepts the value. Returns `undefined` for a
 * schema without a usable default.
 */
export function createDefaultFiller(schema: TSchema): DefaultFiller | undefined {
  if (!isObject(schema)) return undefined;
  let filler = fillers.get(schema);
  if (filler === undefined) {
    filler = makeFiller(schema);
    fillers.set(schema, filler);
  }
  return filler ?? undefined;
}

function makeFiller(schema: TSchema): DefaultFiller | null {
  const { root, document } = new Planner(schema);
  const hasDefault = document.reaches(document.root, (part) => Object.hasOwn(part, "default"));
  if (!hasDefault || !document.hasSelfContainedParts) return null;
  const filling = new InputFilling();
  const fill: DefaultFiller = (value) => filling.run(root, value);
  return (value) => {
    try {
      return withinBound(value, checksPerPart, fill);
    } catch (error) {
      // The value is nested too deeply or needs too many steps. Validation reports it.
      if (isStackOverflow(error)) return value;
      throw error;
    }
  };
}

class InputFilling {
  readonly #defaults = new DefaultValues((plan, value) => ({ value: this.#fill(plan, value) }));
  /** Results of the current run, for nested alternatives that need the same results repeatedly. */
  #results: PlanResults | undefined;

  run(plan: Plan, value: unknown): unknown {
    try {
      return this.#fill(plan, value);
    } finally {
      this.#results = undefined;
    }
  }

  #fill(plan: Plan | undefined, value: unknown): unknown {
    if (plan === undefined) return value;
    if (value === undefined) return cloneData(this.#defaults.of(plan)?.value);
    if (typeof value !== "object" || value === null) return value;
    if (plan.choices.length === 0) return this.#fillParts(plan, value);
    this.#results ??= new PlanResults();
    return this.#results.of(plan, value, this.#fillObject);
  }

  readonly #fillObject = (plan: Plan, value: object): object => this.#fillChoices(plan, this.#fillParts(plan, value));

  #fillParts({ array, object }: Plan, value: object): object {
    if (Array.isArray(value)) {
      return mapItems(value, (item, index) => (item === undefined ? item : this.#fill(array.planAt(index), item)));
    }
    if (!isDataObject(value)) return value;
    let filled = mapProperties(value, (part, key) =>
      part === undefined ? part : this.#fill(object.childOf(key), part),
    );
    for (const [key, plan] of object.declared) {
      if (hasValue(value, key, isInheritedName(key))) continue;
      const missing = this.#fill(plan, undefined);
      if (missing === undefined) continue;
      if (filled === value) filled = { ...value };
      setOwn(filled, key, missing);
    }
    return filled;
  }

  #fillChoices(plan: Plan, value: object): object {
    const { document } = plan.planner;
    let filled = value;
    for (const choice of plan.choices) {
      if (choice.kind === "if") {
        const holds = document.checkOf(choice.condition)(filled);
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
    const { document } = plan.planner;
    const accepted: object[] = [];
    for (const branch of branches) {
      if (!admitsKind(plan.planner.typesOf(branch), value)) continue;
      const filled = this.#fillWith(plan, branch, value);
      if (document.checkOf(branch)(filled)) accepted.push(filled);
    }
    return accepted.length === 1 ? accepted[0]! : value;
  }

  #fillWith({ planner, schemas }: Plan, schema: Schema, value: object): object {
    const more = collectApplicable([schema], planner.document, { known: schemas });
    return more.schemas.length === 0 ? value : (this.#fill(planner.planFor([schema]), value) as object);
  }
}
