import { getOwn, isObject, type JSONObject, setOwn } from "../../internal/objects.ts";
import type { OpenAPIDocument } from "./document.ts";
import { documentLimitExceeded } from "./errors.ts";
import { hiddenNames, isHidden, narrowBranches, subtypesOf } from "./inheritance.ts";
import { type Located, ReferenceProblem } from "./references.ts";
import { allowNull, holdingOf, isNullable, isWellFormed, knownTypes } from "./schema-keywords.ts";

/** Which side of a call a schema describes: `readOnly` properties are not input, `writeOnly` ones not output. */
export type Direction = "input" | "output";

// References are rewritten, so the names of schemas are no longer needed. `$defs` is rebuilt from the used schemas.
const dropped = new Set(["$id", "$anchor", "$dynamicAnchor", "$schema", "$vocabulary", "$defs", "definitions", "xml"]);
const annotations = ["title", "description", "default", "deprecated", "example", "examples", "readOnly", "writeOnly"];

interface Place {
  base: string;
  /** Whether binary values are allowed here. No JSON type describes them. */
  binary: boolean;
  /** Names that another branch of the same `allOf` hides. */
  hidden?: ReadonlySet<string>;
  /** Whether the schema is a branch of `allOf`, where a base type does not stand for its subtypes. */
  inAllOf?: boolean;
}

/**
 * Copies schemas of a document into one self-contained JSON Schema (2020-12). References point into its own `$defs`,
 * which contain only reachable schemas, including recursive ones. Keywords of OpenAPI are expressed in JSON Schema.
 */
export class SchemaCopy {
  readonly #document: OpenAPIDocument;
  readonly #direction: Direction;
  readonly #definitions: JSONObject = {};
  readonly #names = new Map<string, Map<unknown, string>>();
  readonly #taken = new Set<string>();
  /** The next number to append to a name that is in use. */
  readonly #counts = new Map<string, number>();
  readonly #pending: Array<() => void> = [];
  readonly #onTheWay = new Set<unknown>();
  #subschemas = 0;

  constructor(document: OpenAPIDocument, direction: Direction) {
    this.#document = document;
    this.#direction = direction;
  }

  /** Copies one schema. With `binary`, files and bytes are allowed where the schema declares `format: binary`. */
  copy(schema: Located, options: { binary?: boolean } = {}): unknown {
    return this.#copy(schema.value, { base: schema.base, binary: options.binary === true });
  }

  /** Returns the `$defs` of all schemas copied so far, or `undefined` if they are not needed. */
  definitions(): JSONObject | undefined {
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) next();
    return Object.keys(this.#definitions).length > 0 ? this.#definitions : undefined;
  }

  #copy(schema: unknown, place: Place): unknown {
    if (!isObject(schema)) return schema !== false;
    if (this.#onTheWay.has(schema)) return { $ref: this.#define(schema, "Recursive", place) };
    this.#subschemas += 1;
    const limit = this.#document.limits.subschemas;
    if (this.#subschemas > limit)
      throw documentLimitExceeded("subschemas", `it has a schema with more than ${limit} sub-schemas`);
    this.#onTheWay.add(schema);
    const copy =
      typeof getOwn(schema, "$ref") === "string" ? this.#reference(schema, place) : this.#keywords(schema, place);
    this.#onTheWay.delete(schema);
    return isNullable(schema) ? allowNull(copy) : copy;
  }

  #reference(schema: JSONObject, place: Place): JSONObject {
    const copy = this.#document.ignoresSiblings ? pick(schema, annotations) : this.#keywords(schema, place);
    return { $ref: this.#follow(schema["$ref"] as string, schema, place), ...copy };
  }

  #follow(reference: string, schema: JSONObject, place: Place): string {
    try {
      const { references } = this.#document;
      const target = references.deref(references.resolve(reference, { value: schema, pointer: "", base: place.base }));
      const subtypes = place.inAllOf ? [] : subtypesOf(this.#document, target);
      const name = target.pointer.slice(target.pointer.lastIndexOf("/") + 1) || "Root";
      if (subtypes.length > 0) return this.#definePolymorph(target, subtypes, name, place);
      return this.#define(target.value, name, { base: target.base, binary: place.binary });
    } catch (error) {
      if (!(error instanceof ReferenceProblem)) throw error;
      return this.#define({}, "Unknown", place);
    }
  }

  /** Adds a schema to `$defs` and returns the reference to it. */
  #define(schema: unknown, name: string, place: Place): string {
    const at = { base: place.base, binary: place.binary };
    return this.#reserve(schema, name, place.binary ? "binary" : "json", (key) => {
      setOwn(this.#definitions, key, this.#copy(schema, at));
    });
  }

  #definePolymorph(target: Located, subtypes: Located[], name: string, place: Place): string {
    return this.#reserve(target.value, `${name}OrSubtype`, place.binary ? "binary-any" : "any", (key) => {
      const members = [...subtypes, target].map((member) => ({
        $ref: this.#define(member.value, member.pointer.slice(member.pointer.lastIndexOf("/") + 1), {
          base: member.base,
          binary: place.binary,
        }),
      }));
      setOwn(this.#definitions, key, { anyOf: members });
    });
  }

  #reserve(schema: unknown, wanted: string, kind: string, fill: (key: string) => void): string {
    const names = this.#names.get(kind) ?? new Map<unknown, string>();
    this.#names.set(kind, names);
    let name = names.get(schema);
    if (name === undefined) {
      name = this.#freeName(wanted);
      names.set(schema, name);
      const key = name;
      // It is filled later, so that long chains of references do not use the stack.
      this.#pending.push(() => fill(key));
    }
    return `#/$defs/${name}`;
  }

  // Names contain only characters that need no escape in a pointer or URI fragment.
  #freeName(wanted: string): string {
    const base = wanted.replaceAll(/%[0-9A-Fa-f]{2}|~[01]|[^A-Za-z0-9._-]/g, "_").slice(0, 120);
    let name = base;
    while (this.#taken.has(name)) {
      const count = this.#counts.get(base) ?? 2;
      this.#counts.set(base, count + 1);
      name = `${base}_${count}`;
    }
    this.#taken.add(name);
    return name;
  }

  #keywords(schema: JSONObject, place: Place): JSONObject {
    const copy: JSONObject = {};
    const hidden = hiddenNames(this.#document, schema, place.base, this.#direction, place.hidden);
    for (const keyword of Object.keys(schema)) {
      if (dropped.has(keyword) || keyword === "$ref" || keyword === "nullable" || keyword === "x-nullable") continue;
      const value = schema[keyword];
      const holding = holdingOf(keyword, value);
      if (holding !== undefined) {
        if (isWellFormed(holding, value)) setOwn(copy, keyword, this.#held(keyword, value, place, hidden));
      } else if (keyword === "$dynamicRef" && typeof value === "string") {
        setOwn(copy, "allOf", [...((copy["allOf"] as unknown[]) ?? []), { $ref: this.#follow(value, schema, place) }]);
      } else {
        this.#assertion(copy, keyword, value, schema, hidden);
      }
    }
    if (place.binary && isBinary(schema)) dropBinaryType(copy);
    return narrowBranches(copy, schema, this.#document, place.base);
  }

  #held(keyword: string, value: unknown, place: Place, hidden: ReadonlySet<string>): unknown {
    const { base, binary } = place;
    if (Array.isArray(value)) {
      const inside = keyword === "allOf" ? { base, binary, hidden, inAllOf: true } : { base, binary };
      return value.map((item) => this.#copy(item, inside));
    }
    if (holdingOf(keyword, value) === "one") return this.#copy(value, { base, binary });
    const copy: JSONObject = {};
    for (const key of Object.keys(value as JSONObject)) {
      const held = (value as JSONObject)[key];
      if (keyword === "properties" && isHidden(this.#document, held, base, this.#direction)) continue;
      setOwn(copy, key, this.#copy(held, { base, binary }));
    }
    return copy;
  }

  #assertion(copy: JSONObject, keyword: string, value: unknown, schema: JSONObject, hidden: ReadonlySet<string>): void {
    switch (keyword) {
      case "type": {
        const types = knownTypes(schema)!.filter((type) => type !== "file");
        if (types.length > 0) copy["type"] = Array.isArray(value) ? types : types[0];
        return;
      }
      case "required": {
        // Some documents have `required: true` on a property, as on parameters.
        const names = Array.isArray(value) ? value.filter((name) => typeof name === "string" && !hidden.has(name)) : [];
        if (names.length > 0) copy["required"] = [...new Set(names)];
        return;
      }
      case "exclusiveMinimum":
      case "exclusiveMaximum": {
        const bound = keyword === "exclusiveMinimum" ? "minimum" : "maximum";
        if (typeof value === "number") copy[keyword] = value;
        else if (value === true && typeof schema[bound] === "number") copy[keyword] = schema[bound];
        return;
      }
      case "minimum":
      case "maximum":
        if (schema[keyword === "minimum" ? "exclusiveMinimum" : "exclusiveMaximum"] === true) return;
        if (typeof value === "number") copy[keyword] = value;
        return;
      case "discriminator":
        // Drop the mapping, because it points into the original document.
        copy[keyword] = isObject(value) ? pick(value, ["propertyName"]) : value;
        return;
      case "enum":
        if (Array.isArray(value)) copy["enum"] = value;
        return;
      default:
        if (keyword === "pattern" && isTooLong(value, this.#document.limits.patternLength)) return;
        if (hasForm(keyword, value)) setOwn(copy, keyword, value);
    }
  }
}

/** Whether a pattern is too long. It is omitted, because an unchecked pattern is better than an unchecked schema. */
function isTooLong(pattern: unknown, limit: number): boolean {
  return typeof pattern === "string" && pattern.length > limit;
}

const counts = new Set([
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
  "minContains",
  "maxContains",
]);

/** Whether the value of an assertion keyword is well-formed. Annotations may have any value. */
function hasForm(keyword: string, value: unknown): boolean {
  if (counts.has(keyword)) return Number.isInteger(value) && (value as number) >= 0;
  if (keyword === "multipleOf") return typeof value === "number" && value > 0;
  if (keyword === "pattern" || keyword === "format") return typeof value === "string";
  if (keyword === "uniqueItems") return typeof value === "boolean";
  if (keyword === "dependentRequired") return isObject(value);
  return true;
}

/** Whether a schema means bytes: `format: binary`, Swagger 2's `file`, or 3.1's `contentMediaType` without encoding. */
export function isBinary(schema: unknown): boolean {
  if (getOwn(schema, "type") === "file" || getOwn(schema, "format") === "binary") return true;
  return typeof getOwn(schema, "contentMediaType") === "string" && getOwn(schema, "contentEncoding") === undefined;
}

function dropBinaryType(copy: JSONObject): void {
  for (const keyword of ["type", "minLength", "maxLength", "pattern", "contentSchema"]) delete copy[keyword];
}

function pick(schema: JSONObject, keys: readonly string[]): JSONObject {
  const picked: JSONObject = {};
  for (const key of keys) if (Object.hasOwn(schema, key)) picked[key] = schema[key];
  return picked;
}
