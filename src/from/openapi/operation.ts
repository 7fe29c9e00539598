import type { TSchema } from "typebox";
import {
  type ErrorDefinition,
  type IOperationDefinition,
  type OperationContext,
  type OperationHandler,
  type OperationSpec,
  OperationType,
  type SubscriptionHandler,
} from "../../operation/index.ts";
import type { HTTPServiceConfig } from "./config.ts";
import type { OpenAPIDocument } from "./document.ts";
import type { Entry, MediaEntry, ResponseEntry } from "./entry.ts";
import { type EntryDetails, readDetails } from "./entry-details.ts";
import { errorCode, errorResponses, toErrorSchema } from "./error-schemas.ts";
import { createEndpointHandler, type EndpointHandler } from "./handler.ts";
import { toInputSchema } from "./input-schema.ts";
import { lazySchema, once } from "./lazy.ts";
import { mediaKind } from "./media-kind.ts";
import type { MethodEntry } from "./method-entries.ts";
import { toOutputSchema } from "./output-schema.ts";
import type { EndpointPlan, SecurityAlternative, SecuritySchemePlan } from "./plan.ts";
import { hasStreamSwitch } from "./stream-switch.ts";
import { isObject, type JSONObject, own, ownObject, ownText, ownTexts } from "./values.ts";

/** An imported operation: its spec and the handler that talks HTTP. */
export type ImportedOperation = OperationSpec &
  Pick<IOperationDefinition, "fillDefaults" | "nextPage"> & { handler: OperationHandler | SubscriptionHandler };

/** Everything that an operation is made of, once its entry was found usable. */
export interface OperationParts {
  document: OpenAPIDocument;
  config: HTTPServiceConfig;
  found: MethodEntry;
  name: string;
  streaming: boolean;
  baseUrl: string;
  security: SecurityAlternative[];
  securitySchemes: ReadonlyMap<string, SecuritySchemePlan>;
  /** What the document says in a way that cannot be used: `output`, or the status of an error. */
  unreadable: ReadonlySet<string>;
}

const reading = new Set(["GET", "HEAD", "QUERY"]);
const idempotent = new Set([...reading, "OPTIONS", "PUT", "DELETE"]);

/**
 * Makes an operation. What it needs of the document is read when it is first asked for: thousands are imported, and few
 * are called.
 */
export function toOperation(parts: OperationParts): ImportedOperation {
  const { document, config, found, name, streaming } = parts;
  const { method, operation } = found;
  const details = once(() => readDetails(document, found, ignore));
  const schemas = toSchemas(parts, details);
  const endpoint = once(() => createEndpointHandler(toPlan(parts, details(), schemas.output), config));
  const meta = once(() => Object.freeze({ openapi: toMeta(parts, details(), endpoint().pagination) }));
  const title = ownText(operation.value, "summary");
  const tags = ownTexts(operation.value, "tags");
  const type = reading.has(method) ? OperationType.QUERY : OperationType.MUTATION;
  return {
    namespace: config.namespace,
    name,
    version: versionText(document),
    type: streaming ? OperationType.SUBSCRIPTION : type,
    ...(title !== undefined && { title }),
    description: describe(found),
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
    accessControl: config.accessControl ?? { requiredScopes: [] },
    idempotent: idempotent.has(method),
    ...(config.outputPolicy !== undefined && { outputPolicy: config.outputPolicy }),
    get _meta() {
      return meta();
    },
    fillDefaults: false,
    handler: (input: unknown, context: OperationContext) => endpoint().handler(input, context),
    get nextPage() {
      return endpoint().nextPage;
    },
  };
}

const ignore = () => {};

function toSchemas(parts: OperationParts, details: () => EntryDetails) {
  const { document, config, found, name, streaming, unreadable } = parts;
  const { limits } = document;
  const id = `${config.namespace}.${name}`;
  const toInput = () => toInputSchema(document, details().given, details().entry.body);
  const hasOutput = found.method !== "HEAD" && !unreadable.has("output");
  const toOutput = () => (hasOutput ? toOutputSchema(document, details().output, streaming) : {});
  return {
    input: lazySchema(id, "input schema", toInput, limits, { not: {} }),
    output: lazySchema(id, "output schema", toOutput, limits, {}),
    errors: once(() => toErrorDefinitions(parts, details().entry, id)),
  };
}

function toPlan(parts: OperationParts, details: EntryDetails, outputSchema: () => TSchema): EndpointPlan {
  const { config, name, streaming } = parts;
  const { entry, given, output } = details;
  return {
    operationId: `${config.namespace}.${name}`,
    method: entry.method,
    path: entry.path,
    baseUrl: parts.baseUrl,
    parameters: given.map(({ parameter, argument }) => ({
      name: parameter.name,
      argument,
      location: parameter.location,
      required: parameter.required,
      style: parameter.style,
      explode: parameter.explode,
      allowReserved: parameter.allowReserved,
      allowEmptyValue: parameter.allowEmptyValue,
      contentType: parameter.contentType,
      schema: parameter.schema && parts.document.references.tryDeref(parameter.schema)?.value,
    })),
    body: entry.body && {
      argument: "body",
      required: entry.body.required,
      media: entry.body.media.map(({ mediaType, encoding, schema }) => ({
        mediaType,
        encoding,
        schema: schema?.value,
      })),
    },
    responses: entry.responses.map(({ status, description, media }) => ({
      status,
      description,
      mediaTypes: media.map(({ mediaType }) => mediaType),
    })),
    accept: toAccept(streaming ? output.stream : output.single),
    stream: streaming ? output.streamKind : undefined,
    bodyDefaults:
      streaming && output.hasSingle && hasStreamSwitch(parts.document, entry) ? { stream: true } : undefined,
    security: parts.security,
    securitySchemes: parts.securitySchemes,
    errorCodes: new Map(errorResponses(entry.responses).map(({ status }) => [status, errorCode(status)])),
    idempotent: idempotent.has(entry.method),
    get outputSchema() {
      return outputSchema();
    },
  };
}

/** JSON first, then what is readable as text; otherwise in the document's order. */
function toAccept(media: MediaEntry[]): string[] {
  const rank = ({ mediaType }: MediaEntry) => ["json", "any", "text", "xml"].indexOf(mediaKind(mediaType)) >>> 0;
  const sorted = [...media].sort((one, other) => rank(one) - rank(other));
  return [...new Set(sorted.map(({ mediaType }) => mediaType))];
}

function toErrorDefinitions({ document, unreadable }: OperationParts, entry: Entry, id: string): ErrorDefinition[] {
  const definitions = errorResponses(entry.responses).map((response): ErrorDefinition => {
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
  response: ResponseEntry,
  readable: boolean,
  id: string,
): () => TSchema {
  const { source, status } = response;
  const known = document.errorSchemas.get(source) ?? new Map<string, () => TSchema>();
  document.errorSchemas.set(source, known);
  const make = () => toErrorSchema(document, response, readable);
  const schema = known.get(status) ?? lazySchema(id, `error schema of ${status}`, make, document.limits, {});
  known.set(status, schema);
  return schema;
}

/** What the document says about the entry beyond the spec. JSON. */
function toMeta(
  { streaming, baseUrl }: OperationParts,
  { entry, given, output }: EntryDetails,
  pagination: EndpointHandler["pagination"],
): JSONObject {
  const { operation } = entry;
  const externalDocs = ownObject(operation, "externalDocs");
  const operationId = ownText(operation, "operationId");
  return {
    method: entry.method,
    path: entry.path,
    pointer: entry.pointer,
    ...(operationId !== undefined && { operationId }),
    arguments: given.map(({ parameter, argument }) => ({ argument, name: parameter.name, in: parameter.location })),
    ...(entry.body && { body: entry.body.media.map(({ mediaType }) => mediaType) }),
    ...(streaming && { stream: output.streamKind }),
    ...(own(operation, "deprecated") === true && { deprecated: true }),
    ...(externalDocs && { externalDocs }),
    server: baseUrl,
    ...(pagination && { pagination }),
  };
}

function versionText(document: OpenAPIDocument): string {
  const version = own(ownObject(document.root, "info"), "version");
  return version === undefined || version === null || isObject(version) || version === "" ? "0.0.0" : String(version);
}

function describe({ operation, pathItem, method, path }: MethodEntry): string {
  return (
    ownText(operation.value, "description") ??
    ownText(operation.value, "summary") ??
    ownText(pathItem.value, "description") ??
    ownText(pathItem.value, "summary") ??
    `${method} ${path}`
  );
}
