import { extendPointer } from "../internal/json-pointer.ts";
import { isObject, setOwn } from "../internal/objects.ts";
import { resolveLimits } from "../operation/inside.ts";
import {
  copySubschemas,
  dialectOf,
  forEachSubschema,
  Resolver,
  SchemaCopier,
  type SchemaObject,
  schemasIn,
} from "../schema/index.ts";

/** The types of JSON Schema. TypeBox has others, such as `undefined` and `bigint`, which have no JSON. */
const jsonTypes: ReadonlySet<unknown> = new Set(["null", "boolean", "object", "array", "number", "string", "integer"]);

/** Keywords that name a schema, or depend on its name or dialect. Pointers replace them. */
const naming: ReadonlySet<string> = new Set(
  "$schema $vocabulary $id id $anchor $dynamicAnchor $recursiveAnchor $dynamicRef $recursiveRef".split(" "),
);

const unlimited = resolveLimits({ schemaDepth: Infinity, subschemas: Infinity, patternLength: Infinity });

/** Changes the published copy of a schema or of a part of it. A reference is replaced later. */
export type AdaptSchema = (copy: SchemaObject, source: Readonly<SchemaObject>) => void;

/**
 * Returns a schema as other programs read it, for documents of servers: JSON Schema 2020-12 without ids, in which every
 * reference is a pointer into the document. These accept every value: what JSON Schema cannot express, references to
 * other documents, references whose target depends on the path of the evaluation, and a malformed schema.
 * @param location - JSON pointer to the place of the schema in the document
 * @param adapt - changes every part for the readers of the document
 */
export function toPublicSchema(schema: unknown, location = "", adapt: AdaptSchema = () => {}): SchemaObject {
  const source = readSchema(schema);
  if (!isObject(source)) return source ? {} : { not: {} };
  return new SchemaPublisher(source, location, adapt).publish();
}

/** Returns a copy without the keywords of draft-04 and OpenAPI 3.0. */
function readSchema(schema: unknown): SchemaObject | boolean {
  try {
    return new SchemaCopier(unlimited).copy(schema, "", 0, dialectOf(schema));
  } catch {
    return true; // A call of the operation reports the malformed schema.
  }
}

class SchemaPublisher {
  readonly #source: SchemaObject;
  readonly #parts: ReadonlySet<SchemaObject>;
  readonly #resolver: Resolver;
  readonly #location: string;
  readonly #adapt: AdaptSchema;
  /** Whether it is published as a whole document, and no part of it has its own names. */
  readonly #isDocument: boolean;
  /** The published copies of parts of the schema. */
  readonly #copies = new Map<unknown, SchemaObject>();
  /** JSON pointers to the copies that are in the published schema. */
  readonly #pointers = new Map<unknown, string>();
  /** The copies that refer to a part of the schema. */
  readonly #references: Array<{ copy: SchemaObject; target: SchemaObject }> = [];

  constructor(source: SchemaObject, location: string, adapt: AdaptSchema) {
    this.#source = source;
    this.#parts = schemasIn([source]);
    this.#resolver = new Resolver(source);
    this.#location = location;
    this.#adapt = adapt;
    this.#isDocument = location === "" && Array.from(this.#parts).every(({ $id }) => $id === undefined);
  }

  publish(): SchemaObject {
    const root = this.#copy(this.#source) as SchemaObject;
    this.#addPointers(root, this.#location);
    // Copying a target appends its references to the array that this loop reads.
    for (const { copy, target } of this.#references) {
      const found = this.#copies.get(target) ?? (this.#copy(target) as SchemaObject);
      // The target was below a keyword that is not known, or that was not kept.
      if (!this.#pointers.has(found)) this.#define(found, root);
      copy["$ref"] = `#${toFragment(this.#pointers.get(found)!)}`;
    }
    return root;
  }

  #copy(schema: unknown): unknown {
    if (!isObject(schema)) return schema;
    const isKept = (keyword: string) => !naming.has(keyword) || this.#keepsName(keyword, schema);
    const copy = copySubschemas(withoutUndefined(schema), (part) => this.#copy(part), isKept);
    if (copy["type"] !== undefined && !hasJSONType(copy["type"])) delete copy["type"];
    if (Array.isArray(copy["items"])) replaceItems(copy);
    this.#adapt(copy, schema);
    this.#copies.set(schema, copy);
    const target = this.#findTarget(schema);
    if (isObject(target)) this.#references.push({ copy, target });
    else delete copy["$ref"];
    if (target === false) copy["not"] = {};
    return copy;
  }

  /** A schema that is the whole document keeps its anchors, and its dialect if that is 2020-12. */
  #keepsName(keyword: string, schema: SchemaObject): boolean {
    if (!this.#isDocument || keyword !== "$schema") return this.#isDocument && keyword === "$anchor";
    return schema === this.#source && dialectOf(schema, "draft-04") === "2020-12";
  }

  /** Returns the target of the reference in a schema; `undefined` without a reference to a part of this document. */
  #findTarget(schema: SchemaObject): unknown {
    const { $ref, $recursiveRef, $dynamicRef = $recursiveRef } = schema;
    const reference = $ref ?? $dynamicRef;
    if (typeof reference !== "string") return undefined;
    const target =
      reference === $ref ? this.#resolver.resolve(reference, schema) : this.#resolver.resolveDynamic(reference, schema);
    return reference.startsWith("#") || this.#parts.has(target as SchemaObject) ? target : undefined;
  }

  /** Adds a copy to the definitions of the published schema. */
  #define(copy: SchemaObject, root: SchemaObject): void {
    const definitions = isObject(root["$defs"]) ? root["$defs"] : {};
    root["$defs"] = definitions;
    let name = "part";
    while (Object.hasOwn(definitions, name)) name += "_";
    setOwn(definitions, name, copy);
    this.#addPointers(copy, `${this.#location}/$defs/${name}`);
  }

  #addPointers(schema: unknown, pointer: string): void {
    if (!isObject(schema) || this.#pointers.has(schema) || hasLoneSurrogate.test(pointer)) return;
    this.#pointers.set(schema, pointer);
    forEachSubschema(schema, (part, ...path) => this.#addPointers(part, extendPointer(pointer, ...path)));
  }
}

/** URIs cannot contain it. */
const hasLoneSurrogate = /\p{Surrogate}/u;

/** Returns a pointer as the fragment of a URI. */
function toFragment(pointer: string): string {
  return encodeURI(pointer).replaceAll("#", "%23");
}

/** Omits the alternatives that only `undefined` matches, because a missing value has no schema. */
function withoutUndefined(schema: SchemaObject): SchemaObject {
  const { anyOf } = schema;
  if (!Array.isArray(anyOf) || !anyOf.some(isUndefinedType)) return schema;
  return { ...schema, anyOf: anyOf.filter((branch) => !isUndefinedType(branch)) };
}

function hasJSONType(type: unknown): boolean {
  return Array.isArray(type) ? type.every((each) => jsonTypes.has(each)) : jsonTypes.has(type);
}

function isUndefinedType(schema: unknown): boolean {
  return isObject(schema) && (schema["type"] === "undefined" || schema["type"] === "void");
}

/** Writes a list of `items` as 2020-12 has it. */
function replaceItems(schema: SchemaObject): void {
  const { items, additionalItems } = schema;
  delete schema["items"];
  delete schema["additionalItems"];
  schema["prefixItems"] = items;
  if (additionalItems !== undefined) schema["items"] = additionalItems;
}
