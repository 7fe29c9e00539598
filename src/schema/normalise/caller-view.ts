import type { TSchema } from "typebox";
import { copySubschemas, forEachSubschema, isRecord, type SchemaObject } from "../keywords.ts";
import { createDefaultFiller } from "./default-filler.ts";
import { type Plan, Planner } from "./plan.ts";
import type { Schema } from "./schema-checks.ts";

const views = new WeakMap<object, TSchema>();

/**
 * What a caller must satisfy where missing properties are filled with their defaults: the same schema, in which a property
 * with a default is not required. Accepts every value that the schema accepts once its defaults are filled. The schema
 * itself when that changes nothing, and when it cannot be read.
 */
export function toCallerView(schema: TSchema): TSchema {
  if (!isRecord(schema) || !mentionsDefault(schema)) return schema;
  let view = views.get(schema);
  if (view === undefined) {
    view = createView(schema);
    views.set(schema, view);
  }
  return view;
}

function createView(schema: TSchema): TSchema {
  try {
    if (createDefaultFiller(schema) === undefined) return schema;
    const planner = new Planner(schema);
    const { root } = planner.checks;
    const view = new Viewer(planner).view(root, noKeys);
    return view === root ? schema : (view as TSchema);
  } catch {
    return schema; // a malformed schema is reported by the calls that need it
  }
}

/** Most schemas have no default, and reading one to find that out would cost much. */
function mentionsDefault(schema: SchemaObject): boolean {
  if (Object.hasOwn(schema, "default")) return true;
  let found = false;
  forEachSubschema(schema, (subschema) => {
    found ||= isRecord(subschema) && mentionsDefault(subschema);
  });
  return found;
}

const noKeys: ReadonlySet<string> = new Set();

/** Keywords whose schemas judge the same object as the one that holds them. */
const sameObject = new Set(["allOf", "anyOf", "oneOf", "then", "else", "dependentSchemas", "dependencies"]);
/** Keywords whose schemas must stay as they are: making one of these wider could make the whole narrower. */
const judging = new Set(["not", "if", "contains", "propertyNames", "contentSchema"]);

class Viewer {
  readonly #planner: Planner;

  constructor(planner: Planner) {
    this.#planner = planner;
  }

  /** @param outer properties that other schemas of the same object fill */
  view(schema: unknown, outer: ReadonlySet<string>): unknown {
    if (!isRecord(schema)) return schema;
    const filled = new Set(outer);
    this.#addFilled(schema, filled, new Set());
    const changed = new Set<string>();
    const copy = copySubschemas(schema, (part, keyword) => {
      if (judging.has(keyword)) return part;
      const view = this.view(part, sameObject.has(keyword) ? filled : noKeys);
      if (view !== part) changed.add(keyword);
      return view;
    });
    if (changed.has("oneOf")) this.#addChoice(copy, "oneOf", copy["oneOf"]);
    if (filled.size > 0 && this.#relax(copy, schema, filled)) changed.add("required");
    return changed.size === 0 ? schema : copy;
  }

  /** Collects what is filled into an object that a schema applies to, by any of its alternatives. */
  #addFilled(schema: Schema, keys: Set<string>, seen: Set<Schema>): void {
    if (seen.has(schema)) return;
    seen.add(schema);
    const plan = this.#planner.planFor([schema]);
    for (const [key, child] of plan.object.declared) if (hasDefault(child)) keys.add(key);
    for (const choice of plan.choices) {
      if (choice.kind === "if") {
        this.#addFilled(choice.positive, keys, seen);
        this.#addFilled(choice.negative, keys, seen);
      } else if (choice.kind === "dependent") this.#addFilled(choice.schema, keys, seen);
      else for (const branch of choice.branches) this.#addFilled(branch, keys, seen);
    }
  }

  /** Takes demands away that filling meets. Tells whether there were any. */
  #relax(copy: SchemaObject, schema: SchemaObject, filled: ReadonlySet<string>): boolean {
    let relaxed = false;
    const without = (keys: unknown): unknown => {
      if (!Array.isArray(keys) || !keys.some((key) => filled.has(key))) return keys;
      relaxed = true;
      return keys.filter((key) => !filled.has(key));
    };
    if (copy["required"] !== undefined) copy["required"] = without(copy["required"]);
    if (Array.isArray(copy["required"]) && copy["required"].length === 0 && relaxed) delete copy["required"];
    for (const keyword of ["dependentRequired", "dependencies"]) {
      const held = copy[keyword];
      if (!isRecord(held)) continue;
      copy[keyword] = Object.fromEntries(Object.entries(held).map(([key, keys]) => [key, without(keys)]));
    }
    const { minProperties } = schema;
    if (typeof minProperties === "number" && minProperties > 0) {
      copy["minProperties"] = Math.max(minProperties - filled.size, 0);
      relaxed = true;
    }
    if (this.#reads(schema["not"], filled)) {
      delete copy["not"];
      relaxed = true;
    }
    if (this.#reads(schema["if"], filled)) {
      const { then: positive, else: negative } = copy;
      for (const keyword of ["if", "then", "else"]) delete copy[keyword];
      if (positive !== undefined && negative !== undefined) this.#addChoice(copy, "if", [positive, negative]);
      relaxed = true;
    }
    return relaxed;
  }

  /** Whether a condition looks at a property that is filled. */
  #reads(condition: unknown, filled: ReadonlySet<string>): boolean {
    if (!isRecord(condition)) return false;
    const { declared } = this.#planner.planFor([condition]).object;
    for (const key of declared.keys()) if (filled.has(key)) return true;
    return false;
  }

  /** Puts alternatives in the place of a keyword: once they are wider, more than one of them may take a value. */
  #addChoice(copy: SchemaObject, keyword: string, branches: unknown): void {
    delete copy[keyword];
    if (copy["anyOf"] === undefined) copy["anyOf"] = branches;
    else copy["allOf"] = [...(Array.isArray(copy["allOf"]) ? copy["allOf"] : []), { anyOf: branches }];
  }
}

function hasDefault({ facets }: Plan): boolean {
  return facets.some((facet) => Object.hasOwn(facet, "default") && facet["default"] !== undefined);
}
