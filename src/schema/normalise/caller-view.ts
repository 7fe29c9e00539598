import type { TSchema } from "typebox";
import { getOwn, isObject } from "../../internal/objects.ts";
import { copySubschemas, forEachSubschema, type SchemaObject } from "../keywords.ts";
import { branchesOf } from "./choices.ts";
import { createDefaultFiller } from "./input-defaults.ts";
import { Planner } from "./plan.ts";
import type { Schema } from "./schema-document.ts";

const views = new WeakMap<object, TSchema>();

/**
 * Returns the schema that a caller must satisfy where defaults are filled: a property with a default is not required. It
 * accepts every value that the given schema accepts after filling. Returns the given schema if nothing changes, and if
 * it is malformed.
 */
export function toCallerView(schema: TSchema): TSchema {
  if (!isObject(schema) || !usesDefault(schema)) return schema;
  let view = views.get(schema);
  if (view === undefined) {
    view = createView(schema);
    views.set(schema, view);
  }
  return view;
}

function createView(schema: TSchema): TSchema {
  const direct = uses(schema as SchemaObject, references) ? undefined : viewDirectly(schema);
  if (direct !== undefined) return direct as TSchema;
  try {
    if (createDefaultFiller(schema) === undefined) return schema;
    const planner = new Planner(schema);
    const { root } = planner.document;
    const view = new Viewer(planner).view(root, noKeys);
    return view === root ? schema : (view as TSchema);
  } catch {
    return schema; // A call of the operation reports the malformed schema.
  }
}

/** Returns whether a schema contains a default. A cheap test, because most schemas have none and planning is expensive. */
function usesDefault(schema: SchemaObject): boolean {
  return uses(schema, ["default"]);
}

function uses(schema: SchemaObject, keywords: readonly string[]): boolean {
  for (const keyword of keywords) if (Object.hasOwn(schema, keyword)) return true;
  let found = false;
  forEachSubschema(schema, (subschema) => {
    found ||= isObject(subschema) && uses(subschema, keywords);
  });
  return found;
}

const references = ["$ref", "$dynamicRef", "$recursiveRef"];

/** Keywords with which the properties that are filled depend on the value. */
const indirect = (
  "allOf anyOf oneOf not if then else contains contentSchema propertyNames " +
  "patternProperties dependentSchemas dependentRequired dependencies minProperties"
).split(" ");

/**
 * Creates the view of a schema without references whose defaults are all in objects without alternatives, as in most
 * definitions. A {@link Viewer} would take many times as long. Returns `undefined` for other schemas.
 */
function viewDirectly(schema: unknown): unknown {
  if (!isObject(schema) || !usesDefault(schema)) return schema;
  if (indirect.some((keyword) => Object.hasOwn(schema, keyword))) return undefined;
  let isUnsure = false;
  let isChanged = false;
  const copy = copySubschemas(schema, (part) => {
    const view = viewDirectly(part);
    isUnsure ||= view === undefined;
    isChanged ||= view !== part;
    return view;
  });
  if (isUnsure) return undefined;
  const { properties, required } = schema;
  const isFilled = (key: unknown) => getOwn(getOwn(properties, String(key)), "default") !== undefined;
  if (!Array.isArray(required) || !required.some(isFilled)) return isChanged ? copy : schema;
  copy["required"] = required.filter((key) => !isFilled(key));
  if ((copy["required"] as unknown[]).length === 0) delete copy["required"];
  return copy;
}

const noKeys: ReadonlySet<string> = new Set();

/** Keywords whose schemas apply to the same object as the schema that contains them. */
const sameObject = new Set(["allOf", "anyOf", "oneOf", "then", "else", "dependentSchemas", "dependencies"]);
/** Keywords whose schemas stay unchanged: a schema that accepts more there could make the whole accept less. */
const unchanged = new Set(["not", "if", "contains", "propertyNames", "contentSchema"]);

class Viewer {
  readonly #planner: Planner;

  constructor(planner: Planner) {
    this.#planner = planner;
  }

  /** @param outer - properties that other schemas of the same object fill */
  view(schema: unknown, outer: ReadonlySet<string>): unknown {
    if (!isObject(schema)) return schema;
    const filled = new Set(outer);
    this.#addFilled(schema, filled, new Set());
    const changed = new Set<string>();
    const copy = copySubschemas(schema, (part, keyword) => {
      if (unchanged.has(keyword)) return part;
      const view = this.view(part, sameObject.has(keyword) ? filled : noKeys);
      if (view !== part) changed.add(keyword);
      return view;
    });
    if (changed.has("oneOf")) this.#addChoice(copy, "oneOf", copy["oneOf"]);
    if (filled.size > 0 && this.#relax(copy, schema, filled)) changed.add("required");
    return changed.size === 0 ? schema : copy;
  }

  /** Collects the properties that a schema, or any of its alternatives, fills into an object. */
  #addFilled(schema: Schema, keys: Set<string>, seen: Set<Schema>): void {
    if (seen.has(schema)) return;
    seen.add(schema);
    const plan = this.#planner.planFor([schema]);
    for (const [key, child] of plan.object.declared) if (child.hasDefault) keys.add(key);
    for (const choice of plan.choices) {
      for (const branch of branchesOf(choice)) {
        if (choice.kind !== "if" || branch !== choice.condition) this.#addFilled(branch, keys, seen);
      }
    }
  }

  /** Removes requirements that filling satisfies. Returns whether there were any. */
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
      if (!isObject(held)) continue;
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

  /** Returns whether a condition reads a property that is filled. */
  #reads(condition: unknown, filled: ReadonlySet<string>): boolean {
    if (!isObject(condition)) return false;
    const { declared } = this.#planner.planFor([condition]).object;
    for (const key of declared.keys()) if (filled.has(key)) return true;
    return false;
  }

  /** Replaces a keyword by `anyOf`, because several relaxed branches may accept the same value. */
  #addChoice(copy: SchemaObject, keyword: string, branches: unknown): void {
    delete copy[keyword];
    if (copy["anyOf"] === undefined) copy["anyOf"] = branches;
    else copy["allOf"] = [...(Array.isArray(copy["allOf"]) ? copy["allOf"] : []), { anyOf: branches }];
  }
}
