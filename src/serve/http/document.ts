import { toBase64 } from "../../internal/base64.ts";
import { escapeToken } from "../../internal/json-pointer.ts";
import { logger } from "../../internal/log.ts";
import { getOwn, type JSONObject, setOwn } from "../../internal/objects.ts";
import { truncate } from "../../internal/text.ts";
import { type ErrorDefinition, formatOperationId, type OperationSpec, OperationType } from "../../operation/index.ts";
import { assertsNothing } from "../../schema/index.ts";
import type { AuthenticatorDescription } from "../authenticator.ts";
import { safetyHeaders, statusOf } from "../outcome.ts";
import type { ServedOperation, VisibleSet } from "../visible.ts";
import { type ComponentReference, Components } from "./components.ts";
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

/** Options of {@link createDocument}. */
export interface DocumentOptions {
  readonly info?: DocumentInfo | undefined;
  /** Credentials of callers. Missing for a server without authentication. */
  readonly security?: AuthenticatorDescription | undefined;
}

/** Options of {@link createDocumentHandler}. */
export interface DocumentHandlerOptions extends DocumentOptions {
  /** Value of `Vary`: the headers that identify callers. */
  readonly vary: string;
  /** Returns the route of an operation that the document describes; `undefined` if it has none. */
  routeOf(operation: ServedOperation): Route | undefined;
}

const log = logger("serve", "http");

/** The bytes of a document, and the hash that identifies them. */
interface WrittenDocument {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly etag: string;
}

/** A response with a document, or with 304 and no body. */
export interface DocumentResponse {
  readonly status: 200 | 304;
  readonly headers: Record<string, string>;
  readonly body: Uint8Array<ArrayBuffer> | null;
}

/** Responds to `GET /openapi.json`. `ifNoneMatch` is the header of that name. */
export type DocumentHandler = (visible: VisibleSet, ifNoneMatch: string | null) => Promise<DocumentResponse>;

/**
 * Creates the handler of the document. Callers who see the same operations share a document, which is written when the
 * first of them requests it.
 */
export function createDocumentHandler(options: DocumentHandlerOptions): DocumentHandler {
  const write = (visible: VisibleSet) => writeDocument(visible, options);
  return async (visible, ifNoneMatch) => {
    const { body, etag } = await visible.derive(options, write);
    const headers: Record<string, string> = { "cache-control": "private, no-cache", etag };
    if (options.vary !== "") headers["vary"] = options.vary;
    if (isKnown(ifNoneMatch, etag)) return { status: 304, headers, body: null };
    return { status: 200, headers: { ...safetyHeaders, ...headers, "content-type": "application/json" }, body };
  };
}

async function writeDocument({ operations }: VisibleSet, options: DocumentHandlerOptions): Promise<WrittenDocument> {
  const routes = operations.flatMap((operation) => options.routeOf(operation) ?? []);
  const body = new TextEncoder().encode(JSON.stringify(createDocument(routes, options)));
  const digest = await crypto.subtle.digest("SHA-256", body);
  return { body, etag: `"${toBase64(new Uint8Array(digest))}"` };
}

/** Returns whether a client already has the document, by its `If-None-Match` header. */
function isKnown(ifNoneMatch: string | null, etag: string): boolean {
  if (ifNoneMatch === null) return false;
  return ifNoneMatch.split(",").some((item) => item.trim() === "*" || item.trim().replace(/^W\//, "") === etag);
}

/** Name of the schema of problem details. Names of other schemas contain a dot. */
const problemName = "Problem";
const problemType = "application/problem+json";

/** Creates the OpenAPI 3.1 document of some operations. An operation whose schemas are not JSON is left out and logged. */
export function createDocument(routes: Iterable<Route>, options: DocumentOptions): JSONObject {
  const components = new Components();
  components.schemas[problemName] = problemSchema;
  const paths: Record<string, JSONObject> = {};
  // Paths that differ only in the names of their parameters are the same path.
  const pathsByShape = new Map<string, string>();
  for (const route of routes) {
    try {
      const shape = route.path.replaceAll(/\{[^{}]*\}/g, "{}");
      const path = pathsByShape.get(shape) ?? route.path;
      const described = new OperationDescriber(route, path, components).describe();
      pathsByShape.set(shape, path);
      paths[path] = { ...paths[path], [route.method.toLowerCase()]: described };
    } catch (error) {
      log.warn("{id} is missing in the OpenAPI document: {error}", { id: route.operation.id, error });
    }
  }
  const { title = "Operations", version = "1.0.0", description } = options.info ?? {};
  const { securitySchemes = {} } = options.security ?? {};
  return {
    openapi: "3.1.0",
    info: { title, version, ...(description !== undefined && { description }) },
    // Relative to the URL of the document, so that it is correct behind every proxy.
    servers: [{ url: "." }],
    security: Object.keys(securitySchemes).map((name) => ({ [name]: [] })),
    paths,
    components: {
      schemas: components.schemas,
      responses: {
        [problemName]: problemResponse("The call failed.", { $ref: `#/components/schemas/${problemName}` }),
      },
      ...(Object.keys(securitySchemes).length > 0 && { securitySchemes }),
    },
  };
}

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

/** The spec of an operation as the document contains it, with references to schemas. Importers restore the spec from it. */
type DocumentedSpec = Omit<
  OperationSpec,
  "accessControl" | "_meta" | "inputSchema" | "outputSchema" | "errorSchemas"
> & {
  inputSchema: ComponentReference;
  outputSchema: ComponentReference;
  errorSchemas?: Array<Omit<ErrorDefinition, "schema"> & { schema: ComponentReference }>;
};

class OperationDescriber {
  readonly #route: Route;
  /** Names of the parameters in the path. */
  readonly #pathNames: readonly string[];
  readonly #components: Components;
  readonly #input: InputMapping;
  readonly #published: OperationSpec;
  readonly #spec: DocumentedSpec;

  /** @param path - the path in the document, in which parameters may have other names than in the route */
  constructor(route: Route, path: string, components: Components) {
    this.#route = route;
    this.#pathNames = Array.from(path.matchAll(/\{([^{}]*)\}/g), ([, name]) => name!);
    this.#components = components;
    this.#input = route.input ?? { parameters: [], body: "whole" };
    this.#published = route.operation.published;
    this.#spec = this.#toDocumentedSpec();
  }

  describe(): JSONObject {
    const { namespace, name, title, description, tags } = this.#spec;
    const id = formatOperationId(namespace, name);
    const inPath = this.#input.parameters.filter((parameter) => parameter.in === "path");
    const inQuery = this.#input.parameters.filter((parameter) => parameter.in === "query");
    const parameters = [
      ...inPath.map((parameter, index) => this.#toParameter({ ...parameter, name: this.#pathNames[index]! })),
      ...inQuery.map((parameter) => this.#toParameter(parameter)),
    ];
    const body = this.#bodySchema();
    return {
      operationId: this.#components.takeOperationId(id),
      summary: title ?? (firstLine(description) || id),
      ...(description !== "" && { description }),
      tags: tags === undefined || tags.length === 0 ? [namespace] : tags,
      ...(parameters.length > 0 && { parameters }),
      ...(body !== undefined && {
        requestBody: { required: this.#isBodyRequired(), content: { "application/json": { schema: body } } },
      }),
      responses: {
        ...this.#successes(),
        ...this.#declaredErrors(),
        default: { $ref: `#/components/responses/${problemName}` },
      },
      "x-alkdev-operation": this.#spec,
    };
  }

  #toDocumentedSpec(): DocumentedSpec {
    const { accessControl: _, _meta, inputSchema, outputSchema, errorSchemas, ...rest } = this.#published;
    const id = formatOperationId(rest.namespace, rest.name);
    return {
      ...rest,
      inputSchema: this.#components.add(inputSchema, `${id}.input`),
      outputSchema: this.#components.add(outputSchema, `${id}.output`),
      ...(errorSchemas !== undefined && {
        errorSchemas: errorSchemas.map(({ schema, ...error }) => ({
          ...error,
          schema: this.#components.add(schema, `${id}.${error.code}`),
        })),
      }),
    };
  }

  #toParameter({ name, property, in: location, schema, type }: InputParameter): JSONObject {
    const reference = { $ref: this.#pointerTo(property) };
    const description = getOwn(schema, "description");
    return {
      name,
      in: location,
      required: location === "path" || this.#isRequired(property),
      ...(typeof description === "string" && { description }),
      ...(type === undefined ? { content: { "application/json": { schema: reference } } } : { schema: reference }),
    };
  }

  /** Returns the reference to the schema of a property. `listProperties` only knows properties of the input itself. */
  #pointerTo(property: string): string {
    return `${this.#spec.inputSchema.$ref}/properties/${encodeURIComponent(escapeToken(property))}`;
  }

  #bodySchema(): JSONObject | undefined {
    const { body, parameters } = this.#input;
    if (body === "none") return undefined;
    if (body === "whole") return { ...this.#spec.inputSchema };
    if (body !== "rest") return { $ref: this.#pointerTo(body.property) };
    const { properties } = this.#published.inputSchema as JSONObject;
    const inURL = new Set(parameters.map(({ property }) => property));
    const names = Object.keys(properties as JSONObject).filter((name) => !inURL.has(name));
    const schema: JSONObject = { type: "object", properties: {} };
    for (const name of names) setOwn(schema["properties"] as JSONObject, name, { $ref: this.#pointerTo(name) });
    const required = names.filter((name) => this.#isRequired(name));
    return required.length > 0 ? { ...schema, required } : schema;
  }

  #isBodyRequired(): boolean {
    const { body, parameters } = this.#input;
    if (body === "none" || body === "whole") return true;
    if (body !== "rest") return this.#isRequired(body.property);
    const { required } = this.#published.inputSchema as JSONObject;
    return Array.isArray(required) && required.some((name) => !parameters.some(({ property }) => property === name));
  }

  /** Whether callers must pass a property. Those with a default are required only after it is filled. */
  #isRequired(property: string): boolean {
    const { required } = this.#published.inputSchema as JSONObject;
    return Array.isArray(required) && required.includes(property);
  }

  #successes(): JSONObject {
    const { type, outputSchema } = this.#spec;
    if (type === OperationType.SUBSCRIPTION) {
      // Each event has JSON as its data, which is how JSON Schema describes it.
      const items = { type: "string", contentMediaType: "application/json", contentSchema: outputSchema };
      const schema = { type: "array", items };
      return { 200: { description: "The values, one per event.", content: { "text/event-stream": { schema } } } };
    }
    const content: JSONObject = { "application/json": { schema: outputSchema } };
    if (!assertsNothing(this.#published.outputSchema as JSONObject))
      return { 200: { description: "The result.", content } };
    content["application/octet-stream"] = {};
    return { 200: { description: "The result.", content }, 204: { description: "There is no result." } };
  }

  #declaredErrors(): JSONObject {
    const byStatus = new Map<number, JSONObject[]>();
    const descriptions = new Map<number, string[]>();
    for (const { code, description, schema } of this.#spec.errorSchemas ?? []) {
      const status = statusOf({ code, details: undefined }, this.#route.operation.spec, true);
      const properties = { code: { const: code }, details: schema };
      byStatus.set(status, [...(byStatus.get(status) ?? []), { type: "object", properties, required: ["code"] }]);
      descriptions.set(status, [...(descriptions.get(status) ?? []), description ?? code]);
    }
    return Object.fromEntries(
      Array.from(byStatus, ([status, alternatives]) => {
        const [only] = alternatives;
        const schema = {
          allOf: [
            { $ref: `#/components/schemas/${problemName}` },
            alternatives.length === 1 ? only : { anyOf: alternatives },
          ],
        };
        return [status, problemResponse(descriptions.get(status)!.join(" "), schema)];
      }),
    );
  }
}

function problemResponse(description: string, schema: JSONObject): JSONObject {
  return { description, content: { [problemType]: { schema } } };
}

/** Returns the first line of a description, at most 100 characters. */
function firstLine(text: string): string {
  return truncate(text.trim().split(/\r?\n/, 1)[0]!, 100);
}
