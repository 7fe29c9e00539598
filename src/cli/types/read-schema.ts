import { isObject, setOwn } from "../../internal/objects.ts";
import {
  assertions,
  copySubschemas,
  dialectOf,
  ignoresRefSiblings,
  Resolver,
  type SchemaObject,
} from "../../schema/index.ts";
import { hasType } from "../input-schema.ts";

/** Key of the schema that a type was read from, for its documentation and examples. `JSON.stringify` ignores it. */
export const source: unique symbol = Symbol("source");

/**
 * A JSON Schema in a form that can be printed as TypeScript, compared and written to the lock file. It has exactly one of
 * `$ref`, `enum`, `anyOf`, `oneOf`, `allOf` and `type`, and keywords that apply to that type. All other assertions are in
 * a part of their own, without any of these: TypeScript cannot express them. `{}` accepts every value, and `enum: []` none.
 */
export interface TypeSchema {
  [source]?: SchemaObject;
  $ref?: Definition;
  enum?: readonly unknown[];
  anyOf?: readonly TypeSchema[];
  oneOf?: readonly TypeSchema[];
  allOf?: readonly TypeSchema[];
  type?: string;
  /** Contains every property that is required. */
  properties?: Readonly<Record<string, TypeSchema>>;
  required?: readonly string[];
  /** The type of properties that are not listed. Without it they are allowed, and are not part of the type. */
  additionalProperties?: TypeSchema;
  patternProperties?: Readonly<Record<string, TypeSchema>>;
  prefixItems?: readonly TypeSchema[];
  items?: TypeSchema;
  readonly [keyword: string]: unknown;
}

/** A named type. Equal ones of several documents get the same name. */
export class Definition {
  /** The name in its document; later the identifier that is printed. */
  name: string;
  /** Set after the definition was created, because it may refer to itself. */
  schema: TypeSchema = {};
  readonly #namespace: string;

  constructor(namespace: string, name: string) {
    this.#namespace = namespace;
    this.name = name;
  }

  /** Key in the definitions of a lock file. */
  get key(): string {
    return `${this.#namespace}.${this.name}`;
  }

  /** Returns the reference to this definition in a lock file. */
  toJSON(): string {
    return `#/$defs/${encodeURIComponent(this.key)}`;
  }
}

/** The constraints of each type that are compared between versions. */
export const constraintsOf: ReadonlyMap<string | undefined, readonly string[]> = new Map([
  ["string", ["minLength", "maxLength", "pattern", "format"]],
  ["number", ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]],
  ["integer", ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]],
  ["array", ["minItems", "maxItems", "uniqueItems"]],
  ["object", ["minProperties", "maxProperties"]],
]);

/** The other keywords of types. A schema that has one of them, and no `type`, has that type. */
const keywordsOf: ReadonlyMap<string, readonly string[]> = new Map([
  ["object", ["properties", "required", "additionalProperties", "patternProperties"]],
  ["array", ["items", "prefixItems", "additionalItems"]],
]);

const typeKeywords = new Set([...constraintsOf.values(), ...keywordsOf.values()].flat());
const combiningKeywords = new Set(["$ref", "allOf", "anyOf", "oneOf", "const", "enum", "type"]);

/**
 * Reads the schemas of one document as types. A schema with `properties` or `items` and without `type` describes objects
 * or arrays.
 */
export class SchemaReader {
  readonly #document: unknown;
  readonly #namespace: string;
  readonly #name: string;
  readonly #resolver: Resolver;
  readonly #ignoresSiblings: boolean;
  readonly #definitions = new Map<object, Definition>();

  /** @param name - the name of the document, for references to its root */
  constructor(document: unknown, namespace: string, name: string) {
    this.#document = document;
    this.#namespace = namespace;
    this.#name = name;
    this.#resolver = new Resolver(document);
    this.#ignoresSiblings = ignoresRefSiblings(dialectOf(document));
  }

  /** The definitions that were read, in the order of their first references. */
  get definitions(): Definition[] {
    return [...this.#definitions.values()];
  }

  /** Reads one schema of the document. */
  read(schema: unknown): TypeSchema {
    if (!isObject(schema)) return schema === false ? { enum: [] } : {};
    const { $ref } = schema;
    const reference = typeof $ref === "string" ? this.#follow($ref, schema) : {};
    const parts = typeof $ref === "string" && this.#ignoresSiblings ? [] : this.#partsOf(schema, reference);
    return { ...combine("allOf", [reference, ...parts]), [source]: schema };
  }

  #follow(reference: string, holder: SchemaObject): TypeSchema {
    const target = this.#resolver.resolve(reference, holder);
    if (!isObject(target)) return this.read(target);
    let definition = this.#definitions.get(target);
    if (definition === undefined) {
      const [uri = "", fragment = ""] = reference.split("#");
      const name = decodeURIComponent(fragment).split("/").at(-1) || uri.split("/").at(-1) || this.#name;
      definition = new Definition(this.#namespace, name);
      this.#definitions.set(target, definition);
      const schema = this.read(target);
      definition.schema = isUnguarded(schema, definition) ? { [source]: target } : schema;
    }
    return { $ref: definition };
  }

  /** Reads the keywords beside a reference as types that all hold. */
  #partsOf(schema: SchemaObject, reference: TypeSchema): TypeSchema[] {
    const isAssertion = (keyword: string) => assertions.has(keyword) && schema[keyword] !== null;
    const keywords = copySubschemas(schema, (part) => this.read(part), isAssertion);
    const types = typesOf(schema);
    const constant = Object.hasOwn(schema, "const") ? [schema["const"]] : undefined;
    const values = [constant, schema["enum"]].filter(Array.isArray).map((list): TypeSchema => {
      return { enum: list.filter((value) => types === undefined || types.some((type) => hasType(value, type))) };
    });
    const typed = values.length === 0 && types?.map((type) => toType(type, keywords));
    const combined = (["allOf", "anyOf", "oneOf"] as const).map((keyword) => {
      return Array.isArray(keywords[keyword]) ? combine(keyword, keywords[keyword]) : {};
    });
    const others = Object.entries(keywords).filter(([keyword]) => {
      if (combiningKeywords.has(keyword) || keyword.startsWith("unevaluated")) return false;
      return !typed || !typeKeywords.has(keyword) || (keyword === "required" && "patternProperties" in keywords);
    });
    // These two depend on all other keywords.
    const isDependent = "unevaluatedProperties" in keywords || "unevaluatedItems" in keywords;
    const isDynamic = "$dynamicRef" in keywords || "$recursiveRef" in keywords;
    return [
      ...values,
      ...(typed ? [combine("anyOf", typed)] : []),
      ...combined,
      // TypeScript cannot express the rest. Comparisons only find out whether it changed.
      Object.fromEntries(others),
      isDependent ? { not: { not: { ...keywords, ...reference } } } : {},
      isDynamic ? { $defs: this.#document } : {},
    ];
  }
}

/** Returns the type that a schema describes for the values of one type of JSON Schema. */
function toType(name: string, keywords: SchemaObject): TypeSchema {
  if (name === "null") return { enum: [null] };
  const type: SchemaObject = { type: name === "void" ? "undefined" : name };
  for (const keyword of [...(keywordsOf.get(name) ?? []), ...(constraintsOf.get(name) ?? [])]) {
    const value = keywords[keyword];
    const isNeutral = value === undefined || value === false || (value === 0 && /^min[A-Z]/.test(keyword));
    if (!isNeutral) type[keyword] = value;
  }
  return name === "object" ? toObject(type) : name === "array" ? toArray(type) : type;
}

function toObject({ properties, required, ...others }: TypeSchema): TypeSchema {
  const { patternProperties, additionalProperties } = others;
  const listed = { ...properties };
  const names = new Set(Array.isArray(required) ? required.filter((name) => typeof name === "string") : []);
  for (const name of names) {
    if (Object.hasOwn(listed, name)) continue;
    if (patternProperties === undefined) setOwn(listed, name, additionalProperties ?? {});
    else names.delete(name); // Its type may depend on a pattern.
  }
  const isListed = Object.keys(listed).length > 0;
  const isMap = (!isListed && properties === undefined) || patternProperties !== undefined;
  return {
    type: "object",
    ...(isListed && { properties: listed }),
    ...(names.size > 0 && { required: [...names] }),
    ...(isMap && { additionalProperties: {} }),
    ...others,
  };
}

/** Tuples of draft 7 have a list of `items`. */
function toArray({ prefixItems, additionalItems, ...type }: TypeSchema): TypeSchema {
  const [elements, others] = Array.isArray(type.items) ? [type.items, additionalItems] : [prefixItems, type.items];
  if (!Array.isArray(elements)) return type;
  const isFull = typeof type["maxItems"] === "number" && type["maxItems"] <= elements.length;
  return { ...type, prefixItems: elements, items: isFull ? { enum: [] } : ((others ?? {}) as TypeSchema) };
}

/**
 * Combines types, without those that have no effect. Returns the type itself if there is only one.
 * @param keyword - `oneOf` excludes the values of several types, so equal ones stay
 */
export function combine(keyword: "allOf" | "anyOf" | "oneOf", parts: readonly TypeSchema[]): TypeSchema {
  const isNeutral = keyword === "allOf" ? isUnknown : isNever;
  const absorbing = keyword === "allOf" ? parts.find(isNever) : keyword === "anyOf" ? parts.find(isUnknown) : undefined;
  if (absorbing !== undefined) return absorbing;
  const members = parts
    .flatMap((part) => (keyword !== "oneOf" && part[keyword]) || [part])
    .filter((part) => !isNeutral(part));
  const isSet = keyword === "oneOf" || members.length < 2;
  const distinct = isSet ? members : [...new Map(members.map((part) => [JSON.stringify(part), part])).values()];
  if (distinct.length === 0) return keyword === "allOf" ? {} : { enum: [] };
  return distinct.length === 1 ? distinct[0]! : { [keyword]: distinct };
}

/** Returns whether a type accepts every value. */
export function isUnknown(schema: TypeSchema): boolean {
  return Object.keys(schema).length === 0;
}

/** Returns whether a type accepts no value. */
export function isNever(schema: TypeSchema): boolean {
  return schema.enum?.length === 0;
}

/** Returns the types that a schema names, or those that its keywords apply to. */
function typesOf(schema: SchemaObject): string[] | undefined {
  const { type } = schema;
  if (typeof type === "string") return schema["nullable"] === true ? [type, "null"] : [type];
  if (Array.isArray(type)) return [...new Set(type.filter((each) => typeof each === "string"))];
  const implied = [...keywordsOf.keys()].filter((name) =>
    [...keywordsOf.get(name)!, ...constraintsOf.get(name)!].some((keyword) => Object.hasOwn(schema, keyword)),
  );
  return implied.length > 0 ? implied : undefined;
}

/** Returns whether a type refers to a definition outside of objects and arrays, which TypeScript cannot resolve. */
function isUnguarded(schema: TypeSchema, definition: Definition, seen = new Set<Definition>()): boolean {
  const { $ref, anyOf = [], oneOf = [], allOf = [] } = schema;
  if ($ref === definition) return true;
  if ($ref === undefined) return [...anyOf, ...oneOf, ...allOf].some((part) => isUnguarded(part, definition, seen));
  return !seen.has($ref) && isUnguarded($ref.schema, definition, seen.add($ref));
}
