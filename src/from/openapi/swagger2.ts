import { quote } from "../../internal/text.ts";
import type { OpenAPIDocument } from "./document.ts";
import type { BodyEntry, Entry, MediaEntry, ParameterEntry, Warn } from "./entry.ts";
import { mediaKind } from "./media-kind.ts";
import type { MethodEntry } from "./method-entries.ts";
import type { EncodingPlan, ParameterLocation } from "./plan.ts";
import { collectParameters, readResponses, within } from "./read-entry.ts";
import type { Located } from "./references.ts";
import { isObject, type JSONObject, own, ownText, ownTexts, put } from "./values.ts";
import { isMediaType } from "./wire/media-type.ts";

/** Reads a method entry of Swagger 2.0 in the words of OpenAPI 3. @throws ReferenceProblem */
export function readSwagger2Entry(document: OpenAPIDocument, found: MethodEntry, warn: Warn): Entry {
  const { method, path, pathItem, operation } = found;
  const parameters: ParameterEntry[] = [];
  const fields: Located<JSONObject>[] = [];
  let body: Located<JSONObject> | undefined;
  for (const parameter of collectParameters(document, found, warn)) {
    const location = own(parameter.value, "in");
    if (location === "body") body = parameter;
    else if (location === "formData") fields.push(parameter);
    else if (location === "path" || location === "query" || location === "header") {
      parameters.push(readParameter(parameter, location));
    } else {
      warn(parameter.pointer, `${quote(String(location))} is no place for a parameter; it is left out`);
    }
  }
  const consumes = mediaTypes(operation.value, document.root, "consumes");
  const produces = mediaTypes(operation.value, document.root, "produces");
  if (body !== undefined && fields.length > 0) {
    warn(found.pointer, "form fields beside a body cannot be sent; they are left out");
  }
  return {
    method,
    path,
    pointer: found.pointer,
    operation: operation.value,
    pathItem: pathItem.value,
    parameters,
    body: body === undefined ? readForm(fields, consumes, found.pointer) : readBody(body, consumes),
    responses: readResponses(document, operation, warn, (response) => responseMedia(response, produces)),
    servers: readServers(document.root, operation.value),
  };
}

/** What the method says, else what the document says; an empty list of the method counts as said. */
function mediaTypes(operation: JSONObject, root: JSONObject, key: "consumes" | "produces"): string[] {
  return ownTexts(Array.isArray(own(operation, key)) ? operation : root, key).filter(isMediaType);
}

/** Without schemes the document's own is meant, which a URL that starts with `//` says. */
function readServers(root: JSONObject, operation: JSONObject): unknown[] {
  const host = ownText(root, "host");
  const basePath = ownText(root, "basePath") ?? "/";
  const own = ownTexts(operation, "schemes");
  const schemes = (own.length > 0 ? own : ownTexts(root, "schemes")).filter((scheme) => /^https?$/.test(scheme));
  if (host === undefined) return [{ url: basePath }];
  const scheme = schemes.includes("https") ? "https:" : schemes.includes("http") ? "http:" : "";
  return [{ url: `${scheme}//${host}${basePath.startsWith("/") ? "" : "/"}${basePath}` }];
}

const styles: Readonly<Record<string, { style?: string; explode: boolean }>> = {
  csv: { explode: false },
  ssv: { style: "spaceDelimited", explode: false },
  tsv: { style: "tabDelimited", explode: false },
  pipes: { style: "pipeDelimited", explode: false },
  multi: { style: "form", explode: true },
};

function collectionStyle(parameter: JSONObject): { style?: string; explode: boolean } {
  const format = ownText(parameter, "collectionFormat") ?? "csv";
  return Object.hasOwn(styles, format) ? styles[format]! : styles["csv"]!;
}

function readParameter(located: Located<JSONObject>, location: ParameterLocation): ParameterEntry {
  const { value, pointer } = located;
  const { style = location === "query" ? "form" : "simple", explode } = collectionStyle(value);
  return {
    name: own(value, "name") as string,
    location,
    pointer,
    required: location === "path" || own(value, "required") === true,
    style,
    explode,
    allowReserved: false,
    allowEmptyValue: own(value, "allowEmptyValue") === true,
    schema: parameterSchema(located),
    description: ownText(value, "description"),
    deprecated: own(value, "deprecated") === true,
  };
}

const parameterWords = new Set(["name", "in", "description", "required", "collectionFormat", "allowEmptyValue"]);

/** A parameter of Swagger 2 is its own schema; some authors write a `schema` all the same. */
function parameterSchema(located: Located<JSONObject>): Located {
  if (isObject(own(located.value, "schema"))) return within(located, "schema");
  const schema: JSONObject = {};
  for (const key of Object.keys(located.value)) {
    if (!parameterWords.has(key)) put(schema, key, located.value[key]);
  }
  return { ...located, value: schema };
}

function readBody(body: Located<JSONObject>, consumes: string[]): BodyEntry {
  const schema = own(body.value, "schema") === undefined ? undefined : within(body, "schema");
  const types = consumes.length > 0 ? consumes : ["application/json"];
  return {
    pointer: body.pointer,
    required: own(body.value, "required") === true,
    description: ownText(body.value, "description"),
    media: types.map((mediaType) => ({ mediaType, schema, encoding: {} })),
  };
}

function readForm(fields: Located<JSONObject>[], consumes: string[], pointer: string): BodyEntry | undefined {
  if (fields.length === 0) return undefined;
  const hasFile = fields.some(({ value }) => own(value, "type") === "file");
  const forms = consumes.filter((type) => mediaKind(type) === "multipart" || (!hasFile && mediaKind(type) === "form"));
  const fallback = hasFile ? "multipart/form-data" : "application/x-www-form-urlencoded";
  const properties: JSONObject = {};
  const encoding: Record<string, EncodingPlan> = Object.create(null);
  const required: string[] = [];
  for (const field of fields) {
    const name = own(field.value, "name") as string;
    const description = ownText(field.value, "description");
    put(properties, name, { ...(parameterSchema(field).value as JSONObject), ...(description && { description }) });
    if (own(field.value, "required") === true) required.push(name);
    if (own(field.value, "type") === "array") encoding[name] = { style: "form", ...collectionStyle(field.value) };
  }
  const schema = { value: { type: "object", properties, required }, pointer, base: fields[0]!.base };
  return {
    pointer,
    required: required.length > 0,
    media: (forms.length > 0 ? forms : [fallback]).map((mediaType) => ({ mediaType, schema, encoding })),
  };
}

/** Without a schema nothing is said about a body, so nothing is promised. */
function responseMedia(response: Located, produces: string[]): MediaEntry[] {
  if (own(response.value, "schema") === undefined) return [];
  const schema = within(response, "schema");
  const isFile = own(schema.value, "type") === "file";
  const types = produces.length > 0 ? produces : [isFile ? "application/octet-stream" : "application/json"];
  return types.map((mediaType) => ({ mediaType, schema, encoding: {} }));
}
