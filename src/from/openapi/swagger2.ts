import { getOwn, isObject, type JSONObject, setOwn } from "../../internal/objects.ts";
import { quote } from "../../internal/text.ts";
import type { OpenAPIDocument } from "./document.ts";
import type {
  EncodingPlan,
  EndpointBody,
  EndpointMedia,
  EndpointParameter,
  MethodEntry,
  ParameterLocation,
  Warn,
} from "./endpoint.ts";
import type { ReadEntry } from "./input-schema.ts";
import { collectParameters, readParameterBasics, readResponses } from "./read-entry.ts";
import { type Located, within } from "./references.ts";
import { ownString, ownStrings } from "./values.ts";
import { isMediaType, mediaKind } from "./wire/media-type.ts";

/** Reads a method entry of Swagger 2.0 in the form of OpenAPI 3. @throws ReferenceProblem */
export function readSwagger2Entry(document: OpenAPIDocument, found: MethodEntry, warn: Warn): ReadEntry {
  const { operation } = found;
  const parameters: EndpointParameter[] = [];
  const fields: Located<JSONObject>[] = [];
  let body: Located<JSONObject> | undefined;
  for (const parameter of collectParameters(document, found, warn)) {
    const location = getOwn(parameter.value, "in");
    if (location === "body") body = parameter;
    else if (location === "formData") fields.push(parameter);
    else if (location === "path" || location === "query" || location === "header") {
      parameters.push(readParameter(parameter, location));
    } else {
      warn(
        parameter.pointer,
        `${quote(String(location))} is not a valid parameter location. The parameter is ignored.`,
      );
    }
  }
  const consumes = mediaTypes(operation.value, document.root, "consumes");
  const produces = mediaTypes(operation.value, document.root, "produces");
  if (body !== undefined && fields.length > 0) {
    warn(found.pointer, "Form fields beside a body cannot be sent and are ignored.");
  }
  return {
    ...found,
    parameters,
    body: body === undefined ? readForm(fields, consumes, found.pointer) : readBody(body, consumes),
    responses: readResponses(document, operation, warn, (response) => responseMedia(response, produces)),
    servers: readServers(document.root, operation.value),
  };
}

/** Returns the media types of the method, or those of the document. An empty list of the method takes precedence. */
function mediaTypes(operation: JSONObject, root: JSONObject, key: "consumes" | "produces"): string[] {
  return ownStrings(Array.isArray(getOwn(operation, key)) ? operation : root, key).filter(isMediaType);
}

/** Reads the server URLs. Without `schemes`, a URL starts with `//` and uses the document's own scheme. */
function readServers(root: JSONObject, operation: JSONObject): unknown[] {
  const host = ownString(root, "host");
  const basePath = ownString(root, "basePath") ?? "/";
  const own = ownStrings(operation, "schemes");
  const schemes = (own.length > 0 ? own : ownStrings(root, "schemes")).filter((scheme) => /^https?$/.test(scheme));
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
  const format = ownString(parameter, "collectionFormat") ?? "csv";
  return Object.hasOwn(styles, format) ? styles[format]! : styles["csv"]!;
}

function readParameter(located: Located<JSONObject>, location: ParameterLocation): EndpointParameter {
  const { style = location === "query" ? "form" : "simple", explode } = collectionStyle(located.value);
  return {
    ...readParameterBasics(located, location),
    style,
    explode,
    allowReserved: false,
    schema: parameterSchema(located),
  };
}

const parameterWords = new Set(["name", "in", "description", "required", "collectionFormat", "allowEmptyValue"]);

/**
 * Returns the schema of a parameter. In Swagger 2 the parameter is its own schema, but some documents have a `schema`
 * property.
 */
function parameterSchema(located: Located<JSONObject>): Located {
  if (isObject(getOwn(located.value, "schema"))) return within(located, "schema");
  const schema: JSONObject = {};
  for (const key of Object.keys(located.value)) {
    if (!parameterWords.has(key)) setOwn(schema, key, located.value[key]);
  }
  return { ...located, value: schema };
}

function readBody(body: Located<JSONObject>, consumes: string[]): EndpointBody {
  const schema = getOwn(body.value, "schema") === undefined ? undefined : within(body, "schema");
  const types = consumes.length > 0 ? consumes : ["application/json"];
  return {
    pointer: body.pointer,
    required: getOwn(body.value, "required") === true,
    description: ownString(body.value, "description"),
    media: types.map((mediaType) => ({ mediaType, schema, encoding: {} })),
  };
}

function readForm(fields: Located<JSONObject>[], consumes: string[], pointer: string): EndpointBody | undefined {
  if (fields.length === 0) return undefined;
  const hasFile = fields.some(({ value }) => getOwn(value, "type") === "file");
  const forms = consumes.filter((type) => mediaKind(type) === "multipart" || (!hasFile && mediaKind(type) === "form"));
  const fallback = hasFile ? "multipart/form-data" : "application/x-www-form-urlencoded";
  const properties: JSONObject = {};
  const encoding: Record<string, EncodingPlan> = Object.create(null);
  const required: string[] = [];
  for (const field of fields) {
    const name = getOwn(field.value, "name") as string;
    const description = ownString(field.value, "description");
    setOwn(properties, name, { ...(parameterSchema(field).value as JSONObject), ...(description && { description }) });
    if (getOwn(field.value, "required") === true) required.push(name);
    if (getOwn(field.value, "type") === "array") encoding[name] = { style: "form", ...collectionStyle(field.value) };
  }
  const schema = { value: { type: "object", properties, required }, pointer, base: fields[0]!.base };
  return {
    pointer,
    required: required.length > 0,
    media: (forms.length > 0 ? forms : [fallback]).map((mediaType) => ({ mediaType, schema, encoding })),
  };
}

/** Returns the media types of a response. Without a schema, its body is not described. */
function responseMedia(response: Located, produces: string[]): EndpointMedia[] {
  if (getOwn(response.value, "schema") === undefined) return [];
  const schema = within(response, "schema");
  const isFile = getOwn(schema.value, "type") === "file";
  const types = produces.length > 0 ? produces : [isFile ? "application/octet-stream" : "application/json"];
  return types.map((mediaType) => ({ mediaType, schema, encoding: {} }));
}
