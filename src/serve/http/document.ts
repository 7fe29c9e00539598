import { type Bytes, toBase64 } from "../../internal/base64.ts";
import { escapeToken } from "../../internal/json-pointer.ts";
import { logger } from "../../internal/log.ts";
import { getOwn, type JSONObject } from "../../internal/objects.ts";
import { truncate } from "../../internal/text.ts";
import { checkAccess, type OperationSpec, OperationType } from "../../operation/inside.ts";
import { assertsNothing } from "../../schema/index.ts";
import { eventStreamType, problemType } from "../../transport/http-form.ts";
import type { Gate } from "../gate.ts";
import { statusOf } from "../outcome.ts";
import { type ComponentReference, Components, UniqueNames } from "./components.ts";
import type { InputMapping, InputParameter } from "./parameters.ts";
import type { Route } from "./routes.ts";

/** Describes a server in its OpenAPI document. */
export interface DocumentInfo {
  /** Name of the API. @default "Operations" */
  title?: string;
  /** Version of the API. @default "1.0.0" */
  version?: string;
  /** What the API is for, in CommonMark. */
  description?: string;
}

const log = logger("serve", "http");

/** The bytes of a document, and the hash that identifies them. */
export interface WrittenDocument {
  readonly body: Bytes;
  readonly etag: string;
}

/** Writes the OpenAPI 3.1 document of some routes. An operation whose schemas are not JSON is left out and logged. */
export async function writeDocument(
  routes: readonly Route[],
  info: DocumentInfo | undefined,
  gate: Pick<Gate, "description" | "allowsAnonymous">,
): Promise<WrittenDocument> {
  const text = JSON.stringify(createDocument(routes, info, gate));
  const body = new TextEncoder().encode(text);
  const digest = await crypto.subtle.digest("SHA-256", body);
  return { body, etag: `"${toBase64(new Uint8Array(digest))}"` };
}

/** Name of the schema of problem details. Names of other schemas contain a dot. */
const problemName = "Problem";

const problemSchema: JSONObject = {
  type: "object",
  description: "Describes why a call failed (RFC 9457).",
  properties: {
    type: { type: "string", description: "Identifies the kind of problem." },
    title: { type: "string" },
    status: { type: "integer", description: "Status of the response." },
    detail: { type: "string", description: "Explains the failure to people." },
    code: { type: "string", description: "Identifies the kind of failure, such as `VALIDATION_ERROR`." },
    details: { description: "Details of the failure; their form depends on the code." },
    retryable: { type: "boolean", description: "Whether the same call may succeed if it is repeated." },
    mayHaveRun: { type: "boolean", description: "Whether the operation may have had an effect." },
    requestId: { type: "string", description: "Identifies the call in the logs of the server." },
  },
  required: ["code"],
};

const problemReference = { $ref: `#/components/schemas/${problemName}` };

/** Properties that are `undefined` are missing in its JSON. */
function createDocument(
  routes: readonly Route[],
  info: DocumentInfo | undefined,
  { description: { securitySchemes }, allowsAnonymous }: Pick<Gate, "description" | "allowsAnonymous">,
): JSONObject {
  const security = Object.keys(securitySchemes).map((name) => ({ [name]: [] }));
  const optionalSecurity = allowsAnonymous && security.length > 0 ? [{}, ...security] : undefined;
  const components = new Components();
  components.schemas[problemName] = problemSchema;
  const operationIds = new UniqueNames();
  const paths: Record<string, JSONObject> = {};
  // Paths that differ only in the names of their parameters are the same path.
  const pathsByShape = new Map<string, string>();
  for (const route of routes) {
    try {
      const shape = route.path.replaceAll(/\{[^{}]*\}/g, "{}");
      const path = pathsByShape.get(shape) ?? route.path;
      const described = describeRoute(route, path, components);
      if (checkAccess(route.operation.access, undefined)) described["security"] = optionalSecurity;
      // URLs cannot contain other characters.
      const wantedId = route.operation.id.replaceAll(/[^A-Za-z0-9._~:/@!$&'()*+,;=-]/g, "_");
      pathsByShape.set(shape, path);
      paths[path] = {
        ...paths[path],
        [route.method.toLowerCase()]: { operationId: operationIds.take(wantedId), ...described },
      };
    } catch (error) {
      log.warn("{id} is missing in the OpenAPI document: {error}", { id: route.operation.id, error });
    }
  }
  return {
    openapi: "3.1.0",
    info: { title: "Operations", version: "1.0.0", ...info },
    // Relative to the URL of the document, so that it is correct behind every proxy.
    servers: [{ url: "." }],
    security,
    paths,
    components: {
      schemas: components.schemas,
      responses: { [problemName]: toProblemResponse("The call failed.", problemReference) },
      securitySchemes: security.length > 0 ? securitySchemes : undefined,
    },
  };
}

/** The spec of an operation as the document contains it, with references to schemas. Importers restore the spec from it. */
type DocumentedSpec = ReturnType<typeof toDocumentedSpec>;

/** @param path - the path in the document, in which parameters may have other names than in the route */
function describeRoute({ operation, input }: Route, path: string, components: Components): JSONObject {
  const { id, published } = operation;
  const spec = toDocumentedSpec(id, published, components);
  const { namespace, title, description, tags } = spec;
  return {
    summary: title ?? (firstLine(description) || id),
    description: description || undefined,
    tags: tags === undefined || tags.length === 0 ? [namespace] : tags,
    parameters: describeParameters(input!.parameters, path, spec.inputSchema),
    requestBody: describeBody(input!, spec.inputSchema),
    responses: {
      ...describeResult(spec, published.outputSchema),
      ...describeErrors(spec, operation.spec),
      default: { $ref: `#/components/responses/${problemName}` },
    },
    "x-alkdev-operation": spec,
  };
}

function toDocumentedSpec(id: string, published: OperationSpec, components: Components) {
  const { accessControl: _, _meta, inputSchema, outputSchema, errorSchemas, ...rest } = published;
  return {
    ...rest,
    inputSchema: components.add(inputSchema, `${id}.input`),
    outputSchema: components.add(outputSchema, `${id}.output`),
    errorSchemas: errorSchemas?.map(({ schema, ...error }) => ({
      ...error,
      schema: components.add(schema, `${id}.${error.code}`),
    })),
  };
}

/** Returns the reference to a property of the input. Parameters are only properties of the input itself. */
function toPropertyReference(input: ComponentReference, property: string): ComponentReference {
  return { $ref: `${input.$ref}/properties/${encodeURIComponent(escapeToken(property))}` };
}

function describeParameters(parameters: readonly InputParameter[], path: string, input: ComponentReference): unknown {
  if (parameters.length === 0) return undefined;
  const pathNames = Array.from(path.matchAll(/\{([^{}]*)\}/g), ([, name]) => name!);
  return parameters.map(({ name, property, in: location, isRequired, isEmptyIfMissing, schema, type }) => {
    const reference = toPropertyReference(input, property);
    const description = getOwn(schema, "description");
    return {
      name: location === "path" ? pathNames.shift() : name,
      in: location,
      // A missing list is an empty one. Clients cannot write an empty list, and some refuse one that is required.
      required: location === "path" || (isRequired && !isEmptyIfMissing),
      description: typeof description === "string" ? description : undefined,
      ...(type === undefined ? { content: { "application/json": { schema: reference } } } : { schema: reference }),
    };
  });
}

function describeBody({ body }: InputMapping, input: ComponentReference): unknown {
  const toBody = (schema: object, required: boolean) => ({ required, content: { "application/json": { schema } } });
  if (body === "none") return undefined;
  if (body === "whole") return toBody(input, true);
  if ("only" in body) return toBody(toPropertyReference(input, body.only[0]), body.only[1].isRequired);
  if (body.rest.length === 0) return undefined;
  const properties = Object.fromEntries(body.rest.map(([name]) => [name, toPropertyReference(input, name)]));
  const required = body.rest.filter(([, { isRequired }]) => isRequired).map(([name]) => name);
  return toBody({ type: "object", properties, required }, required.length > 0);
}

function describeResult({ type, outputSchema }: DocumentedSpec, schema: unknown): JSONObject {
  if (type === OperationType.SUBSCRIPTION) {
    // Each event has JSON as its data, which is how JSON Schema describes it.
    const items = { type: "string", contentMediaType: "application/json", contentSchema: outputSchema };
    const content = { [eventStreamType]: { schema: { type: "array", items } } };
    return { 200: { description: "The values, one per event.", content } };
  }
  const content: JSONObject = { "application/json": { schema: outputSchema } };
  if (!assertsNothing(schema as JSONObject)) return { 200: { description: "The result.", content } };
  content["application/octet-stream"] = {};
  return { 200: { description: "The result.", content }, 204: { description: "There is no result." } };
}

function describeErrors({ errorSchemas = [] }: DocumentedSpec, spec: OperationSpec): JSONObject {
  const byStatus = new Map<number, typeof errorSchemas>();
  for (const error of errorSchemas) {
    const status = statusOf({ code: error.code, details: undefined }, spec, true);
    byStatus.set(status, [...(byStatus.get(status) ?? []), error]);
  }
  const entries = Array.from(byStatus, ([status, errors]) => {
    const alternatives = errors.map(({ code, schema }) => ({
      type: "object",
      properties: { code: { const: code }, details: schema },
      required: ["code"],
    }));
    const declared = alternatives.length === 1 ? alternatives[0] : { anyOf: alternatives };
    const description = errors.map((error) => error.description ?? error.code).join(" ");
    return [status, toProblemResponse(description, { allOf: [problemReference, declared] })] as const;
  });
  return Object.fromEntries(entries);
}

function toProblemResponse(description: string, schema: JSONObject): JSONObject {
  return { description, content: { [problemType]: { schema } } };
}

/** Returns the first line of a description, at most 100 characters. */
function firstLine(text: string): string {
  return truncate(text.trim().split(/\r?\n/, 1)[0]!, 100);
}
