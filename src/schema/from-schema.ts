import type { TSchema } from "typebox";
import { defaultLimits, type Limits } from "../operation/index.ts";
import { isStackOverflow } from "./check.ts";
import { type Dialect, dialectOf, ignoresRefSiblings, uriOf } from "./dialect.ts";
import { copySubschemas, isRecord, type SchemaObject } from "./keywords.ts";
import { assertions, hide, mark } from "./marks.ts";
import { createResolver } from "./references.ts";
import { describe, joinPointer, pointerTo, SchemaError } from "./schema-error.ts";
import { assertShape } from "./shape.ts";

/** A part of a schema that is kept but cannot be enforced. */
export interface SchemaReport {
  /** JSON pointer into the schema. */
  pointer: string;
  reason: string;
}

/** How a foreign schema is read. */
export interface FromSchemaOptions {
  /** Dialect of a schema that has no `$schema`. @default "2020-12" */
  dialect?: Dialect;
  /** `schemaDepth`, `subschemas` and `patternLength` apply. */
  limits?: Limits;
  /** Documents that a `$ref` may lead to, by absolute URI. Nothing is ever fetched. @default none */
  remotes?: Readonly<Record<string, unknown>>;
  /** Hears what cannot be enforced, when the schema is first used. @default one warning each in the log */
  onReport?: (report: SchemaReport) => void;
}

/** What is remembered about a schema that came from outside. */
export interface Foreign {
  readonly remotes?: Readonly<Record<string, unknown>>;
  readonly onReport?: (report: SchemaReport) => void;
}

const foreignMark = "~foreign";

/** Tells how a schema was read by {@link FromSchema}; `undefined` for types made with `Type`. */
export function foreignOf(schema: object): Foreign | undefined {
  return (schema as Record<string, Foreign | undefined>)[foreignMark];
}

/**
 * Turns a JSON Schema (draft-04 to 2020-12, OpenAPI 3.0's `nullable`, `true` and `false`) into a TypeBox type that
 * accepts the same values. It is a copy with hidden marks: annotations and references stay, and as JSON it reads as
 * before. Patterns run in linear time. Throws `SchemaError` for what is not a schema or leads outside.
 */
export function FromSchema(schema: unknown, options: FromSchemaOptions = {}): TSchema {
  const type = convertSchema(schema, options);
  hide(type, foreignMark, { remotes: options.remotes, onReport: options.onReport } satisfies Foreign);
  return type;
}

/** {@link FromSchema} for schemas of the program itself: their patterns run on the native engine. */
export function convertSchema(schema: unknown, options: FromSchemaOptions = {}): TSchema {
  const copier = new Copier({ ...defaultLimits, ...options.limits });
  const copy = copyOrRefuse(() => copier.copy(schema, "", 0, dialectOf(schema, options.dialect)));
  const root = typeof copy === "boolean" ? fromBoolean(copy) : copy;
  assertReferences(root, copier.references, options);
  if (options.dialect !== undefined && !Object.hasOwn(root, "$schema")) root["$schema"] = uriOf(options.dialect);
  return root as TSchema;
}

/** Limits can be lifted so far that the stack ends first. */
function copyOrRefuse<T>(copy: () => T): T {
  try {
    return copy();
  } catch (error) {
    if (!isStackOverflow(error)) throw error;
    throw new SchemaError("", "nested too deeply to be read.", { cause: error });
  }
}

function fromBoolean(accepts: boolean): SchemaObject {
  const schema: SchemaObject = accepts ? {} : { not: {} };
  hide(schema, "~kind", accepts ? "Unknown" : "Never");
  return schema;
}

interface FoundReference {
  holder: SchemaObject;
  pointer: string;
}

function assertReferences(root: SchemaObject, references: FoundReference[], options: FromSchemaOptions): void {
  if (references.length === 0) return;
  const { resolve } = createResolver(root, options);
  for (const { holder, pointer } of references) {
    const reference = holder["$ref"] as string;
    const target = resolve(reference, holder);
    if (target === undefined) {
      throw new SchemaError(
        joinPointer(pointer, "$ref"),
        `${describe(reference)} leads to nothing in this schema, and nothing is fetched. Put what it means into "$defs".`,
      );
    }
    assertShape(target.schema, joinPointer(pointer, "$ref"));
  }
}

/** Copies a schema and everything below it, checking as it goes. */
class Copier {
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
    if (depth > schemaDepth) throw new SchemaError(pointer, `nested deeper than ${schemaDepth} (limits.schemaDepth).`);
    if (this.#count > subschemas)
      throw new SchemaError(pointer, `more than ${subschemas} schemas (limits.subschemas).`);
    const patterns = isRecord(schema["patternProperties"]) ? Object.keys(schema["patternProperties"]) : [];
    if (typeof schema["pattern"] === "string") patterns.push(schema["pattern"]);
    if (patterns.some((pattern) => pattern.length > patternLength)) {
      throw new SchemaError(pointer, `a pattern is longer than ${patternLength} characters (limits.patternLength).`);
    }
    for (const key of ["~refine", "~codec"]) {
      if (key in schema) throw new SchemaError(pointer, "a refinement or codec is code and has no JSON form.");
    }
  }

  #copyKeywords(schema: SchemaObject, pointer: string, depth: number, dialect: Dialect): SchemaObject {
    const refOnly = ignoresRefSiblings(dialect) && typeof schema["$ref"] === "string";
    const copy = copySubschemas(
      schema,
      (subschema, keyword, key) => this.copy(subschema, pointerTo(pointer, keyword, key), depth + 1, dialect),
      (keyword) => schema[keyword] !== undefined && !(refOnly && isIgnoredBesideRef(keyword)),
    );
    modernise(copy, dialect);
    if (isRecord(copy["properties"])) markOptional(copy["properties"], copy["required"]);
    return copy;
  }
}

// Definitions stay reachable for pointers; everything else beside `$ref` says nothing up to draft 7.
function isIgnoredBesideRef(keyword: string): boolean {
  if (keyword === "$ref") return false;
  return assertions.has(keyword) || keyword === "$id" || keyword === "id" || keyword === "nullable";
}

/** Says in today's keywords what draft 4 and OpenAPI 3.0 say in theirs. */
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
    if (isRecord(property) && !names.has(key)) hide(property, "~optional", true);
  }
}
