import { getOwn, isObject } from "../../internal/objects.ts";
import { dialectOf, ignoresRefSiblings, Resolver, type SchemaObject } from "../../schema/index.ts";
import {
  type Constraints,
  type Definition,
  intersectionOf,
  neverType,
  type ObjectNode,
  type PrimitiveName,
  type Property,
  type TypeNode,
  unionOf,
  unknownType,
} from "./type-node.ts";

const objectKeywords =
  "properties required additionalProperties patternProperties propertyNames minProperties maxProperties " +
  "unevaluatedProperties dependentRequired dependentSchemas";
const arrayKeywords =
  "items prefixItems additionalItems unevaluatedItems contains minItems maxItems uniqueItems minContains maxContains";

const keywordsOf = { object: objectKeywords.split(" "), array: arrayKeywords.split(" ") };

/** The keywords that are compared between versions of a contract, by the type that they apply to. */
const constraintsOf: Record<string, readonly string[]> = {
  string: ["minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType"],
  number: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  array: ["minItems", "maxItems", "uniqueItems"],
  object: ["minProperties", "maxProperties"],
};

const primitives: Readonly<Record<string, PrimitiveName>> = {
  string: "string",
  number: "number",
  integer: "number",
  boolean: "boolean",
  null: "null",
  bigint: "bigint", // the last three are types of TypeBox, which have no JSON
  undefined: "undefined",
  void: "undefined",
};

/**
 * Reads the schemas of one document as types. Where TypeScript cannot express a schema (`not`, `if`, dynamic references),
 * the type has more values than the schema accepts. A schema with `properties` or `items` and without `type` describes
 * objects or arrays.
 */
export class SchemaReader {
  readonly #resolver: Resolver;
  readonly #name: string;
  readonly #definitions = new Map<object, Definition>();
  readonly #ignoresSiblings: boolean;

  /** @param name - the name of the document, for references to its root */
  constructor(document: unknown, name: string) {
    this.#resolver = new Resolver(document);
    this.#name = name;
    this.#ignoresSiblings = ignoresRefSiblings(dialectOf(document));
  }

  /** Reads one schema of the document. */
  read(schema: unknown): TypeNode {
    if (!isObject(schema)) return schema === false ? neverType : unknownType;
    const { $ref } = schema;
    if (typeof $ref === "string") {
      const target = this.#follow($ref, schema);
      return this.#ignoresSiblings ? target : intersectionOf([target, this.#withoutReference(schema)]);
    }
    return this.#withoutReference(schema);
  }

  #follow(reference: string, holder: SchemaObject): TypeNode {
    const target = this.#resolver.resolve(reference, holder);
    if (!isObject(target)) return target === false ? neverType : unknownType;
    let definition = this.#definitions.get(target);
    if (definition === undefined) {
      const token = decode(reference.slice(Math.max(reference.lastIndexOf("/"), reference.lastIndexOf("#")) + 1));
      definition = { name: token || this.#name, type: unknownType, docs: docsOf(target) };
      this.#definitions.set(target, definition);
      definition.type = this.read(target);
      if (isUnguarded(definition.type, definition)) definition.type = unknownType;
    }
    return { kind: "reference", to: definition };
  }

  #withoutReference(schema: SchemaObject): TypeNode {
    const parts = [this.#ownType(schema)];
    for (const part of list(schema["allOf"])) parts.push(this.read(part));
    for (const keyword of ["anyOf", "oneOf"]) {
      if (Array.isArray(schema[keyword])) parts.push(unionOf(schema[keyword].map((part) => this.read(part))));
    }
    // A branch of `type: object` adds nothing to a type that describes an object already.
    const described = parts.slice(1).some((part) => part.kind !== "primitive");
    if (described && isAnyObject(parts[0]!)) parts.shift();
    return intersectionOf(parts);
  }

  /** Reads the keywords that do not combine schemas. */
  #ownType(schema: SchemaObject): TypeNode {
    const types = typesOf(schema);
    if (Object.hasOwn(schema, "const")) return literalOf([schema["const"]], types);
    if (Array.isArray(schema["enum"])) return literalOf(schema["enum"], types);
    if (types === undefined) return unknownType;
    return unionOf(types.map((type) => this.#typeOf(type, schema)));
  }

  #typeOf(type: string, schema: SchemaObject): TypeNode {
    if (type === "object") return this.#objectOf(schema);
    if (type === "array") return this.#arrayOf(schema);
    const name = Object.hasOwn(primitives, type) ? primitives[type]! : "unknown";
    const constraints = pickConstraints(schema, name, type === "integer" ? { integer: true } : undefined);
    return { kind: "primitive", name, constraints };
  }

  #arrayOf(schema: SchemaObject): TypeNode {
    const isOldTuple = Array.isArray(schema["items"]);
    const items = list(isOldTuple ? schema["items"] : schema["prefixItems"]).map((item) => this.read(item));
    const others = isOldTuple ? schema["additionalItems"] : schema["items"];
    const min = typeof schema["minItems"] === "number" ? schema["minItems"] : 0;
    const max = typeof schema["maxItems"] === "number" ? schema["maxItems"] : Number.POSITIVE_INFINITY;
    const isFull = others === false || schema["unevaluatedItems"] === false || max <= items.length;
    const rest = isFull && items.length > 0 ? undefined : this.read(others);
    const constraints = pickConstraints(schema, "array");
    return { kind: "array", items, required: Math.min(min, items.length), rest, constraints };
  }

  #objectOf(schema: SchemaObject): ObjectNode {
    const { additionalProperties, unevaluatedProperties, patternProperties } = schema;
    const declared = isObject(schema["properties"]) ? schema["properties"] : {};
    const required = new Set(list(schema["required"]).filter((name) => typeof name === "string"));
    const properties: Property[] = Object.keys(declared).map((name) => ({
      name,
      type: this.read(declared[name]),
      isOptional: !required.has(name),
      docs: docsOf(declared[name]),
    }));
    for (const name of required) {
      if (!Object.hasOwn(declared, name)) properties.push({ name, type: unknownType, isOptional: false });
    }
    const isClosed = additionalProperties === false || unevaluatedProperties === false;
    const patterns = isObject(patternProperties) ? Object.values(patternProperties) : [];
    const others = [...patterns, ...(isClosed ? [] : [additionalProperties])];
    const hasRest = patterns.length > 0 || additionalProperties !== undefined || properties.length === 0;
    const rest = hasRest && others.length > 0 ? unionOf(others.map((other) => this.read(other))) : undefined;
    return { kind: "object", properties, rest, isClosed, constraints: pickConstraints(schema, "object") };
  }
}

/** Returns the types that a schema names, or those that its keywords apply to. */
function typesOf(schema: SchemaObject): string[] | undefined {
  const { type } = schema;
  if (typeof type === "string") return schema["nullable"] === true ? [type, "null"] : [type];
  if (Array.isArray(type)) return [...new Set(type.filter((each) => typeof each === "string"))];
  const implied = (["object", "array"] as const).filter((each) =>
    keywordsOf[each].some((keyword) => Object.hasOwn(schema, keyword)),
  );
  return implied.length > 0 ? implied : undefined;
}

function literalOf(values: readonly unknown[], types: readonly string[] | undefined): TypeNode {
  const allowed = types === undefined ? values : values.filter((value) => types.some((type) => hasType(value, type)));
  return unionOf(allowed.map((value) => ({ kind: "literal", value })));
}

function hasType(value: unknown, type: string): boolean {
  if (value === null) return type === "null";
  if (Array.isArray(value)) return type === "array";
  return typeof value === (type === "integer" ? "number" : type);
}

function pickConstraints(schema: SchemaObject, type: string, more?: Constraints): Constraints | undefined {
  const picked: Record<string, unknown> = { ...more };
  for (const keyword of constraintsOf[type] ?? []) {
    const value = getOwn(schema, keyword);
    if (value !== undefined && value !== false) picked[keyword] = value;
  }
  return Object.keys(picked).length > 0 ? picked : undefined;
}

function isAnyObject(type: TypeNode): boolean {
  return type.kind === "object" && type.properties.length === 0 && !type.isClosed && type.constraints === undefined;
}

/** Returns whether a type refers to a definition outside of objects and arrays, which TypeScript cannot resolve. */
function isUnguarded(type: TypeNode, definition: Definition, seen = new Set<Definition>()): boolean {
  if (type.kind === "union" || type.kind === "intersection") {
    return type.parts.some((part) => isUnguarded(part, definition, seen));
  }
  if (type.kind !== "reference") return false;
  if (type.to === definition) return true;
  if (seen.has(type.to)) return false;
  return isUnguarded(type.to.type, definition, seen.add(type.to));
}

/** Returns the text of the doc comment of a schema. */
export function docsOf(schema: unknown): string | undefined {
  if (!isObject(schema)) return undefined;
  const { title, description, deprecated } = schema;
  const lines: string[] = [];
  const text = typeof description === "string" && description.trim() !== "" ? description : title;
  if (typeof text === "string" && text.trim() !== "") lines.push(escapeTags(text.trim()));
  if (deprecated === true) lines.push("@deprecated");
  const value = Object.hasOwn(schema, "default") ? JSON.stringify(schema["default"]) : undefined;
  if (value !== undefined && value.length <= 80) lines.push(`@default ${escapeTags(value)}`);
  return lines.length > 0 ? lines.join("\n") : undefined;
}

/** Escapes `@`, so that a description cannot contain tags such as `@deprecated`. */
export function escapeTags(text: string): string {
  return text.replaceAll(/(^|[\s{])@(?=\S)/g, "$1\\@");
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function decode(token: string): string {
  try {
    return decodeURIComponent(token);
  } catch {
    return token;
  }
}
