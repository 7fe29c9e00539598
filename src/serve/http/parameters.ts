import { escapeToken } from "../../internal/json-pointer.ts";
import { getOwn, isObject, type JSONObject, setOwn } from "../../internal/objects.ts";
import { quote } from "../../internal/text.ts";
import { decodePercent } from "../../internal/urls.ts";
import { type CallError, validationError } from "../../operation/inside.ts";
import { parseJSON } from "../exchange.ts";

/** A JSON type whose values are written to a URL as they are. */
export type PrimitiveType = "string" | "number" | "integer" | "boolean";

/** A property of an input. */
export interface InputProperty {
  /** Its schema in the view of callers. */
  readonly schema: unknown;
  /** Whether the input must have it. */
  readonly isRequired: boolean;
}

/** One property of an input as a parameter in the path or query of a URL. */
export interface InputParameter extends InputProperty {
  /** Name in the URL. */
  readonly name: string;
  /** Name of the property of the input. */
  readonly property: string;
  /** Whether the value is a segment of the path. */
  readonly in: "path" | "query";
  /** Type of the value, or of the items of a list, in style `form`. Otherwise the value is written as JSON. */
  readonly type: PrimitiveType | undefined;
  /** Whether the parameter is repeated for each item of a list. */
  readonly isList: boolean;
  /** Whether it is a required list that may be empty. An empty list is not part of a URL. */
  readonly isEmptyIfMissing: boolean;
}

/** A property of an input, and its name. */
export type NamedProperty = readonly [name: string, property: InputProperty];

/**
 * The content of a body: the whole input, the properties that are not parameters (`rest`), or one of them (`only`). A body
 * of `none` is not read, because requests with that method do not have one.
 */
export type BodyContent =
  | "none"
  | "whole"
  | { readonly rest: readonly NamedProperty[] }
  | { readonly only: NamedProperty };

/** Keywords with which an object may have properties that `properties` does not list. */
const openKeywords =
  "$ref $dynamicRef allOf anyOf oneOf not if enum const dependencies dependentSchemas patternProperties".split(" ");

/**
 * Returns the properties of an object schema; `undefined` if its values are not objects, or may have properties that it
 * does not list, or one without a name. A schema without `additionalProperties` counts as closed.
 */
export function listProperties(schema: unknown): ReadonlyMap<string, InputProperty> | undefined {
  if (!isObject(schema) || schema["type"] !== "object" || schema["nullable"] === true) return undefined;
  if (openKeywords.some((keyword) => Object.hasOwn(schema, keyword))) return undefined;
  const { properties, required, additionalProperties = false, unevaluatedProperties = false } = schema;
  if (additionalProperties !== false || unevaluatedProperties !== false) return undefined;
  const isRequired = (name: string) => Array.isArray(required) && required.includes(name);
  const entries = Object.entries(isObject(properties) ? properties : {});
  if (entries.some(([name]) => name === "")) return undefined;
  return new Map(entries.map(([name, value]) => [name, { schema: value, isRequired: isRequired(name) }]));
}

/** Describes one property as a parameter. `name` is its name in the URL. */
export function toParameter(
  location: InputParameter["in"],
  name: string,
  value: InputProperty,
  property = name,
): InputParameter {
  const itemType = location === "query" ? itemTypeOf(value.schema) : undefined;
  const type = itemType ?? primitiveTypeOf(value.schema);
  const isList = itemType !== undefined;
  const minItems = getOwn(value.schema, "minItems");
  const isEmptyIfMissing = isList && value.isRequired && !(typeof minItems === "number" && minItems > 0);
  return { ...value, name, property, in: location, type, isList, isEmptyIfMissing };
}

/** Returns the only type of the values that a schema allows, if it is primitive and not `null`. */
export function primitiveTypeOf(schema: unknown): PrimitiveType | undefined {
  if (!isObject(schema) || schema["nullable"] === true) return undefined;
  const { type, enum: members, anyOf, oneOf } = schema;
  if (type !== undefined) {
    const only = Array.isArray(type) && type.length === 1 ? type[0] : type;
    return only === "string" || only === "number" || only === "integer" || only === "boolean" ? only : undefined;
  }
  if (Object.hasOwn(schema, "const")) return typeOfValue(schema["const"]);
  if (Array.isArray(members)) return commonType(members.map(typeOfValue));
  const alternatives = anyOf ?? oneOf;
  return Array.isArray(alternatives) ? commonType(alternatives.map(primitiveTypeOf)) : undefined;
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
  if (!isObject(schema) || schema["type"] !== "array" || schema["nullable"] === true) return undefined;
  return schema["prefixItems"] === undefined ? primitiveTypeOf(schema["items"]) : undefined;
}

/** Which properties of an input are in the URL of a request, and which are in its body. */
export class InputMapping {
  /** In the order of the path and then of the schema. */
  readonly parameters: readonly InputParameter[];
  readonly body: BodyContent;
  readonly #operationId: string;

  constructor(operationId: string, parameters: readonly InputParameter[], body: BodyContent) {
    this.parameters = parameters;
    this.body = body;
    this.#operationId = operationId;
  }

  /**
   * Maps the properties that `pathNames` lists to the path, and the others to the query or the body. Returns `undefined`
   * if the input does not have a fixed list of properties.
   */
  static of(
    operationId: string,
    inputSchema: unknown,
    pathNames: readonly string[],
    others: "query" | "body",
  ): InputMapping | undefined {
    if (others === "body" && pathNames.length === 0) return new InputMapping(operationId, [], "whole");
    const properties = listProperties(inputSchema);
    if (properties === undefined) return undefined;
    const inPath = pathNames.map((name) => toParameter("path", name, properties.get(name)!));
    const rest = Array.from(properties).filter(([name]) => !pathNames.includes(name));
    if (others === "body") return new InputMapping(operationId, inPath, { rest });
    const inQuery = rest.map(([name, property]) => toParameter("query", name, property));
    return new InputMapping(operationId, [...inPath, ...inQuery], "none");
  }

  /**
   * Reads the values of the path, in order, and the query of a URL, without its question mark. Throws `VALIDATION_ERROR`
   * for a parameter that is unknown, repeated or malformed. A value of another type stays a string, which the schema
   * then refuses.
   */
  read(pathValues: readonly string[], query: string, maxDepth: number): JSONObject {
    const input: JSONObject = {};
    for (let index = 0; index < pathValues.length; index++) {
      const parameter = this.parameters[index]!;
      setOwn(input, parameter.property, this.#parse(parameter, pathValues[index]!, maxDepth));
    }
    for (let start = 0; start < query.length; ) {
      const next = query.indexOf("&", start);
      const end = next === -1 ? query.length : next;
      if (end > start) this.#readPair(input, query.slice(start, end), maxDepth);
      start = end + 1;
    }
    for (const { property, isEmptyIfMissing } of this.parameters) {
      if (isEmptyIfMissing && !Object.hasOwn(input, property)) setOwn(input, property, []);
    }
    return input;
  }

  /** Adds the parsed body of a request to the values of its URL, unless it is the whole input. `undefined` is a missing body. */
  addBody(input: JSONObject, body: unknown): unknown {
    if (body === undefined) return input;
    if (typeof this.body === "object" && "only" in this.body) return { ...input, [this.body.only[0]]: body };
    const invalid = (path: string, message: string) =>
      validationError(`body of ${quote(this.#operationId)}`, [{ path, message }]);
    if (!isObject(body)) throw invalid("", "must be an object");
    if (this.parameters.length === 0) return body;
    const repeated = Object.keys(input).find((name) => Object.hasOwn(body, name));
    if (repeated === undefined) return { ...body, ...input };
    throw invalid(`/${repeated}`, "must not be in the body, because it is in the URL");
  }

  #readPair(input: JSONObject, pair: string, maxDepth: number): void {
    const equals = pair.indexOf("=");
    const name = this.#decode(equals === -1 ? pair : pair.slice(0, equals));
    const parameter = this.parameters.find((each) => each.name === name && each.in === "query");
    if (parameter === undefined) throw this.#invalid(name, "is not a parameter of this operation");
    const value = this.#parse(parameter, equals === -1 ? "" : this.#decode(pair.slice(equals + 1)), maxDepth);
    const { property, isList } = parameter;
    if (!Object.hasOwn(input, property)) setOwn(input, property, isList ? [value] : value);
    else if (isList) (input[property] as unknown[]).push(value);
    else throw this.#invalid(name, "must not be repeated");
  }

  #decode(text: string): string {
    const spaced = text.includes("+") ? text.replaceAll("+", " ") : text;
    const decoded = spaced.includes("%") ? decodePercent(spaced) : spaced;
    if (decoded !== undefined) return decoded;
    throw validationError(this.#label, [{ path: "", message: "the query must be percent-encoded UTF-8" }]);
  }

  #parse({ name, type }: InputParameter, text: string, maxDepth: number): unknown {
    switch (type) {
      case "string":
        return text;
      case "boolean":
        return text === "true" ? true : text === "false" ? false : text;
      case undefined: {
        const value = parseJSON(text, maxDepth, this.#label, `/${escapeToken(name)}`);
        return typeof value === "number" ? this.#parseNumber(name, "number", text.trim()) : value;
      }
      default:
        return this.#parseNumber(name, type, text);
    }
  }

  #parseNumber(name: string, type: "number" | "integer", text: string): unknown {
    if (!/^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text)) return text;
    const value = Number(text);
    if (Number.isSafeInteger(value) || (Number.isFinite(value) && !Number.isInteger(value))) return value;
    const isExact = type === "number" && Number.isFinite(value) && (/[.eE]/.test(text) || String(value) === text);
    if (!isExact) throw this.#invalid(name, "is too large to be exact");
    return value;
  }

  #invalid(name: string, message: string): CallError {
    return validationError(this.#label, [{ path: `/${escapeToken(name)}`, message }]);
  }

  get #label(): string {
    return `input of ${quote(this.#operationId)}`;
  }
}
