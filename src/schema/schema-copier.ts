import { extendPointer } from "../internal/json-pointer.ts";
import { isObject } from "../internal/objects.ts";
import type { Limits } from "../operation/index.ts";
import {
  assertions,
  copySubschemas,
  type Dialect,
  dialectOf,
  ignoresRefSiblings,
  type SchemaObject,
} from "./keywords.ts";
import { hide, mark } from "./marks.ts";
import { assertShape, SchemaError } from "./schema-error.ts";

/** A `$ref` and its location. */
export interface FoundReference {
  /** The copied schema that contains the `$ref`. */
  holder: SchemaObject;
  /** JSON pointer to the holder. */
  pointer: string;
}

/** Copies schemas deeply, checks their shape and marks them. The limits apply to all schemas of one copier together. */
export class SchemaCopier {
  readonly references: FoundReference[] = [];
  readonly #limits: Required<Limits>;
  readonly #ancestors = new Set<object>();
  #count = 0;

  constructor(limits: Required<Limits>) {
    this.#limits = limits;
  }

  copy(schema: unknown, pointer: string, depth: number, dialect: Dialect): SchemaObject | boolean {
    assertShape(schema, pointer);
    if (typeof schema === "boolean") return schema;
    this.#count += 1;
    this.#assertLimits(schema, pointer, depth);
    this.#ancestors.add(schema);
    const copy = this.#copyKeywords(schema, pointer, depth, dialectOf(schema, dialect));
    this.#ancestors.delete(schema);
    if (typeof copy["$ref"] === "string") this.references.push({ holder: copy, pointer });
    mark(copy);
    return copy;
  }

  #assertLimits(schema: SchemaObject, pointer: string, depth: number): void {
    const { schemaDepth, subschemas, patternLength } = this.#limits;
    if (this.#ancestors.has(schema)) {
      throw new SchemaError(pointer, "the object contains itself. Use a $ref for recursion.");
    }
    if (depth > schemaDepth)
      throw new SchemaError(pointer, `the schema is nested deeper than ${schemaDepth} levels (limits.schemaDepth).`);
    if (this.#count > subschemas) {
      throw new SchemaError(pointer, `the schema has more than ${subschemas} sub-schemas (limits.subschemas).`);
    }
    const patterns = isObject(schema["patternProperties"]) ? Object.keys(schema["patternProperties"]) : [];
    if (typeof schema["pattern"] === "string") patterns.push(schema["pattern"]);
    if (patterns.some((pattern) => pattern.length > patternLength)) {
      throw new SchemaError(pointer, `a pattern is longer than ${patternLength} characters (limits.patternLength).`);
    }
    if ("~refine" in schema || "~codec" in schema) {
      throw new SchemaError(pointer, "a refinement or codec is code and has no JSON form.");
    }
  }

  #copyKeywords(schema: SchemaObject, pointer: string, depth: number, dialect: Dialect): SchemaObject {
    const refOnly = ignoresRefSiblings(dialect) && typeof schema["$ref"] === "string";
    const copy = copySubschemas(
      schema,
      (subschema, ...path) => this.copy(subschema, extendPointer(pointer, ...path), depth + 1, dialect),
      (keyword) => schema[keyword] !== undefined && !(refOnly && isIgnoredBesideRef(keyword, depth === 0)),
    );
    modernise(copy, dialect);
    if (isObject(copy["properties"])) markOptional(copy["properties"], copy["required"]);
    return copy;
  }
}

/** Returns whether a keyword beside a `$ref` has no effect. Definitions stay reachable for pointers, and `$id` names a root. */
function isIgnoredBesideRef(keyword: string, isRoot: boolean): boolean {
  if (keyword === "$ref") return false;
  if (keyword === "$id" || keyword === "id") return !isRoot;
  return assertions.has(keyword) || keyword === "nullable";
}

/** Translates keywords of draft 4 and OpenAPI 3.0 into those of 2020-12. */
function modernise(schema: SchemaObject, dialect: Dialect): void {
  if (dialect === "draft-04" && typeof schema["id"] === "string") schema["$id"] ??= schema["id"];
  moderniseBound(schema, "exclusiveMinimum", "minimum");
  moderniseBound(schema, "exclusiveMaximum", "maximum");
  if (schema["nullable"] !== true || schema["type"] === undefined) return;
  const types = Array.isArray(schema["type"]) ? schema["type"] : [schema["type"]];
  if (!types.includes("null")) schema["type"] = [...types, "null"];
}

function moderniseBound(schema: SchemaObject, exclusive: string, inclusive: string): void {
  if (typeof schema[exclusive] !== "boolean") return;
  const isExclusive = schema[exclusive];
  delete schema[exclusive];
  if (!isExclusive || schema[inclusive] === undefined) return;
  schema[exclusive] = schema[inclusive];
  delete schema[inclusive];
}

function markOptional(properties: SchemaObject, required: unknown): void {
  const names = new Set(Array.isArray(required) ? required : []);
  for (const key of Object.keys(properties)) {
    const property = properties[key];
    if (isObject(property) && !names.has(key)) hide(property, "~optional", true);
  }
}
