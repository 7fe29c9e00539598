import { isRecord } from "../keywords.ts";
import type { Plan } from "./plan.ts";
import type { Schema } from "./schema-checks.ts";

interface ItemRules {
  prefix: readonly Schema[];
  rest: Schema | undefined;
}

/** What the facets of a plan say about the items of an array. */
export class ArrayShape {
  /** The plans of the first items, where places have schemas of their own. */
  readonly prefix: readonly Plan[];
  /** The plan of all further items. */
  readonly rest: Plan;

  constructor({ facets, planner }: Plan) {
    const rules = facets.map((facet): ItemRules => {
      const { items, prefixItems, additionalItems } = facet;
      if (Array.isArray(items)) return { prefix: items, rest: toSchema(additionalItems) };
      const prefix = Array.isArray(prefixItems) ? (prefixItems as Schema[]) : [];
      return { prefix, rest: toSchema(items) };
    });
    const length = Math.max(0, ...rules.map(({ prefix }) => prefix.length));
    const planAt = (index: number) =>
      planner.planFor(
        rules.flatMap(({ prefix, rest }) => {
          const schema = index < prefix.length ? prefix[index] : rest;
          return schema === undefined ? [] : [schema];
        }),
      );
    this.prefix = Array.from({ length }, (_, index) => planAt(index));
    this.rest = planAt(length);
  }

  planAt(index: number): Plan {
    return index < this.prefix.length ? this.prefix[index]! : this.rest;
  }
}

function toSchema(value: unknown): Schema | undefined {
  return isRecord(value) || typeof value === "boolean" ? value : undefined;
}
