import { extendPointer } from "../../internal/json-pointer.ts";
import { getOwn, isObject, type JSONObject } from "../../internal/objects.ts";
import { quote } from "../../internal/text.ts";
import type { OpenAPIDocument } from "./document.ts";
import type {
  EncodingPlan,
  EndpointBody,
  EndpointMedia,
  EndpointParameter,
  EndpointResponse,
  MethodEntry,
  ParameterLocation,
  Warn,
} from "./endpoint.ts";
import type { ReadEntry } from "./input-schema.ts";
import { type Located, within } from "./references.ts";
import { ownList, ownObject, ownString } from "./values.ts";
import { isMediaType } from "./wire/media-type.ts";

const locations = new Set(["path", "query", "querystring", "header", "cookie"]);

/** Reads a method entry of OpenAPI 3. @throws ReferenceProblem if a reference outside of schemas cannot be resolved */
export function readEntry(document: OpenAPIDocument, found: MethodEntry, warn: Warn): ReadEntry {
  const { pathItem, operation } = found;
  const servers = [operation.value, pathItem.value, document.root].map((holder) => ownList(holder, "servers"));
  return {
    ...found,
    parameters: readParameters(document, found, warn),
    body: readBody(document, within(operation, "requestBody"), warn),
    responses: readResponses(document, operation, warn, (response) =>
      readContent(document, within(response, "content"), warn),
    ),
    servers: servers.find((list) => list.length > 0) ?? [],
  };
}

/**
 * Returns the parameters of a path and its method, with references resolved. Parameters of the method take precedence.
 */
export function collectParameters(
  document: OpenAPIDocument,
  { pathItem, operation }: MethodEntry,
  warn: Warn,
): Located<JSONObject>[] {
  const byKey = new Map<string, Located<JSONObject>>();
  for (const holder of [pathItem, operation]) {
    for (const index of ownList(holder.value, "parameters").keys()) {
      const item = within(holder, "parameters", String(index));
      const parameter = document.references.deref(item);
      const name = ownString(parameter.value, "name");
      if (!isObject(parameter.value) || name === undefined)
        warn(item.pointer, "The parameter has no name and is ignored.");
      else if (/\p{Surrogate}/u.test(name))
        warn(item.pointer, "The name of the parameter is not well-formed Unicode. The parameter is ignored.");
      else byKey.set(`${String(getOwn(parameter.value, "in"))} ${name}`, parameter as Located<JSONObject>);
    }
  }
  return [...byKey.values()];
}

function readParameters(document: OpenAPIDocument, found: MethodEntry, warn: Warn): EndpointParameter[] {
  const parameters: EndpointParameter[] = [];
  for (const located of collectParameters(document, found, warn)) {
    const location = getOwn(located.value, "in");
    if (typeof location === "string" && locations.has(location)) {
      parameters.push(readParameter(document, located, location as ParameterLocation, warn));
    } else {
      warn(located.pointer, `${quote(String(location))} is not a valid parameter location. The parameter is ignored.`);
    }
  }
  return parameters;
}

function readParameter(
  document: OpenAPIDocument,
  located: Located<JSONObject>,
  location: ParameterLocation,
  warn: Warn,
): EndpointParameter {
  const { value } = located;
  const [content] = readContent(document, within(located, "content"), warn);
  const style = ownString(value, "style") ?? (location === "path" || location === "header" ? "simple" : "form");
  const explode = getOwn(value, "explode");
  return {
    ...readParameterBasics(located, location),
    style,
    explode: typeof explode === "boolean" ? explode : style === "form" || style === "cookie",
    allowReserved: getOwn(value, "allowReserved") === true,
    contentType: content?.mediaType,
    schema: content === undefined ? schemaIn(located) : content.schema,
  };
}

/** Reads the properties of a parameter that are the same in every version of OpenAPI. */
export function readParameterBasics({ value, pointer }: Located<JSONObject>, location: ParameterLocation) {
  const name = getOwn(value, "name") as string;
  return {
    name,
    argument: name,
    location,
    pointer,
    required: location === "path" || getOwn(value, "required") === true,
    allowEmptyValue: getOwn(value, "allowEmptyValue") === true,
    description: ownString(value, "description"),
    deprecated: getOwn(value, "deprecated") === true,
  };
}

function readBody(document: OpenAPIDocument, located: Located, warn: Warn): EndpointBody | undefined {
  if (located.value === undefined) return undefined;
  const body = document.references.deref(located);
  if (!isObject(body.value)) {
    warn(located.pointer, "The body is not an object and is ignored.");
    return undefined;
  }
  return {
    pointer: located.pointer,
    required: getOwn(body.value, "required") === true,
    description: ownString(body.value, "description"),
    media: readContent(document, within(body, "content"), warn),
  };
}

/** Reads the responses of an operation. `toMedia` returns the media types of each response. */
export function readResponses(
  document: OpenAPIDocument,
  operation: Located,
  warn: Warn,
  toMedia: (response: Located) => EndpointMedia[],
): EndpointResponse[] {
  const responses = within(operation, "responses");
  const entries: EndpointResponse[] = [];
  for (const key of isObject(responses.value) ? Object.keys(responses.value) : []) {
    if (key.startsWith("x-")) continue;
    const response = document.references.deref(within(responses, key));
    const status = readStatus(key);
    if (status === undefined || !isObject(response.value)) {
      warn(extendPointer(responses.pointer, key), `${quote(key)} is not a response status and is ignored.`);
      continue;
    }
    entries.push({
      source: response.value,
      status,
      description: ownString(response.value, "description") ?? ownString(response.value, "summary") ?? "",
      media: toMedia(response),
    });
  }
  return entries;
}

/** Converts a key of `responses` into `200`, `2XX` or `default`. */
function readStatus(key: string): string | undefined {
  if (key === "default") return key;
  return /^[1-5](?:\d\d|xx)$/i.test(key) ? key.toUpperCase() : undefined;
}

function readContent(document: OpenAPIDocument, content: Located, warn: Warn): EndpointMedia[] {
  const media: EndpointMedia[] = [];
  for (const mediaType of isObject(content.value) ? Object.keys(content.value) : []) {
    const located = document.references.deref(within(content, mediaType));
    if (!isMediaType(mediaType) && mediaType !== "*") {
      warn(extendPointer(content.pointer, mediaType), `${quote(mediaType)} is not a media type and is ignored.`);
      continue;
    }
    media.push({
      mediaType,
      schema: schemaIn(located),
      itemSchema: getOwn(located.value, "itemSchema") === undefined ? undefined : within(located, "itemSchema"),
      encoding: readEncoding(document, located),
    });
  }
  return media;
}

function schemaIn(located: Located): Located | undefined {
  return getOwn(located.value, "schema") === undefined ? undefined : within(located, "schema");
}

function readEncoding(document: OpenAPIDocument, media: Located): Record<string, EncodingPlan> {
  const encoding: Record<string, EncodingPlan> = Object.create(null);
  for (const [name, value] of Object.entries(ownObject(media.value, "encoding") ?? {})) {
    const explode = getOwn(value, "explode");
    const headers = within(media, "encoding", name, "headers");
    encoding[name] = {
      contentType: ownString(value, "contentType"),
      style: ownString(value, "style"),
      explode: typeof explode === "boolean" ? explode : undefined,
      allowReserved: getOwn(value, "allowReserved") === true ? true : undefined,
      headers: isObject(headers.value) ? derefAll(document, headers) : undefined,
    };
  }
  return encoding;
}

function derefAll(document: OpenAPIDocument, holder: Located): Record<string, unknown> {
  const names = Object.keys(holder.value as JSONObject);
  return Object.fromEntries(names.map((name) => [name, document.references.deref(within(holder, name)).value]));
}
