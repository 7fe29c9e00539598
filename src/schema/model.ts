import { canonicalJSON } from "../internal/canonical-json.ts";
import { readPointer } from "../internal/json-pointer.ts";
import { getOwn, isObject, type JSONObject } from "../internal/objects.ts";
import { decodePercent } from "../internal/urls.ts";
import {
  assertions,
  copySubschemas,
  dialectOf,
  forEachSubschema,
  ignoresRefSiblings,
  type SchemaObject,
} from "./keywords.ts";

export { assertions, copySubschemas, type SchemaObject };

/** The form of the values that a schema describes. `undefined` and `bigint` are types of TypeBox without a JSON form. */
export type Kind =
  | "never"
  | "unknown"
  | "null"
  | "const"
  | "enum"
  | "union"
  | "string"
  | "number"
  | "integer"
  | "boolean"
  | "bytes"
  | "object"
  | "map"
  | "array"
  | "tuple"
  | "undefined"
  | "bigint";

/** A property of an object. */
export interface Property {
  /** What its values are. */
  shape: Shape;
  /** Whether every object has it. */
  isRequired: boolean;
}

/** One form of the values of a union. */
export interface Alternative {
  /** The member as it is written. */
  schema: unknown;
  /** What its values are, including what the schema around the union demands. */
  shape: Shape;
  /** Its title, or else the name of its definition; `undefined` if it has neither. */
  name: string | undefined;
}

/** The schemas that apply to one value. A schema with nothing but a reference is left out. */
interface Parts {
  schemas: SchemaObject[];
  /** Whether one of them is `false`. */
  isNever: boolean;
}

/** Maximum number of unions on the path to an alternative. Unions may be recursive. */
const maxUnions = 16;
/** Maximum number of schemas in all alternatives of a document. Unions may be nested; those beyond it are not resolved. */
const maxAlternativeParts = 100_000;
/** The base of a document without `$id`: relative ids need an absolute base to be compared. */
const anonymousBase = "schema:///";

/** How a bound of several schemas combines: the greatest, or the smallest. */
const bounds: ReadonlyMap<string, (a: number, b: number) => number> = new Map(
  (
    "minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems " +
    "minProperties maxProperties"
  )
    .split(" ")
    .map((keyword) => [keyword, /^(?:min|exclusiveMin)/.test(keyword) ? Math.max : Math.min]),
);
const singles = ["pattern", "format", "multipleOf", "uniqueItems"];

/** The keywords that show what a schema without `type` is for. */
const impliedTypes: ReadonlyMap<string, readonly string[]> = new Map([
  ["object", "properties required additionalProperties patternProperties minProperties maxProperties".split(" ")],
  ["array", "items prefixItems additionalItems minItems maxItems uniqueItems".split(" ")],
]);
const simpleKinds = ["string", "number", "integer", "boolean", "undefined", "bigint"] as const;

/** The assertions that a {@link Shape} expresses. */
const expressed: ReadonlySet<string> = new Set([
  ...["$ref", "allOf", "anyOf", "oneOf", "const", "enum", "type"],
  ...["properties", "required", "additionalProperties", "items", "prefixItems", "additionalItems"],
  ...bounds.keys(),
]);

const models = new WeakMap<object, SchemaModel>();

/** Returns the model of a document, the same one for the same object. The document must not change afterwards. */
export function modelOf(document: unknown): SchemaModel {
  if (!isObject(document)) return new SchemaModel(document);
  const model = models.get(document) ?? new SchemaModel(document);
  models.set(document, model);
  return model;
}

/** The schemas of one document, whose references are resolved in it. Reads what is needed, when it is needed. */
export class SchemaModel {
  /** Whether keywords beside a `$ref` are ignored, as in draft 7 and earlier. */
  readonly ignoresSiblings: boolean;
  /** Number of schemas in alternatives that may still be read. */
  partsLeft = maxAlternativeParts;
  readonly #document: unknown;
  readonly #shapes = new Map<string, Shape>();
  readonly #numbers = new Map<object, number>();
  /** Resources by URI, and anchors by URI with fragment. */
  readonly #targets = new Map<string, unknown>();
  readonly #bases = new Map<object, string>();

  constructor(document: unknown) {
    this.#document = document;
    this.ignoresSiblings = ignoresRefSiblings(dialectOf(document));
  }

  /** The shape of the whole document. */
  get root(): Shape {
    return this.shape([this.#document]);
  }

  /**
   * Returns the shape of the values that all these schemas accept.
   * @param chosen - unions that were replaced by one of their members
   */
  shape(schemas: readonly unknown[], chosen: ReadonlySet<unknown> = new Set()): Shape {
    const parts = this.collect(schemas);
    const key = [...parts.schemas, parts.isNever, ...chosen].map((part) => this.#numberOf(part)).join();
    const shape = this.#shapes.get(key) ?? new Shape(this, parts, chosen);
    this.#shapes.set(key, shape);
    return shape;
  }

  /**
   * Returns the target of a `$ref`: a JSON pointer, an anchor or an `$id`. Returns `undefined` if it is not in the document.
   * @param holder - the schema with the reference, which determines the base if the document has several `$id`s
   */
  resolve(reference: string, holder: object): unknown {
    if (this.#targets.size === 0) this.#readNames(this.#document, anonymousBase);
    const rootBase = isObject(this.#document) ? this.#bases.get(this.#document) : undefined;
    const uri = joinURI(reference, this.#bases.get(holder) ?? rootBase ?? anonymousBase) ?? "";
    const [resource = "", fragment = ""] = uri.split("#");
    const pointer = decodePercent(fragment);
    if (pointer !== undefined && pointer !== "" && !pointer.startsWith("/")) {
      return this.#targets.get(`${resource}#${pointer}`);
    }
    const target = pointer === undefined ? undefined : readPointer(this.#targets.get(resource), pointer);
    // A pointer may lead below an unknown keyword, where nothing was read yet.
    if (isObject(target) && !this.#bases.has(target)) this.#readNames(target, resource);
    return target;
  }

  /** Returns the schemas that apply to the same value: these, targets of references and members of `allOf`. */
  collect(given: readonly unknown[]): Parts {
    const found = new Set<SchemaObject>();
    const skipped = new Set<unknown>();
    const pending = [...given].reverse();
    while (pending.length > 0) {
      const schema = pending.pop();
      if (schema === false) return { schemas: [], isNever: true };
      if (!isObject(schema) || found.has(schema) || skipped.has(schema)) continue;
      const { $ref, allOf, anyOf, oneOf } = schema;
      const target = typeof $ref === "string" ? this.resolve($ref, schema) : undefined;
      const isAlone = target !== undefined && (this.ignoresSiblings || Object.keys(schema).length === 1);
      if (isAlone) skipped.add(schema);
      else {
        found.add(schema);
        const alone = [anyOf, oneOf].filter((union) => Array.isArray(union) && union.length === 1);
        pending.push(...[allOf, ...alone].flatMap((list) => (Array.isArray(list) ? list : [])).reverse());
      }
      pending.push(target);
    }
    return { schemas: [...found], isNever: false };
  }

  /** Returns a value with all schemas that it refers to, directly or through others. */
  withTargets(value: unknown): unknown[] {
    const found = new Set([value]);
    for (const each of found) {
      JSON.stringify(each, (key, held: unknown) => {
        if (key === "$ref" && typeof held === "string") found.add(this.resolve(held, {}));
        return held;
      });
    }
    return [...found];
  }

  #numberOf(part: unknown): number | string {
    if (typeof part !== "object" || part === null) return String(part);
    const number = this.#numbers.get(part) ?? this.#numbers.size;
    this.#numbers.set(part, number);
    return number;
  }

  #readNames(document: unknown, base: string): void {
    if (!this.#targets.has(base)) this.#targets.set(base, document);
    const pending: Array<[schema: unknown, base: string]> = [[document, base]];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      const [schema, outer] = next;
      if (!isObject(schema) || this.#bases.has(schema)) continue;
      let own = outer;
      const { $id = this.ignoresSiblings ? schema["id"] : undefined, $anchor, $dynamicAnchor } = schema;
      const isNamed = typeof $id === "string" && !(this.ignoresSiblings && "$ref" in schema && schema !== document);
      if (isNamed && !$id.startsWith("#")) {
        own = joinURI($id, outer)?.replace(/#.*$/, "") ?? outer;
        if (!this.#targets.has(own)) this.#targets.set(own, schema);
      } else if (isNamed) this.#targets.set(own + $id, schema);
      for (const anchor of [$anchor, $dynamicAnchor]) {
        if (typeof anchor === "string") this.#targets.set(`${own}#${anchor}`, schema);
      }
      this.#bases.set(schema, own);
      forEachSubschema(schema, (part) => pending.push([part, own]));
    }
  }
}

/**
 * What the values of some schemas look like, with references resolved and `allOf` merged. Each part is read when it is first
 * used, and the same part is the same object, so recursive schemas have no end but take no space.
 */
export class Shape {
  /** The schemas that all apply, outer ones first. */
  readonly schemas: readonly SchemaObject[];
  readonly #model: SchemaModel;
  readonly #chosen: ReadonlySet<unknown>;
  readonly #isNever: boolean;
  #kind: Kind | undefined;
  #values: { list: readonly unknown[] | undefined } | undefined;
  #alternatives: readonly Alternative[] | undefined;
  #properties: ReadonlyMap<string, Property> | undefined;

  /** Use {@link SchemaModel.shape}. */
  constructor(model: SchemaModel, { schemas, isNever }: Parts, chosen: ReadonlySet<unknown>) {
    this.schemas = schemas;
    this.#isNever = isNever;
    this.#model = model;
    this.#chosen = chosen;
  }

  /** The form of the values. */
  get kind(): Kind {
    this.#kind ??= this.#findKind();
    return this.#kind;
  }

  /** All values, if the schemas list them. */
  get values(): readonly unknown[] | undefined {
    this.#values ??= { list: this.#findValues() };
    return this.#values.list;
  }

  /** The members of a union, without those that accept nothing. Each has one type. */
  get alternatives(): readonly Alternative[] {
    this.#alternatives ??= this.#findAlternatives();
    return this.#alternatives;
  }

  /** The properties that are listed or required, in the order of the schemas. */
  get properties(): ReadonlyMap<string, Property> {
    if (this.#properties !== undefined) return this.#properties;
    const lists = this.schemas.flatMap(({ required }) => (Array.isArray(required) ? (required as unknown[]) : []));
    const required = new Set(lists.filter((name) => typeof name === "string"));
    const listed = this.schemas.flatMap(({ properties }) => (isObject(properties) ? Object.keys(properties) : []));
    const names = [...new Set([...listed, ...required])];
    const toProperty = (name: string) => ({ shape: this.property(name), isRequired: required.has(name) });
    this.#properties = new Map(names.map((name) => [name, toProperty(name)]));
    return this.#properties;
  }

  /** Returns the shape of a property, also of one that is not listed. */
  property(name: string): Shape {
    const isListed = this.schemas.some(({ properties }) => getOwn(properties, name) !== undefined);
    return this.#model.shape(
      this.schemas.flatMap((schema) => getOwn(schema["properties"], name) ?? restOf(schema, !isListed) ?? []),
    );
  }

  /** The shape of the properties that are not listed. */
  get rest(): Shape {
    return this.#model.shape(this.schemas.flatMap((schema) => restOf(schema, true) ?? []));
  }

  /** Whether the schemas say what properties that are not listed are. Otherwise they are allowed, but not described. */
  get isOpen(): boolean {
    return this.schemas.some((schema) => restOf(schema, true) !== undefined) && !this.rest.isNever;
  }

  /** The elements of a tuple that have a shape of their own. */
  get prefix(): readonly Shape[] {
    return Array.from({ length: this.#prefixLength }, (_, index) => this.element(index));
  }

  /** The shape of the elements of an array after {@link prefix}. */
  get items(): Shape {
    return this.element(this.#prefixLength);
  }

  /** Returns the shape of one element of an array. */
  element(index: number): Shape {
    return this.#model.shape(
      this.schemas.flatMap((schema) => {
        const { items, prefixItems, additionalItems, unevaluatedItems, maxItems } = schema;
        if (typeof maxItems === "number" && maxItems <= index) return false;
        const rest = Array.isArray(items) ? additionalItems : (items ?? (prefixItems && unevaluatedItems));
        return prefixOf(schema)[index] ?? rest ?? [];
      }),
    );
  }

  /** The bounds, the pattern, the format and the like. The narrowest of several bounds counts. */
  get limits(): JSONObject {
    const limits: JSONObject = {};
    for (const schema of this.schemas) {
      for (const [keyword, narrowest] of bounds) {
        const isFlag = schema[keyword] === true; // In draft 4 it belongs to the bound beside it.
        const value = isFlag ? schema[keyword === "exclusiveMinimum" ? "minimum" : "maximum"] : schema[keyword];
        const known = limits[keyword] as number | undefined;
        if (typeof value === "number") limits[keyword] = known === undefined ? value : narrowest(known, value);
      }
      for (const keyword of singles) if (schema[keyword] && !limits[keyword]) limits[keyword] = schema[keyword];
    }
    return limits;
  }

  /** What no other member expresses, such as `not` and `if`, as canonical JSON of keyword and value with what it refers to. */
  get others(): readonly string[] {
    const { limits } = this;
    const isUnion = this.#union() !== undefined;
    const isOther = (keyword: string, value: unknown) => {
      if (singles.includes(keyword)) return value !== limits[keyword];
      const isLeft =
        (keyword === "anyOf" || keyword === "oneOf") &&
        !isUnion &&
        Array.isArray(value) &&
        value.length > 1 &&
        !this.#chosen.has(value);
      return isLeft || (assertions.has(keyword) && !expressed.has(keyword));
    };
    const others = this.schemas.flatMap((schema) =>
      Object.entries(schema).filter(([keyword, value]) => isOther(keyword, value) && value !== false),
    );
    return [...new Set(others.map((entry) => canonicalJSON(this.#model.withTargets(entry))))].sort();
  }

  /** Canonical JSON of all schemas with what they refer to. */
  get text(): string {
    return canonicalJSON(this.schemas.map((schema) => this.#model.withTargets(schema)));
  }

  /** The property whose value tells the alternatives of a union of objects apart. */
  get discriminator(): string | undefined {
    const [first, ...others] = this.alternatives.map(({ shape }) => shape);
    for (const [name, { isRequired, shape }] of first?.properties ?? []) {
      const lists = [shape, ...others.map((other) => other.property(name))].map(({ values }) => values);
      const keys = lists.flatMap((list) => list?.map((value) => JSON.stringify(value)) ?? []);
      const isTelling = isRequired && others.length > 0 && lists.every((list) => list !== undefined);
      if (isTelling && new Set(keys).size === keys.length) return name;
    }
    return undefined;
  }

  /** Reads an annotation, such as `title` or `default`, from the outermost schema that has it. */
  annotation(keyword: string): unknown {
    return this.schemas.find((schema) => Object.hasOwn(schema, keyword))?.[keyword];
  }

  /** Whether no value is accepted, as far as types and values show it. */
  get isNever(): boolean {
    return this.#isNever || this.#types()?.length === 0 || this.#listed()?.length === 0;
  }

  /** Returns whether a value has this form. Inner values and bounds are not checked, except those that tell objects apart. */
  admits(value: unknown): boolean {
    const { kind, values } = this;
    if (values !== undefined) return values.some((each) => isSame(each, value));
    if (kind === "union") return this.alternatives.some(({ shape }) => shape.admits(value));
    if (kind === "array" || kind === "tuple") return Array.isArray(value);
    if (kind === "integer") return Number.isInteger(value);
    if (kind !== "object" && kind !== "map") return kind === "unknown" || kind === "bytes" || typeof value === kind;
    if (!isObject(value)) return false;
    return [...this.properties].every(([name, { shape, isRequired }]) => {
      if (!Object.hasOwn(value, name)) return !isRequired;
      return shape.values === undefined || shape.admits(value[name]);
    });
  }

  #findKind(): Kind {
    const [types, { values }] = [this.#types(), this];
    if (this.isNever || values?.length === 0) return "never";
    if (values !== undefined) return values.length > 1 ? "enum" : values[0] === null ? "null" : "const";
    if (this.#union() !== undefined || (types !== undefined && types.length > 1)) return "union";
    const [type] = types ?? [];
    if (type === undefined) {
      const isMedia = this.annotation("contentMediaType") !== undefined && !this.annotation("contentEncoding");
      return isMedia || this.annotation("format") === "binary" ? "bytes" : "unknown";
    }
    if (type === "object") return this.properties.size === 0 && !this.rest.isNever ? "map" : "object";
    if (type === "array") return this.#prefixLength > 0 ? "tuple" : "array";
    return type === "void" ? "undefined" : (simpleKinds.find((kind) => kind === type) ?? "unknown");
  }

  get #prefixLength(): number {
    return Math.max(0, ...this.schemas.map((schema) => prefixOf(schema).length));
  }

  /** The types that all schemas allow; without `type`, those that their keywords are for. */
  #types(): readonly string[] | undefined {
    let types: readonly string[] | undefined;
    for (const own of this.schemas.map(typesOf)) types = types && own ? intersect(types, own) : (types ?? own);
    return types ?? impliedTypesOf(this.schemas);
  }

  /** The values that all schemas list, which have a type that they allow. */
  #listed(): readonly unknown[] | undefined {
    const [first, ...others] = this.schemas.flatMap((schema) => [
      ...(Object.hasOwn(schema, "const") ? [[schema["const"]]] : []),
      ...(Array.isArray(schema["enum"]) ? [schema["enum"] as unknown[]] : []),
    ]);
    if (first === undefined) return undefined;
    const types = this.#types();
    const keys = others.map((list) => new Set(list.map(canonicalJSON)));
    const isTyped = (value: unknown) => types === undefined || types.some((type) => hasType(value, type));
    return first.filter((value) => isTyped(value) && keys.every((set) => set.has(canonicalJSON(value))));
  }

  #findValues(): readonly unknown[] | undefined {
    const listed = this.#listed();
    const types = this.#types();
    if (listed !== undefined) return listed;
    if (types?.length === 1 && types[0] === "null") return [null];
    if (this.#union() === undefined) return undefined;
    const values = new Map<string, unknown>();
    for (const { shape } of this.alternatives) {
      if (shape.values === undefined) return undefined;
      for (const value of shape.values) values.set(canonicalJSON(value), value);
    }
    return [...values.values()];
  }

  /** The first union whose member is still to be chosen. */
  #union(): readonly unknown[] | undefined {
    if (this.#chosen.size >= maxUnions || this.#model.partsLeft <= 0) return undefined;
    const lists = this.schemas.flatMap(({ anyOf, oneOf }) => [anyOf, oneOf]);
    return lists.find((list): list is unknown[] => {
      return Array.isArray(list) && list.length > 1 && !this.#chosen.has(list);
    });
  }

  #findAlternatives(): Alternative[] {
    const union = this.#union();
    const types = union === undefined ? (this.#types() ?? []) : [];
    const chosen = union === undefined ? this.#chosen : new Set([...this.#chosen, union]);
    const members = union ?? (types.length > 1 ? types.map((type) => ({ type })) : []);
    this.#model.partsLeft -= members.length * (this.schemas.length + 1);
    return members.flatMap((member) => {
      const own = this.#model.collect([member]).schemas;
      // A member that leads back to the union adds nothing to it.
      if (own.some(({ anyOf, oneOf }) => chosen.has(anyOf) || chosen.has(oneOf))) return [];
      const shape = this.#model.shape([member, ...this.schemas], chosen);
      const title = own.find((schema) => typeof schema["title"] === "string")?.["title"] as string | undefined;
      const reference = getOwn(member, "$ref");
      const name = title ?? (typeof reference === "string" ? reference.split(/[#/]/).at(-1) : undefined);
      return shape.isNever ? [] : [{ schema: member, shape, name }];
    });
  }
}

/** Returns whether a value has a type of JSON Schema. */
export function hasType(value: unknown, name: unknown): boolean {
  if (name === "integer") return Number.isInteger(value);
  return name === (value === null ? "null" : Array.isArray(value) ? "array" : typeof value);
}

/** Returns whether two JSON values are equal. */
export function isSame(a: unknown, b: unknown): boolean {
  return a === b || (typeof a === "object" && typeof b === "object" && canonicalJSON(a) === canonicalJSON(b));
}

/** Returns the types that a schema names. */
export function typesOf({ type, nullable }: SchemaObject): readonly string[] | undefined {
  const names = [type].flat().filter((each): each is string => typeof each === "string");
  if (names.length === 0 && !Array.isArray(type)) return undefined;
  return [...new Set([...names, ...(nullable === true ? ["null"] : [])])];
}

/** Returns the types that schemas without `type` are for, because of their other keywords. */
export function impliedTypesOf(schemas: readonly SchemaObject[]): readonly string[] | undefined {
  const implied = [...impliedTypes].filter(([, keywords]) =>
    schemas.some((schema) => keywords.some((keyword) => schema[keyword] !== undefined)),
  );
  return implied.length === 0 ? undefined : implied.map(([type]) => type);
}

/** Returns the schemas of the first elements of a tuple, of any draft. */
export function prefixOf({ items, prefixItems }: SchemaObject): readonly unknown[] {
  return Array.isArray(items) ? items : Array.isArray(prefixItems) ? prefixItems : [];
}

const rests = new WeakMap<SchemaObject, unknown>();

/** Returns the schema of the properties that a schema does not list; `undefined` if it does not describe them. */
export function restOf(schema: SchemaObject, includesUnevaluated: boolean): unknown {
  const { patternProperties, additionalProperties, unevaluatedProperties } = schema;
  const rest = additionalProperties ?? (includesUnevaluated ? unevaluatedProperties : undefined);
  const patterns = isObject(patternProperties) ? Object.entries(patternProperties) : [];
  if (patterns.length === 0) return rest;
  if (patterns.some(([pattern]) => /^(?:\^?\.\*\$?)?$/.test(pattern))) return patterns[0]![1];
  if (rest === undefined) return true;
  const known = rests.get(schema) ?? { anyOf: [...patterns.map(([, part]) => part), rest] };
  rests.set(schema, known);
  return known;
}

function intersect(left: readonly string[], right: readonly string[]): string[] {
  const both = left.filter((type) => right.includes(type) || (type === "integer" && right.includes("number")));
  return left.includes("number") && right.includes("integer") ? [...new Set([...both, "integer"])] : both;
}

function joinURI(reference: string, base: string): string | undefined {
  return URL.canParse(reference, base) ? new URL(reference, base).href : undefined;
}
