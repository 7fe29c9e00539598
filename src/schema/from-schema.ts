import type { TSchema } from "typebox";
import { extendPointer, unescapeToken } from "../internal/json-pointer.ts";
import { isObject, setOwn } from "../internal/objects.ts";
import { describeValue } from "../internal/text.ts";
import { defaultLimits, type Limits, resolveLimits } from "../operation/inside.ts";
import { isStackOverflow } from "./check.ts";
import { type Dialect, dialectOf, dialectURI, type SchemaObject } from "./keywords.ts";
import { hide, isMarked } from "./marks.ts";
import { publishedDocuments, RemoteDocuments, Resolver, type ResolverOptions } from "./references.ts";
import { SchemaCopier } from "./schema-copier.ts";
import { assertShape, SchemaError } from "./schema-error.ts";

/** A part of a schema that is kept but cannot be enforced. */
export interface SchemaReport {
  /** JSON pointer into the schema. */
  pointer: string;
  /** The reason why the part is not enforced, as a sentence. */
  reason: string;
}

/** Options of {@link FromSchema}. */
export interface FromSchemaOptions {
  /** Dialect of a schema without `$schema`. @default "2020-12" */
  dialect?: Dialect;
  /** `schemaDepth`, `subschemas` and `patternLength` apply. */
  limits?: Limits;
  /**
   * Documents that a `$ref` may resolve to, by absolute URI. Nothing is fetched. The published meta-schemas (draft-04 to
   * 2020-12) are built in. @default none
   */
  remotes?: Readonly<Record<string, unknown>>;
  /** Receives the parts that cannot be enforced, when the schema is first used. @default one warning each in the log */
  onReport?: (report: SchemaReport) => void;
}

/** The options that a foreign schema was read with. */
export interface Foreign {
  readonly documents: RemoteDocuments;
  readonly onReport?: (report: SchemaReport) => void;
}

const foreignMark = "~foreign";

/** Returns the options that {@link FromSchema} read a schema with; `undefined` for types made with `Type`. */
export function foreignOf(schema: object): Foreign | undefined {
  return (schema as Record<string, Foreign | undefined>)[foreignMark];
}

/**
 * Converts a JSON Schema (draft-04 to 2020-12, OpenAPI 3.0's `nullable`, `true` and `false`) into a TypeBox type that
 * accepts the same values. The type is a copy with hidden marks: it keeps annotations and references, and its JSON is
 * the original. Patterns run in linear time. Throws `SchemaError` for malformed schemas and unresolved references.
 */
export function FromSchema(schema: unknown, options: FromSchemaOptions = {}): TSchema {
  const limits = resolveLimits(options.limits);
  const documents = options.remotes === undefined ? publishedDocuments : new RemoteDocuments(options.remotes, limits);
  const type = convert(schema, options, limits, documents);
  hide(type, foreignMark, { documents, onReport: options.onReport } satisfies Foreign);
  return type;
}

/** {@link FromSchema} for the program's own schemas: their patterns run on the native engine. */
export function convertSchema(schema: unknown): TSchema {
  return convert(schema, {}, defaultLimits, publishedDocuments);
}

function convert(
  schema: unknown,
  { dialect }: FromSchemaOptions,
  limits: Required<Limits>,
  documents: RemoteDocuments,
): TSchema {
  const copier = new SchemaCopier(limits);
  const copy = copyOrRefuse(() => copier.copy(schema, "", 0, dialectOf(schema, dialect)));
  const root = typeof copy === "boolean" ? fromBoolean(copy) : copy;
  assertReferences(root, copier, { dialect, documents });
  if (dialect !== undefined && !Object.hasOwn(root, "$schema")) root["$schema"] = dialectURI(dialect);
  return root as TSchema;
}

/** Reports a stack overflow as a `SchemaError`, because a caller can set limits that exceed the stack. */
function copyOrRefuse<T>(copy: () => T): T {
  try {
    return copy();
  } catch (error) {
    if (!isStackOverflow(error)) throw error;
    throw new SchemaError("", "the schema is nested too deeply to be read.", { cause: error });
  }
}

function fromBoolean(accepts: boolean): SchemaObject {
  const schema: SchemaObject = accepts ? {} : { not: {} };
  hide(schema, "~kind", accepts ? "Unknown" : "Never");
  return schema;
}

/** Checks that every reference resolves to a schema, and converts the targets below unknown keywords. */
function assertReferences(root: SchemaObject, copier: SchemaCopier, options: ResolverOptions): void {
  if (copier.references.length === 0) return;
  const resolver = new Resolver(root, options);
  const owned = new Set<unknown>();
  // Converting a target appends its references to the array that this loop reads.
  for (const { holder, pointer } of copier.references) {
    const reference = holder["$ref"] as string;
    const at = extendPointer(pointer, "$ref");
    const target = resolver.resolve(reference, holder);
    if (target === undefined) {
      throw new SchemaError(
        at,
        `${describeValue(reference)} does not resolve to a schema in this document. Nothing is fetched: add it to "$defs".`,
      );
    }
    assertShape(target, at);
    if (isObject(target) && !isMarked(target) && reference.startsWith("#/")) {
      const path = decodeURIComponent(reference.slice(2)).split("/").map(unescapeToken);
      replaceAt(resolver.resolve("#", holder) as SchemaObject, path, owned, (schema) =>
        copier.copy(schema, at, 1, dialectOf(root)),
      );
    }
  }
}

/** Replaces the schema at a path by its copy. Objects of the caller on the path are copied first. */
function replaceAt(root: SchemaObject, path: string[], owned: Set<unknown>, copy: (schema: unknown) => unknown): void {
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
