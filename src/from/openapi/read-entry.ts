import { quote } from "../../internal/text.ts";
import type { OpenAPIDocument } from "./document.ts";
import type { BodyEntry, Entry, MediaEntry, ParameterEntry, ResponseEntry, Warn } from "./entry.ts";
import type { MethodEntry } from "./method-entries.ts";
import type { EncodingPlan, ParameterLocation } from "./plan.ts";
import type { Located } from "./references.ts";
import { isObject, type JSONObject, own, ownList, ownObject, ownText, pointerTo } from "./values.ts";
import { isMediaType } from "./wire/media-type.ts";

const locations = new Set(["path", "query", "querystring", "header", "cookie"]);

/** Reads a method entry of OpenAPI 3. @throws ReferenceProblem when a reference outside of schemas leads nowhere */
export function readEntry(document: OpenAPIDocument, found: MethodEntry, warn: Warn): Entry {
  const { method, path, pathItem, operation } = found;
  const servers = [operation.value, pathItem.value, document.root].map((holder) => ownList(holder, "servers"));
  return {
    method,
    path,
    pointer: found.pointer,
    operation: operation.value,
    pathItem: pathItem.value,
    parameters: readParameters(document, found, warn),
    body: readBody(document, within(operation, "requestBody"), warn),
    responses: readResponses(document, operation, warn, (response) =>
      readContent(document, within(response, "content"), warn),
    ),
    servers: servers.find((list) => list.length > 0) ?? [],
  };
}

/** A property of a located object, located itself. */
export function within(holder: Located, ...keys: string[]): Located {
  return {
    value: keys.reduce<unknown>((value, key) => own(value, key), holder.value),
    pointer: pointerTo(holder.pointer, ...keys),
    base: holder.base,
  };
}

/** The parameters of a path and of its method, references followed; those of the method win. */
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
      const name = ownText(parameter.value, "name");
      if (!isObject(parameter.value) || name === undefined)
        warn(item.pointer, "the parameter has no name; it is left out");
      else if (/\p{Surrogate}/u.test(name)) warn(item.pointer, "the parameter's name is no text; it is left out");
      else byKey.set(`${String(own(parameter.value, "in"))} ${name}`, parameter as Located<JSONObject>);
    }
  }
  return [...byKey.values()];
}

function readParameters(document: OpenAPIDocument, found: MethodEntry, warn: Warn): ParameterEntry[] {
  const parameters: ParameterEntry[] = [];
  for (const located of collectParameters(document, found, warn)) {
    const location = own(located.value, "in");
    if (typeof location === "string" && locations.has(location)) {
      parameters.push(readParameter(document, located, location as ParameterLocation, warn));
    } else {
      warn(located.pointer, `${quote(String(location))} is no place for a parameter; it is left out`);
    }
  }
  return parameters;
}

function readParameter(
  document: OpenAPIDocument,
  located: Located<JSONObject>,
  location: ParameterLocation,
  warn: Warn,
): ParameterEntry {
  const { value, pointer } = located;
  const [content] = readContent(document, within(located, "content"), warn);
  const style = ownText(value, "style") ?? (location === "path" || location === "header" ? "simple" : "form");
  const explode = own(value, "explode");
  return {
    name: own(value, "name") as string,
    location,
    pointer,
    required: location === "path" || own(value, "required") === true,
    style,
    explode: typeof explode === "boolean" ? explode : style === "form" || style === "cookie",
    allowReserved: own(value, "allowReserved") === true,
    allowEmptyValue: own(value, "allowEmptyValue") === true,
    contentType: content?.mediaType,
    schema: content === undefined ? schemaIn(located) : content.schema,
    description: ownText(value, "description"),
    deprecated: own(value, "deprecated") === true,
  };
}

function readBody(document: OpenAPIDocument, located: Located, warn: Warn): BodyEntry | undefined {
  if (located.value === undefined) return undefined;
  const body = document.references.deref(located);
  if (!isObject(body.value)) {
    warn(located.pointer, "the body is no object; it is left out");
    return undefined;
  }
  return {
    pointer: located.pointer,
    required: own(body.value, "required") === true,
    description: ownText(body.value, "description"),
    media: readContent(document, within(body, "content"), warn),
  };
}

/** The answers of an operation, of which `toMedia` tells what they can hold. */
export function readResponses(
  document: OpenAPIDocument,
  operation: Located,
  warn: Warn,
  toMedia: (response: Located) => MediaEntry[],
): ResponseEntry[] {
  const responses = within(operation, "responses");
  const entries: ResponseEntry[] = [];
  for (const key of isObject(responses.value) ? Object.keys(responses.value) : []) {
    if (key.startsWith("x-")) continue;
    const response = document.references.deref(within(responses, key));
    const status = readStatus(key);
    if (status === undefined || !isObject(response.value)) {
      warn(pointerTo(responses.pointer, key), `${quote(key)} is no answer; it is left out`);
      continue;
    }
    entries.push({
      source: response.value,
      status,
      description: ownText(response.value, "description") ?? ownText(response.value, "summary") ?? "",
      media: toMedia(response),
    });
  }
  return entries;
}

/** `200`, `2XX` or `default`, as the document may spell them. */
function readStatus(key: string): string | undefined {
  if (key === "default") return key;
  return /^[1-5](?:\d\d|xx)$/i.test(key) ? key.toUpperCase() : undefined;
}

function readContent(document: OpenAPIDocument, content: Located, warn: Warn): MediaEntry[] {
  const media: MediaEntry[] = [];
  for (const mediaType of isObject(content.value) ? Object.keys(content.value) : []) {
    const located = document.references.deref(within(content, mediaType));
    if (!isMediaType(mediaType) && mediaType !== "*") {
      warn(pointerTo(content.pointer, mediaType), `${quote(mediaType)} is no media type; it is left out`);
      continue;
    }
    media.push({
      mediaType,
      schema: schemaIn(located),
      itemSchema: own(located.value, "itemSchema") === undefined ? undefined : within(located, "itemSchema"),
      encoding: readEncoding(document, located),
    });
  }
  return media;
}

function schemaIn(located: Located): Located | undefined {
  return own(located.value, "schema") === undefined ? undefined : within(located, "schema");
}

function readEncoding(document: OpenAPIDocument, media: Located): Record<string, EncodingPlan> {
  const encoding: Record<string, EncodingPlan> = Object.create(null);
  for (const [name, value] of Object.entries(ownObject(media.value, "encoding") ?? {})) {
    const explode = own(value, "explode");
    const headers = within(media, "encoding", name, "headers");
    encoding[name] = {
      contentType: ownText(value, "contentType"),
      style: ownText(value, "style"),
      explode: typeof explode === "boolean" ? explode : undefined,
      allowReserved: own(value, "allowReserved") === true ? true : undefined,
      headers: isObject(headers.value) ? derefAll(document, headers) : undefined,
    };
  }
  return encoding;
}

function derefAll(document: OpenAPIDocument, holder: Located): Record<string, unknown> {
  const names = Object.keys(holder.value as JSONObject);
  return Object.fromEntries(names.map((name) => [name, document.references.deref(within(holder, name)).value]));
}
