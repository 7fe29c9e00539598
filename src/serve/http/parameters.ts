import { isNestedDeeper } from "../../internal/body.ts";
import { escapeToken } from "../../internal/json-pointer.ts";
import { isObject, type JSONObject, setOwn } from "../../internal/objects.ts";
import { quote } from "../../internal/text.ts";
import { type CallError, validationError } from "../../operation/index.ts";

/** A JSON type whose values are written to a URL as they are. */
export type PrimitiveType = "string" | "number" | "integer" | "boolean";

/** One property of an input as a parameter in the path or query of a URL. */
export interface InputParameter {
  /** Name in the URL. */
  readonly name: string;
  /** Name of the property of the input. */
  readonly property: string;
  /** Whether the value is a segment of the path. */
  readonly in: "path" | "query";
  /** Whether the input must have the property. */
  readonly isRequired: boolean;
  /** Schema of the property in the view of callers. */
  readonly schema: unknown;
  /** Type of the value, or of the items of a list, in style `form`. Otherwise the value is written as JSON. */
  readonly type: PrimitiveType | undefined;
  /** Whether the parameter is repeated for each item of a list. */
  readonly isList: boolean;
}

/** Which properties of an input are in the URL, and which are in the body. */
export interface InputMapping {
  /** In the order of the path and then of the schema. */
  readonly parameters: readonly InputParameter[];
  /**
   * The content of the body: `none`, the whole input (`whole`), the input without the parameters (`rest`), or one
   * property.
   */
  readonly body: "none" | "whole" | "rest" | { readonly property: string };
}

/** Keywords with which an object may have properties that `properties` does not list. */
const openKeywords = [
  "$ref",
  "$dynamicRef",
  "allOf",
  "anyOf",
  "oneOf",
  "not",
  "if",
  "enum",
  "const",
  "dependencies",
  "dependentSchemas",
  "patternProperties",
];

/**
 * Returns the properties of an object schema; `undefined` if its values are not objects, or may have properties that it
 * does not list. A schema without `additionalProperties` counts as closed.
 */
export function listProperties(
  schema: unknown,
): ReadonlyMap<string, { schema: unknown; isRequired: boolean }> | undefined {
  if (!isObject(schema) || schema["type"] !== "object") return undefined;
  if (openKeywords.some((keyword) => Object.hasOwn(schema, keyword))) return undefined;
  for (const keyword of ["additionalProperties", "unevaluatedProperties"]) {
    if (Object.hasOwn(schema, keyword) && schema[keyword] !== false) return undefined;
  }
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  const entries = Object.entries(properties);
  return new Map(entries.map(([name, value]) => [name, { schema: value, isRequired: required.includes(name) }]));
}

/** Maps all properties of an input to query parameters, except those in the path; `undefined` if that is not possible. */
export function mapToQuery(inputSchema: unknown, pathNames: readonly string[] = []): InputMapping | undefined {
  const properties = listProperties(inputSchema);
  if (properties === undefined) return undefined;
  const inPath = pathNames.map((name) => toParameter("path", name, properties.get(name)!));
  const others = Array.from(properties).filter(([name]) => !pathNames.includes(name));
  return {
    parameters: [...inPath, ...others.map(([name, property]) => toParameter("query", name, property))],
    body: "none",
  };
}

/** Maps the properties of an input to the body, except those in the path. The caller has checked the names. */
export function mapToBody(inputSchema: unknown, pathNames: readonly string[] = []): InputMapping {
  if (pathNames.length === 0) return { parameters: [], body: "whole" };
  const properties = listProperties(inputSchema)!;
  const parameters = pathNames.map((name) => toParameter("path", name, properties.get(name)!));
  return { parameters, body: properties.size === pathNames.length ? "none" : "rest" };
}

/** Describes one property as a parameter. `name` is its name in the URL. */
export function toParameter(
  location: InputParameter["in"],
  name: string,
  { schema, isRequired }: { schema: unknown; isRequired: boolean },
  property = name,
): InputParameter {
  const itemType = location === "query" ? itemTypeOf(schema) : undefined;
  const type = itemType ?? primitiveTypeOf(schema);
  return { name, property, in: location, isRequired, schema, type, isList: itemType !== undefined };
}

/** Returns the only type of the values that a schema allows, if it is primitive and not `null`. */
export function primitiveTypeOf(schema: unknown): PrimitiveType | undefined {
  if (!isObject(schema)) return undefined;
  const { type, enum: members, anyOf, oneOf } = schema;
  if (type !== undefined) {
    const only = Array.isArray(type) && type.length === 1 ? type[0] : type;
    return only === "string" || only === "number" || only === "integer" || only === "boolean" ? only : undefined;
  }
  if (Object.hasOwn(schema, "const")) return typeOfValue(schema["const"]);
  if (Array.isArray(members)) return commonType(members.map(typeOfValue));
  if (Array.isArray(anyOf)) return commonType(anyOf.map(primitiveTypeOf));
  return Array.isArray(oneOf) ? commonType(oneOf.map(primitiveTypeOf)) : undefined;
}

function typeOfValue(value: unknown): PrimitiveType | undefined {
  const type = typeof value;
  return type === "string" || type === "number" || type === "boolean" ? type : undefined;
}

function commonType(types: ReadonlyArray<PrimitiveType | undefined>): PrimitiveType | undefined {
  const distinct = new Set(types);
  if (distinct.size === 2 && distinct.has("number") && distinct.has("integer")) return "number";
  return distinct.size === 1 ? types[0] : undefined;
}

/** Returns the type of the items of a list schema, if it is primitive. A tuple is written as JSON. */
function itemTypeOf(schema: unknown): PrimitiveType | undefined {
  if (!isObject(schema) || schema["type"] !== "array" || schema["prefixItems"] !== undefined) return undefined;
  return primitiveTypeOf(schema["items"]);
}

/** Reads the parameters of one route. */
export class ParameterReader {
  readonly #query = new Map<string, InputParameter>();
  readonly #path: readonly InputParameter[];
  /** Required lists. An empty list is not part of a URL. */
  readonly #requiredLists: readonly InputParameter[];
  readonly #label: string;
  readonly #maxDepth: number;

  constructor(operationId: string, parameters: readonly InputParameter[], maxDepth: number) {
    for (const parameter of parameters) if (parameter.in === "query") this.#query.set(parameter.name, parameter);
    this.#path = parameters.filter(({ in: location }) => location === "path");
    this.#requiredLists = parameters.filter(({ isList, isRequired, schema }) => {
      const minItems = isObject(schema) ? schema["minItems"] : undefined;
      return isList && isRequired && !(typeof minItems === "number" && minItems > 0);
    });
    this.#label = `input of ${quote(operationId)}`;
    this.#maxDepth = maxDepth;
  }

  /**
   * Reads the values of the path, in order, and the query of a URL, without its question mark. Throws `VALIDATION_ERROR`
   * for a parameter that is unknown, repeated or malformed. A value of another type stays a string, which the schema
   * then refuses.
   */
  read(pathValues: readonly string[], query: string): JSONObject {
    const input: JSONObject = {};
    for (let index = 0; index < this.#path.length; index++) {
      const parameter = this.#path[index]!;
      setOwn(input, parameter.property, this.#parse(parameter, pathValues[index]!));
    }
    let start = 0;
    while (start < query.length) {
      const next = query.indexOf("&", start);
      const end = next === -1 ? query.length : next;
      if (end > start) this.#readPair(input, query, start, end);
      start = end + 1;
    }
    for (const { property } of this.#requiredLists) {
      if (!Object.hasOwn(input, property)) setOwn(input, property, []);
    }
    return input;
  }

  #readPair(input: JSONObject, query: string, start: number, end: number): void {
    const equals = query.indexOf("=", start);
    const hasValue = equals !== -1 && equals < end;
    const name = this.#decode(query.slice(start, hasValue ? equals : end));
    const text = hasValue ? this.#decode(query.slice(equals + 1, end)) : "";
    const parameter = this.#query.get(name);
    if (parameter === undefined) throw this.#invalid(name, "is not a parameter of this operation");
    const { property, isList } = parameter;
    const value = this.#parse(parameter, text);
    const isRepeated = Object.hasOwn(input, property);
    if (isList) {
      if (isRepeated) (input[property] as unknown[]).push(value);
      else setOwn(input, property, [value]);
    } else if (isRepeated) throw this.#invalid(name, "must not be repeated");
    else setOwn(input, property, value);
  }

  #decode(text: string): string {
    const spaced = text.includes("+") ? text.replaceAll("+", " ") : text;
    if (!spaced.includes("%")) return spaced;
    try {
      return decodeURIComponent(spaced);
    } catch {
      throw validationError(this.#label, [{ path: "", message: "the query must be percent-encoded UTF-8" }]);
    }
  }

  #parse({ name, type }: InputParameter, text: string): unknown {
    switch (type) {
      case "string":
        return text;
      case "boolean":
        return text === "true" ? true : text === "false" ? false : text;
      case undefined:
        return this.#parseJSON(name, text);
      default:
        return this.#parseNumber(name, type, text);
    }
  }

  #parseNumber(name: string, type: "number" | "integer", text: string): unknown {
    if (!/^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text)) return text;
    const value = Number(text);
    const isExact =
      type === "number" ? Number.isFinite(value) : !Number.isInteger(value) || Number.isSafeInteger(value);
    const hasLostDigits = Number.isInteger(value) && !Number.isSafeInteger(value) && String(value) !== text;
    if (!isExact || (hasLostDigits && !/[.eE]/.test(text))) throw this.#invalid(name, "is too large to be exact");
    return value;
  }

  #parseJSON(name: string, text: string): unknown {
    if (isNestedDeeper(text, this.#maxDepth))
      throw this.#invalid(name, `must not be nested more than ${this.#maxDepth} levels deep`);
    try {
      return JSON.parse(text);
    } catch {
      throw this.#invalid(name, "must be JSON");
    }
  }

  #invalid(name: string, message: string): CallError {
    return validationError(this.#label, [{ path: `/${escapeToken(name)}`, message }]);
  }
}
