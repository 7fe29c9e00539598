import { getOwn, isObject, type JSONObject, setOwn } from "../../internal/objects.ts";
import { quote } from "../../internal/text.ts";
import type { OpenAPIDocument } from "./document.ts";
import type { Endpoint, EndpointBody, EndpointMedia, EndpointParameter, ParameterLocation, Warn } from "./endpoint.ts";
import type { Located } from "./references.ts";
import { isBinary, SchemaCopy } from "./schema-copy.ts";
import { ownList, ownObject } from "./values.ts";
import { isCallerHeader } from "./wire/headers.ts";
import { mediaKind } from "./wire/media-type.ts";

/** Returns the schemas of all parameters and the body. */
export function inputSchemasOf({ parameters, body }: Endpoint): Located[] {
  const schemas = parameters.map(({ schema }) => schema);
  return [...schemas, ...describing(body).map(({ schema }) => schema)].filter((schema) => schema !== undefined);
}

/** Returns the schema of the input object: parameters by name, and the body as `body`. */
export function toInputSchema(document: OpenAPIDocument, { parameters, body }: Endpoint): JSONObject {
  const copy = new SchemaCopy(document, "input");
  const properties: JSONObject = {};
  const required: string[] = [];
  for (const parameter of parameters) {
    const { argument, schema, description, deprecated } = parameter;
    const declared = schema === undefined ? {} : copy.copy(schema);
    const value = parameter.allowEmptyValue ? { anyOf: [declared, { const: "" }] } : declared;
    setOwn(
      properties,
      argument,
      describe(value, { ...(description && { description }), ...(deprecated && { deprecated }) }),
    );
    if (parameter.required) required.push(argument);
  }
  if (body !== undefined) {
    const { description } = body;
    properties["body"] = describe(toBodySchema(copy, body), { ...(description && { description }) });
    if (body.required) required.push("body");
  }
  const $defs = copy.definitions();
  return {
    type: "object",
    properties,
    ...(required.length > 0 && { required }),
    additionalProperties: false,
    ...($defs && { $defs }),
  };
}

/**
 * Returns the media types whose schemas describe the input. XML is passed as a string, so it counts only if it is the
 * only one.
 */
function describing(body: EndpointBody | undefined): EndpointMedia[] {
  const media = body?.media ?? [];
  const others = media.filter(({ mediaType }) => mediaKind(mediaType) !== "xml");
  return others.length > 0 ? others : media;
}

function toBodySchema(copy: SchemaCopy, body: EndpointBody): unknown {
  const schemas: unknown[] = [];
  const known = new Map<unknown, Set<boolean>>();
  for (const media of describing(body)) {
    const takesBinary = mayHoldBinary(media);
    const kinds = known.get(media.schema?.value) ?? new Set();
    known.set(media.schema?.value, kinds);
    if (media.schema !== undefined && kinds.has(takesBinary)) continue;
    kinds.add(takesBinary);
    schemas.push(toMediaSchema(copy, media, takesBinary));
  }
  const distinct = [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()];
  return distinct.length === 0 ? {} : distinct.length === 1 ? distinct[0] : { anyOf: distinct };
}

function mayHoldBinary({ mediaType }: EndpointMedia): boolean {
  const kind = mediaKind(mediaType);
  return kind === "multipart" || kind === "binary" || kind === "any";
}

function toMediaSchema(copy: SchemaCopy, { mediaType, schema }: EndpointMedia, binary: boolean): unknown {
  const kind = mediaKind(mediaType);
  if (kind === "xml") return { type: "string", description: "XML, as a string" };
  // Neither bytes nor streams of lines have a JSON type.
  if (kind === "binary" && (schema === undefined || isBinary(schema.value) || isStringSchema(schema.value))) return {};
  if (schema === undefined) return kind === "text" ? { type: "string" } : {};
  return copy.copy(schema, { binary });
}

function isStringSchema(schema: unknown): boolean {
  return isObject(schema) && schema["type"] === "string";
}

function describe(schema: unknown, annotations: JSONObject): unknown {
  if (Object.keys(annotations).length === 0) return schema;
  if (!isObject(schema)) return schema === false ? { not: {}, ...annotations } : annotations;
  return { ...schema, ...annotations };
}

/** The declared endpoint. It may contain parameters that cannot be passed, and duplicate names. */
export type ReadEntry = Omit<Endpoint, "output">;

const order: readonly ParameterLocation[] = ["path", "query", "querystring", "header", "cookie"];

/**
 * Returns the parameters that callers can pass, with their argument names. Later parameters with a duplicate name get a
 * qualified name.
 */
export function assignArguments(entry: ReadEntry, warn: Warn): EndpointParameter[] {
  const places = templateNames(entry.path);
  const usable = [
    ...entry.parameters.filter((parameter) => isUsable(parameter, places, warn)),
    ...undeclared(entry, places, warn),
  ];
  const taken = new Set(entry.body === undefined ? [] : ["body"]);
  const sorted = usable.sort((one, other) => order.indexOf(one.location) - order.indexOf(other.location));
  return sorted.map((parameter) => {
    let argument = parameter.name;
    if (taken.has(argument)) argument = `${parameter.location}_${parameter.name}`;
    for (let count = 2; taken.has(argument); count++) argument = `${parameter.location}_${parameter.name}_${count}`;
    taken.add(argument);
    return argument === parameter.name ? parameter : { ...parameter, argument };
  });
}

function isUsable({ name, location, pointer }: EndpointParameter, places: Set<string>, warn: Warn): boolean {
  if (location === "header" && (!isCallerHeader(name) || name.toLowerCase() === "accept")) {
    warn(pointer, `Callers must not set the header ${quote(name)}. The parameter is ignored.`);
    return false;
  }
  if (location === "path" && !places.has(name)) {
    warn(pointer, `The path has no placeholder for ${quote(name)}. The parameter is ignored.`);
    return false;
  }
  return true;
}

/** Returns parameters for the placeholders in the path that are not declared. */
function undeclared(entry: ReadEntry, places: Set<string>, warn: Warn): EndpointParameter[] {
  const declared = new Set(entry.parameters.filter(({ location }) => location === "path").map(({ name }) => name));
  const missing = [...places].filter((name) => !declared.has(name));
  return missing.map((name) => {
    warn(entry.pointer, `No parameter is declared for ${quote(name)} in the path. Any string is accepted.`);
    return {
      name,
      argument: name,
      location: "path",
      pointer: entry.pointer,
      required: true,
      style: "simple",
      explode: false,
      allowReserved: false,
      allowEmptyValue: false,
      schema: { value: { type: ["string", "number", "boolean"] }, pointer: entry.pointer, base: "" },
      deprecated: false,
    };
  });
}

/** Returns the names in braces. A fragment after the path is never sent. */
function templateNames(path: string): Set<string> {
  return new Set(Array.from(path.replace(/#.*$/s, "").matchAll(/\{([^{}]+)\}/g), ([, name]) => name!));
}

/**
 * Whether the body of an endpoint declares a boolean `stream`. Many services with both response types select the stream
 * by the body, not by `Accept`.
 */
export function hasStreamSwitch(document: OpenAPIDocument, { body }: Endpoint): boolean {
  return (body?.media ?? []).some(({ schema }) => schema !== undefined && declares(document, schema, new Set()));
}

function declares(document: OpenAPIDocument, schema: Located, seen: Set<unknown>): boolean {
  const target = document.references.tryDeref(schema);
  if (target === undefined || seen.has(target.value)) return false;
  seen.add(target.value);
  const property = ownObject(ownObject(target.value, "properties"), "stream");
  if (property !== undefined) return allowsTrue(property);
  const branches = ["allOf", "anyOf", "oneOf"].flatMap((keyword) => ownList(target.value, keyword));
  return branches.some((value) => declares(document, { ...target, value }, seen));
}

function allowsTrue(property: unknown): boolean {
  const type = getOwn(property, "type");
  if (type === "boolean" || (Array.isArray(type) && type.includes("boolean"))) return true;
  return ["anyOf", "oneOf"].some((keyword) => ownList(property, keyword).some(allowsTrue));
}
