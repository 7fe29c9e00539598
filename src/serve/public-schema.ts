import { extendPointer } from "../internal/json-pointer.ts";
import { isObject } from "../internal/objects.ts";
import { copySubschemas, forEachSubschema, type SchemaObject } from "../schema/index.ts";

/** The types of JSON Schema. TypeBox has others, such as `undefined` and `bigint`, which have no JSON. */
const jsonTypes: ReadonlySet<unknown> = new Set(["null", "boolean", "object", "array", "number", "string", "integer"]);

/** The base of a schema without `$id`, which relative ids need. */
const anonymousBase = "schema:///";

/**
 * Returns a schema as other programs read it, for documents of servers: JSON Schema 2020-12 without ids, in which every
 * reference is a pointer into the document. What JSON Schema cannot express, and references to other documents, accept
 * every value. A schema that declares its dialect with `$schema` keeps that dialect.
 * @param location - JSON pointer to the place of the schema in the document
 */
export function toPublicSchema(schema: unknown, location = ""): SchemaObject {
  if (!isObject(schema)) return schema === false ? { not: {} } : {};
  return new SchemaPublisher(schema, location).publish();
}

class SchemaPublisher {
  readonly #root: SchemaObject;
  readonly #location: string;
  /** Declares another dialect, in which lists of `items` are valid. */
  readonly #hasDialect: boolean;
  /** Pointers by absolute URI: resources by their `$id`, and anchors. */
  readonly #pointers = new Map<string, string>();
  readonly #bases = new Map<SchemaObject, string>();
  /** Whether a reference depends on the path of the evaluation. Such schemas keep their ids and references. */
  #isDynamic = false;
  #hasIds = false;

  constructor(root: SchemaObject, location: string) {
    this.#root = root;
    this.#location = encodeURI(location); // a pointer in a reference is part of a URI
    this.#hasDialect = typeof root["$schema"] === "string" && !root["$schema"].includes("2020-12");
    this.#pointers.set(anonymousBase, "");
    this.#index(root, "", anonymousBase);
  }

  publish(): SchemaObject {
    return this.#copy(this.#root) as SchemaObject;
  }

  #index(schema: SchemaObject, pointer: string, outerBase: string): void {
    const { $id, $anchor } = schema;
    let base = outerBase;
    if (typeof $id === "string" && !$id.startsWith("#")) {
      base = joinURI($id, outerBase)?.replace(/#.*$/, "") ?? outerBase;
      if (!this.#pointers.has(base)) this.#pointers.set(base, encodeURI(pointer));
    }
    for (const anchor of [$anchor, typeof $id === "string" && $id.startsWith("#") ? $id.slice(1) : undefined]) {
      if (typeof anchor === "string" && anchor !== "") this.#pointers.set(`${base}#${anchor}`, encodeURI(pointer));
    }
    this.#bases.set(schema, base);
    this.#hasIds ||= typeof $id === "string";
    this.#isDynamic ||= Object.hasOwn(schema, "$dynamicRef") || Object.hasOwn(schema, "$recursiveRef");
    forEachSubschema(schema, (part, ...path) => {
      if (isObject(part) && !this.#bases.has(part)) this.#index(part, extendPointer(pointer, ...path), base);
    });
  }

  /** Anchors stay unique in a document that is this schema alone, without parts that have their own ids. */
  get #keepsAnchors(): boolean {
    return this.#location === "" && !this.#hasIds;
  }

  #copy(schema: unknown): unknown {
    if (!isObject(schema)) return schema;
    const copy = copySubschemas(this.#withoutUndefined(schema), (part) => this.#copy(part));
    if (copy["type"] !== undefined && !hasJSONType(copy["type"])) delete copy["type"];
    if (!this.#hasDialect && Array.isArray(copy["items"])) replaceItems(copy);
    if (this.#isDynamic) return copy;
    delete copy["$id"];
    if (!this.#keepsAnchors) delete copy["$anchor"];
    if (typeof copy["$ref"] !== "string") return copy;
    const target = this.#resolve(copy["$ref"], this.#bases.get(schema) ?? anonymousBase);
    if (target === undefined) delete copy["$ref"];
    else copy["$ref"] = `#${this.#location}${target}`;
    return copy;
  }

  /** Omits the alternatives that only `undefined` matches, because a missing value has no schema. */
  #withoutUndefined(schema: SchemaObject): SchemaObject {
    const { anyOf } = schema;
    if (!Array.isArray(anyOf) || !anyOf.some(isUndefinedType)) return schema;
    return { ...schema, anyOf: anyOf.filter((branch) => !isUndefinedType(branch)) };
  }

  #resolve(reference: string, base: string): string | undefined {
    const uri = joinURI(reference, base);
    if (uri === undefined) return undefined;
    const known = this.#pointers.get(uri.replace(/#$/, ""));
    if (known !== undefined) return known;
    const hash = uri.indexOf("#");
    const resource = hash < 0 ? undefined : this.#pointers.get(uri.slice(0, hash));
    return resource === undefined || uri[hash + 1] !== "/" ? undefined : `${resource}${uri.slice(hash + 1)}`;
  }
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

function joinURI(reference: string, base: string): string | undefined {
  return URL.canParse(reference, base) ? new URL(reference, base).href : undefined;
}
