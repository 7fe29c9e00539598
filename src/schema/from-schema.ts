import type { TSchema } from "typebox";
import { unescapeToken } from "../internal/json-pointer.ts";
import { defaultLimits, type Limits, resolveLimits } from "../operation/index.ts";
import { isStackOverflow } from "./check.ts";
import { type Dialect, dialectOf, uriOf } from "./dialect.ts";
import { isRecord, type SchemaObject, setOwn } from "./keywords.ts";
import { hide, isMarked } from "./marks.ts";
import { createResolver, type ResolverOptions } from "./references.ts";
import { publishedDocuments, RemoteDocuments } from "./remote-documents.ts";
import { SchemaCopier } from "./schema-copier.ts";
import { describe, joinPointer, SchemaError } from "./schema-error.ts";
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
  /**
   * Documents that a `$ref` may lead to, by absolute URI. Nothing is ever fetched. The published meta-schemas (draft-04
   * to 2020-12) need not be given. @default none
   */
  remotes?: Readonly<Record<string, unknown>>;
  /** Hears what cannot be enforced, when the schema is first used. @default one warning each in the log */
  onReport?: (report: SchemaReport) => void;
}

/** What is remembered about a schema that came from outside. */
export interface Foreign {
  readonly documents: RemoteDocuments;
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
  const limits = resolveLimits(options.limits);
  const documents = options.remotes === undefined ? publishedDocuments : new RemoteDocuments(options.remotes, limits);
  const type = convert(schema, options, limits, documents);
  hide(type, foreignMark, { documents, onReport: options.onReport } satisfies Foreign);
  return type;
}

/** {@link FromSchema} for schemas of the program itself: their patterns run on the native engine. */
export function convertSchema(schema: unknown): TSchema {
  return convert(schema, {}, defaultLimits, publishedDocuments);
}

function convert(
  schema: unknown,
  options: FromSchemaOptions,
  limits: Required<Limits>,
  documents: RemoteDocuments,
): TSchema {
  const copier = new SchemaCopier(limits);
  const copy = copyOrRefuse(() => copier.copy(schema, "", 0, dialectOf(schema, options.dialect)));
  const root = typeof copy === "boolean" ? fromBoolean(copy) : copy;
  assertReferences(root, copier, { dialect: options.dialect, documents });
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

/** Makes sure that every reference leads to a schema inside, and converts those that no keyword leads to. */
function assertReferences(root: SchemaObject, copier: SchemaCopier, options: ResolverOptions): void {
  if (copier.references.length === 0) return;
  const { resolve } = createResolver(root, options);
  const owned = new Set<unknown>();
  // Converting finds more references; they are appended to the array that is being read.
  for (const { holder, pointer } of copier.references) {
    const reference = holder["$ref"] as string;
    const at = joinPointer(pointer, "$ref");
    const target = resolve(reference, holder);
    if (target === undefined) {
      throw new SchemaError(
        at,
        `${describe(reference)} leads to nothing in this schema, and nothing is fetched. Put what it means into "$defs".`,
      );
    }
    assertShape(target.schema, at);
    if (isRecord(target.schema) && !isMarked(target.schema) && reference.startsWith("#/")) {
      const path = decodeURIComponent(reference.slice(2)).split("/").map(unescapeToken);
      adopt(resolve("#", holder)!.schema as SchemaObject, path, owned, (schema) =>
        copier.copy(schema, at, 1, dialectOf(root)),
      );
    }
  }
}

/** Replaces what stands at a path by its copy. Whatever is on the way still belongs to the caller and is copied too. */
function adopt(root: SchemaObject, path: string[], owned: Set<unknown>, copy: (schema: unknown) => unknown): void {
  let parent = root;
  for (const key of path.slice(0, -1)) {
    let child = parent[key] as SchemaObject;
    if (!isMarked(child) && !owned.has(child)) {
      child = (Array.isArray(child) ? [...child] : { ...child }) as SchemaObject;
      owned.add(child);
      setOwn(parent, key, child);
    }
    parent = child;
  }
  const last = path[path.length - 1]!;
  setOwn(parent, last, copy(parent[last]));
}
