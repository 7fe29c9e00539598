import { canonicalJSON } from "../internal/canonical-json.ts";
import { readPointer } from "../internal/json-pointer.ts";
import { getOwn, isObject, type JSONObject } from "../internal/objects.ts";
import { decodePercent } from "../internal/urls.ts";
import {
  applicators,
  assertions,
  copySubschemas,
  dialectOf,
  forEachSubschema,
  ignoresRefSiblings,
  type SchemaObject,
} from "./keywords.ts";

export { applicators, copySubschemas, forEachSubschema, type SchemaObject };

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
  /** What its values are, including what the schema around the union demands. */
  shape: Shape;
  /** Its title, or else the name of its definition; `undefined` if it has neither. */
  name: string | undefined;
}

/** Maximum number of schemas in all alternatives of a document. Unions may be nested; those beyond it are not resolved. */
const maxAlternativeParts = 100_000;
/** The base of a document without `$id`: relative ids need an absolute base to be compared. */
const anonymousBase = "schema:///";
/** What `false` means. */
const nothing: SchemaObject = { enum: [] };

/** How a bound of several schemas combines: the greatest, or the smallest. */
const bounds = new Map(
  ["minLength", "minimum", "exclusiveMinimum", "minItems", "minProperties"].flatMap((keyword) => [
    [keyword, Math.max],
    [keyword.replace("min", "max").replace("Min", "Max"), Math.min],
  ]),
);
const singles = ["pattern", "format", "multipleOf", "uniqueItems"];

/** The keywords that show what a schema without `type` is for. */
const impliedTypes: ReadonlyMap<string, readonly string[]> = new Map([
  ["object", "properties required additionalProperties patternProperties minProperties maxProperties".split(" ")],
  ["array", "items prefixItems additionalItems minItems maxItems uniqueItems".split(" ")],
]);
const simpleKinds = ["string", "number", "integer", "boolean", "undefined", "bigint"] as const;

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
  readonly #numbers = new Map<unknown, number>();
  /** Resources and anchors by URI. */
  readonly #targets = new Map<string, unknown>();
  readonly #bases = new Map<unknown, string>();

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
  shape(given: readonly unknown[], chosen: ReadonlySet<unknown> = new Set()): Shape {
    const schemas = this.collect(given);
    const key = [schemas, [...chosen]].map((parts) => parts.map((part) => this.#numberOf(part)).join()).join(" ");
    const shape = this.#shapes.get(key) ?? new Shape(this, schemas, chosen);
    this.#shapes.set(key, shape);
    return shape;
  }

  /**
   * Returns the target of a `$ref`: a JSON pointer, an anchor or an `$id`. Returns `undefined` if it is not in the document.
   * @param holder - the schema with the reference, which determines the base if the document has several `$id`s
   */
  resolve(reference: string, holder: object): unknown {
    if (this.#targets.size === 0) this.#readNames();
    const uri = joinURI(reference, this.#bases.get(holder) ?? this.#bases.get(this.#document) ?? anonymousBase) ?? "";
    const [resource = "", fragment = ""] = uri.split("#");
    const pointer = decodePercent(fragment);
    return pointer !== undefined && (this.#targets.get(uri) ?? readPointer(this.#targets.get(resource), pointer));
  }

  /**
   * Returns the schemas that apply to the same value: these, targets of references and members of `allOf`. A schema with
   * nothing but a reference is left out.
   */
  collect(given: readonly unknown[]): SchemaObject[] {
    const found = new Set<SchemaObject>();
    const seen = new Set<unknown>();
    const pending = [...given].reverse();
    while (pending.length > 0) {
      const schema = pending.pop();
      if (schema === false) return [nothing];
      if (!isObject(schema) || seen.has(schema)) continue;
      seen.add(schema);
      const { $ref, allOf, anyOf, oneOf } = schema;
      const target = typeof $ref === "string" ? this.resolve($ref, schema) : undefined;
      const isAlone = target !== undefined && (this.ignoresSiblings || Object.keys(schema).length === 1);
      if (!isAlone) {
        found.add(schema);
        const alone = [anyOf, oneOf].filter((union) => Array.isArray(union) && union.length === 1);
        pending.push(...[allOf, ...alone].flatMap((list) => (Array.isArray(list) ? list : [])).reverse());
      }
      pending.push(target);
    }
    return [...found];
  }

  #numberOf(part: unknown): number {
    const number = this.#numbers.get(part) ?? this.#numbers.size;
    this.#numbers.set(part, number);
    return number;
  }

  #readNames(): void {
    const pending: Array<[schema: unknown, base: string]> = [[this.#document, anonymousBase]];
    this.#targets.set(anonymousBase, this.#document);
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      const [schema, outer] = next;
      if (!isObject(schema) || this.#bases.has(schema)) continue;
      const { $id, $anchor } = schema;
      const base = (typeof $id === "string" && joinURI($id, outer)) || outer;
      const anchor = typeof $anchor === "string" && joinURI(`#${$anchor}`, base);
      for (const uri of [base, anchor]) if (uri && !this.#targets.has(uri)) this.#targets.set(uri, schema);
      this.#bases.set(schema, base);
      forEachSubschema(schema, (part) => pending.push([part, base]));
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
  readonly #known = new Map<string, unknown>();

  /** Use {@link SchemaModel.shape}. */
  constructor(model: SchemaModel, schemas: readonly SchemaObject[], chosen: ReadonlySet<unknown>) {
    this.schemas = schemas;
    this.#model = model;
    this.#chosen = chosen;
  }

  /** The form of the values. */
  get kind(): Kind {
    return this.#once("kind", () => this.#findKind());
  }

  /** All values, if the schemas list them. */
  get values(): readonly unknown[] | undefined {
    return this.#once("values", () => this.#findValues());
  }

  /** The members of a union, without those that accept nothing. Each has one type. */
  get alternatives(): readonly Alternative[] {
    return this.#once("alternatives", () => this.#findAlternatives());
  }

  /** The properties that are listed or required, in the order of the schemas. */
  get properties(): ReadonlyMap<string, Property> {
    return this.#once("properties", () => {
      const listed = this.schemas.flatMap(({ properties }) => (isObject(properties) ? Object.keys(properties) : []));
      const names = this.schemas.flatMap(({ required }) => (Array.isArray(required) ? (required as unknown[]) : []));
      const required = new Set(names.filter((name) => typeof name === "string"));
      const toProperty = (name: string) => ({ shape: this.property(name), isRequired: required.has(name) });
      return new Map([...listed, ...required].map((name) => [name, toProperty(name)]));
    });
  }

  /** Returns the shape of a property, also of one that is not listed. */
  property(name: string): Shape {
    return this.#model.shape(
      this.schemas.flatMap((schema) => getOwn(schema["properties"], name) ?? restOf(schema) ?? []),
    );
  }

  /** The same for all shapes of the same values: schemas that only annotate or refer to others make no difference. */
  get core(): Shape {
    return this.#once("core", () => {
      const isTelling = (keyword: string, value: unknown) =>
        constrains(keyword) && keyword !== "$ref" && keyword !== "allOf" && !this.#chosen.has(value);
      const schemas = this.schemas.filter((schema) => Object.entries(schema).some((entry) => isTelling(...entry)));
      const unions = schemas.flatMap(({ anyOf, oneOf }) => [anyOf, oneOf]);
      return this.#model.shape(schemas, new Set(unions.filter((list) => this.#chosen.has(list))));
    });
  }

  /** Whether the schemas say what properties that are not listed are. Otherwise they are allowed, but not described. */
  get isOpen(): boolean {
    return this.schemas.some((schema) => restOf(schema) !== undefined) && !this.rest.isNever;
  }

  /** The shape of the properties that are not listed. */
  get rest(): Shape {
    return this.#model.shape(this.schemas.flatMap((schema) => restOf(schema) ?? []));
  }

  /** Number of elements of a tuple that have a shape of their own. */
  get prefixLength(): number {
    return Math.max(0, ...this.schemas.map((schema) => prefixOf(schema).length));
  }

  /** Returns the shape of one element of an array. */
  element(index: number): Shape {
    return this.#model.shape(
      this.schemas.flatMap((schema) => {
        const { items, additionalItems, maxItems } = schema;
        if (typeof maxItems === "number" && maxItems <= index) return false;
        return prefixOf(schema)[index] ?? (Array.isArray(items) ? additionalItems : items) ?? [];
      }),
    );
  }

  /** The bounds, the pattern, the format and the like. The narrowest of several bounds counts. */
  get limits(): JSONObject {
    const limits: JSONObject = {};
    for (const schema of this.schemas) {
      for (const [keyword, narrowest] of bounds) {
        const [value, known] = [schema[keyword], limits[keyword] as number | undefined];
        if (typeof value === "number") limits[keyword] = known === undefined ? value : narrowest(known, value);
      }
      for (const keyword of singles) limits[keyword] ??= schema[keyword];
    }
    return limits;
  }

  /** Reads an annotation, such as `title` or `default`, from the outermost schema that has it. */
  annotation(keyword: string): unknown {
    return this.schemas.find((schema) => Object.hasOwn(schema, keyword))?.[keyword];
  }

  /** Whether no value is accepted, as far as types and values show it. */
  get isNever(): boolean {
    return this.#types()?.length === 0 || this.#listed()?.length === 0;
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
    if (type === "array") return this.prefixLength > 0 ? "tuple" : "array";
    return type === "void" ? "undefined" : (simpleKinds.find((kind) => kind === type) ?? "unknown");
  }

  #once<T>(name: string, find: () => T): T {
    if (!this.#known.has(name)) this.#known.set(name, find());
    return this.#known.get(name) as T;
  }

  /** The types that all schemas allow; without `type`, those that their keywords are for. */
  #types(): readonly string[] | undefined {
    const lists = this.schemas.flatMap((schema) => {
      const types = typesOf(schema);
      return types === undefined ? [] : [types.includes("number") ? [...types, "integer"] : types];
    });
    const [first, ...others] = lists;
    const types = first?.filter((type) => others.every((list) => list.includes(type)));
    const isNeeded = (type: string) => type !== "integer" || !types?.includes("number");
    return types?.filter(isNeeded) ?? impliedTypesOf(this.schemas);
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
    if (this.#model.partsLeft <= 0) return undefined;
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
      const own = this.#model.collect([member]);
      // A member that leads back to the union adds nothing to it.
      if (own.some(({ anyOf, oneOf }) => chosen.has(anyOf) || chosen.has(oneOf))) return [];
      const shape = this.#model.shape([member, ...this.schemas], chosen);
      const title = own.find((schema) => typeof schema["title"] === "string")?.["title"] as string | undefined;
      const reference = getOwn(member, "$ref");
      const name = title ?? (typeof reference === "string" ? reference.split(/[#/]/).at(-1) : undefined);
      return shape.isNever ? [] : [{ shape, name }];
    });
  }
}

/** Returns whether a keyword says which values are accepted. */
export function constrains(keyword: string): boolean {
  return assertions.has(keyword) || keyword === "nullable";
}

/** Returns whether a value has a type of JSON Schema. */
function hasType(value: unknown, name: unknown): boolean {
  if (name === "integer") return Number.isInteger(value);
  return name === (value === null ? "null" : Array.isArray(value) ? "array" : typeof value);
}

/** Returns whether two JSON values are equal. */
export function isSame(a: unknown, b: unknown): boolean {
  return a === b || (typeof a === "object" && typeof b === "object" && canonicalJSON(a) === canonicalJSON(b));
}

/** Returns the types that a schema names. */
function typesOf({ type, nullable }: SchemaObject): readonly string[] | undefined {
  const names = [type].flat().filter((each): each is string => typeof each === "string");
  if (names.length === 0 && !Array.isArray(type)) return undefined;
  return [...new Set([...names, ...(nullable === true ? ["null"] : [])])];
}

/** Returns the types that schemas without `type` are for, because of their other keywords. */
function impliedTypesOf(schemas: readonly SchemaObject[]): readonly string[] | undefined {
  const implied = [...impliedTypes].filter(([, keywords]) =>
    schemas.some((schema) => keywords.some((keyword) => schema[keyword] !== undefined)),
  );
  return implied.length === 0 ? undefined : implied.map(([type]) => type);
}

/** Returns the schemas of the first elements of a tuple, of any draft. */
function prefixOf({ items, prefixItems }: SchemaObject): readonly unknown[] {
  return Array.isArray(items) ? items : Array.isArray(prefixItems) ? prefixItems : [];
}

/** Returns the schema of the properties that a schema does not list; `undefined` if it does not describe them. */
function restOf({ patternProperties, additionalProperties }: SchemaObject): unknown {
  const [first, ...others] = isObject(patternProperties) ? Object.entries(patternProperties) : [];
  if (first === undefined) return additionalProperties;
  const [pattern, schema] = first;
  const isOnly = others.length === 0 && additionalProperties === false;
  return isOnly || /^(?:\^?\.\*\$?)?$/.test(pattern) ? schema : true;
}

function joinURI(reference: string, base: string): string | undefined {
  return URL.canParse(reference, base) ? new URL(reference, base).href : undefined;
}
