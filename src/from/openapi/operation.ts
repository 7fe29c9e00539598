import type { TSchema } from "typebox";
import { logger } from "../../internal/log.ts";
import { getOwn, isObject, type JSONObject } from "../../internal/objects.ts";
import {
  type ErrorDefinition,
  type IOperationDefinition,
  type OperationContext,
  type OperationHandler,
  type OperationSpec,
  OperationType,
  type SubscriptionHandler,
} from "../../operation/index.ts";
import { FromSchema } from "../../schema/index.ts";
import type { HTTPServiceConfig } from "./config.ts";
import type { OpenAPIDocument } from "./document.ts";
import type {
  Endpoint,
  EndpointMedia,
  EndpointParameter,
  EndpointPlan,
  EndpointResponse,
  MethodEntry,
  SecurityAlternative,
  SecuritySchemePlan,
} from "./endpoint.ts";
import { createEndpointHandler, type EndpointHandler } from "./handler.ts";
import { hasStreamSwitch, toInputSchema } from "./input-schema.ts";
import { readEndpoint } from "./method-entries.ts";
import {
  errorCode,
  errorResponses,
  hasJSONEvents,
  successResponses,
  toErrorSchema,
  toOutputSchema,
} from "./output-schema.ts";
import { ownObject, ownString, ownStrings } from "./values.ts";
import { isJSON, mediaKind } from "./wire/media-type.ts";

/** An imported operation: its spec and the handler that sends HTTP requests. */
export type ImportedOperation = OperationSpec &
  Pick<IOperationDefinition, "fillDefaults" | "nextPage"> & {
    /** Sends the HTTP request. */
    handler: OperationHandler | SubscriptionHandler;
  };

/** The objects that all operations of one import share. */
export interface ImportContext {
  document: OpenAPIDocument;
  config: HTTPServiceConfig;
  securitySchemes: ReadonlyMap<string, SecuritySchemePlan>;
}

/** A method that becomes an operation. */
export interface CallableEntry extends MethodEntry {
  /** Name of the operation. */
  name: string;
  /** Whether this is the streaming operation of its endpoint. */
  streaming: boolean;
  baseUrl: string;
  security: SecurityAlternative[];
  /** Declared parts whose schemas cannot be used: `output`, or the status of an error. */
  unreadable: ReadonlySet<string>;
}

const safeMethods = new Set(["GET", "HEAD", "QUERY"]);
const idempotentMethods = new Set([...safeMethods, "OPTIONS", "PUT", "DELETE"]);

/**
 * Creates an operation. Its part of the document is read on first use, because a document may have thousands of
 * operations of which few are called.
 */
export function toOperation(context: ImportContext, entry: CallableEntry): ImportedOperation {
  const { document, config } = context;
  const { method, name, operation, streaming } = entry;
  const id = `${config.namespace}.${name}`;
  const endpoint = once(() => readEndpoint(document, entry, ignore));
  const schemas = toSchemas(document, entry, endpoint, id);
  const http = once(() => createEndpointHandler(toPlan(context, entry, endpoint(), id, schemas.output), config));
  const meta = once(() => Object.freeze({ openapi: toMeta(entry, endpoint(), http().pagination) }));
  const title = ownString(operation.value, "summary");
  const tags = ownStrings(operation.value, "tags");
  const type = safeMethods.has(method) ? OperationType.QUERY : OperationType.MUTATION;
  return {
    namespace: config.namespace,
    name,
    version: versionOf(document),
    type: streaming ? OperationType.SUBSCRIPTION : type,
    ...(title !== undefined && { title }),
    description: describe(entry),
    ...(tags.length > 0 && { tags }),
    get inputSchema() {
      return schemas.input();
    },
    get outputSchema() {
      return schemas.output();
    },
    get errorSchemas() {
      return schemas.errors();
    },
    // Not `??`: a rule that is `null` by mistake is refused, and must not let every caller in.
    accessControl: config.accessControl === undefined ? { requiredScopes: [] } : config.accessControl,
    idempotent: idempotentMethods.has(method),
    ...(config.outputPolicy !== undefined && { outputPolicy: config.outputPolicy }),
    get _meta() {
      return meta();
    },
    fillDefaults: false,
    handler: (input: unknown, context: OperationContext) => http().handler(input, context),
    get nextPage() {
      return http().nextPage;
    },
  };
}

const ignore = () => {};

function toSchemas(document: OpenAPIDocument, entry: CallableEntry, endpoint: () => Endpoint, id: string) {
  const { method, streaming, unreadable } = entry;
  const { limits } = document;
  const toInput = () => FromSchema(toInputSchema(document, endpoint()), { limits });
  const hasOutput = method !== "HEAD" && !unreadable.has("output");
  const readOutput = () => (hasOutput ? toOutputSchema(document, endpoint().output, streaming) : {});
  const toOutput = () => FromSchema(readOutput(), { limits });
  return {
    input: lazySchema(id, "input schema", toInput, { not: {} }),
    output: lazySchema(id, "output schema", toOutput, {}),
    errors: once(() => toErrorDefinitions(document, unreadable, endpoint(), id)),
  };
}

function toPlan(
  { document, securitySchemes }: ImportContext,
  { method, path, baseUrl, security, streaming }: CallableEntry,
  endpoint: Endpoint,
  operationId: string,
  outputSchema: () => TSchema,
): EndpointPlan {
  const { parameters, body, responses, output } = endpoint;
  const hasSwitch = streaming && output.hasSingle && hasStreamSwitch(document, endpoint);
  return {
    operationId,
    method,
    path,
    baseUrl,
    parameters: parameters.map((parameter) => ({
      ...parameter,
      schema: parameter.schema && document.references.tryDeref(parameter.schema)?.value,
    })),
    body: body && {
      argument: "body",
      required: body.required,
      media: body.media.map((media) => ({ ...media, schema: media.schema?.value })),
    },
    declaresJSON: responses.some(({ media }) => media.some(({ mediaType }) => isJSON(mediaType))),
    accept: toAccept(streaming ? output.stream : output.single),
    stream: streaming ? output.streamKind : undefined,
    hasJSONEvents: streaming && hasJSONEvents(document, output),
    bodyDefaults: hasSwitch ? { stream: true } : undefined,
    security,
    securitySchemes,
    errorCodes: new Map(errorResponses(responses).map(({ status }) => [status, errorCode(status)])),
    idempotent: idempotentMethods.has(method),
    get outputSchema() {
      return outputSchema();
    },
  };
}

/** Returns the media types for `Accept`: JSON first, then text, then the others in the document's order. */
function toAccept(media: EndpointMedia[]): string[] {
  const rank = ({ mediaType }: EndpointMedia) => ["json", "any", "text", "xml"].indexOf(mediaKind(mediaType)) >>> 0;
  const sorted = [...media].sort((one, other) => rank(one) - rank(other));
  return [...new Set(sorted.map(({ mediaType }) => mediaType))];
}

function toErrorDefinitions(
  document: OpenAPIDocument,
  unreadable: ReadonlySet<string>,
  { responses }: Endpoint,
  id: string,
): ErrorDefinition[] {
  const definitions = errorResponses(responses).map((response): ErrorDefinition => {
    const { status, description } = response;
    const schema = errorSchemaOf(document, response, !unreadable.has(status), id);
    return Object.freeze({
      code: errorCode(status),
      ...(description !== "" && { description }),
      get schema() {
        return schema();
      },
      ...(!status.endsWith("XX") && { httpStatus: Number(status) }),
    });
  });
  return Object.freeze(definitions) as ErrorDefinition[];
}

function errorSchemaOf(
  document: OpenAPIDocument,
  response: EndpointResponse,
  readable: boolean,
  id: string,
): () => TSchema {
  const { source, status } = response;
  const known = document.errorSchemas.get(source) ?? new Map<string, () => TSchema>();
  document.errorSchemas.set(source, known);
  const make = () => FromSchema(toErrorSchema(document, response, readable), { limits: document.limits });
  const schema = known.get(status) ?? lazySchema(id, `error schema of ${status}`, make, {});
  known.set(status, schema);
  return schema;
}

/** Returns the declarations of the endpoint that are not part of the spec, as JSON. */
function toMeta(
  { streaming, baseUrl }: CallableEntry,
  { method, path, pointer, operation: { value: operation }, parameters, body, responses, output }: Endpoint,
  pagination: EndpointHandler["pagination"],
): JSONObject {
  const externalDocs = ownObject(operation, "externalDocs");
  const operationId = ownString(operation, "operationId");
  return {
    method,
    path,
    pointer,
    ...(operationId !== undefined && { operationId }),
    arguments: parameters.map((parameter) => {
      const { argument, name, location, contentType } = parameter;
      const style = contentType ?? unusualStyle(parameter);
      return { argument, name, in: location, ...(style !== undefined && { style }) };
    }),
    ...(body && { body: body.media.map(({ mediaType }) => mediaType) }),
    ...(streaming && { stream: output.streamKind }),
    ...(successResponses(responses).some(({ media }) => media.length === 0) && { mayBeEmpty: true }),
    ...(getOwn(operation, "deprecated") === true && { deprecated: true }),
    ...(externalDocs && { externalDocs }),
    server: baseUrl,
    ...(pagination && { pagination }),
  };
}

/** Returns how the values of a parameter are written, if it is not the default of its location. */
function unusualStyle({ location, style, explode, schema }: EndpointParameter): string | undefined {
  const isSingle = ["string", "number", "integer", "boolean"].includes(getOwn(schema?.value, "type") as string);
  if (location === "query")
    return style === "form" && (explode || isSingle) ? undefined : `${style}, explode: ${explode}`;
  return location === "path" && style !== "simple" ? style : undefined;
}

function versionOf(document: OpenAPIDocument): string {
  const version = getOwn(ownObject(document.root, "info"), "version");
  return version === undefined || version === null || isObject(version) || version === "" ? "0.0.0" : String(version);
}

function describe({ operation, pathItem, method, path }: MethodEntry): string {
  return (
    ownString(operation.value, "description") ??
    ownString(operation.value, "summary") ??
    ownString(pathItem.value, "description") ??
    ownString(pathItem.value, "summary") ??
    `${method} ${path}`
  );
}

const log = logger("from", "openapi");

/** Returns a function that creates a value on the first call and keeps it. */
export function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/**
 * Creates a schema that is read on first use. If that fails, which the import checks beforehand, it uses `fallback` and
 * logs the reason. One operation must not make a listing fail.
 */
export function lazySchema(id: string, part: string, make: () => TSchema, fallback: unknown): () => TSchema {
  return once(() => {
    try {
      return make();
    } catch (error) {
      log.warn("The {part} of {id} cannot be used: {error}", { id, part, error });
      return FromSchema(fallback);
    }
  });
}
