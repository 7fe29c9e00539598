import {
  type ErrorDefinition,
  type IOperationDefinition,
  type OperationHandler,
  type OperationSpec,
  OperationType,
  type SubscriptionHandler,
} from "../../operation/index.ts";
import type { Argument } from "./arguments.ts";
import type { HTTPServiceConfig } from "./config.ts";
import type { OpenAPIDocument } from "./document.ts";
import type { Entry, MediaEntry } from "./entry.ts";
import { errorCode, errorResponses, toErrorSchema } from "./error-schemas.ts";
import { createEndpointHandler } from "./handler.ts";
import { toInputSchema } from "./input-schema.ts";
import { lazySchema, once } from "./lazy.ts";
import { mediaKind } from "./media-kind.ts";
import { type OutputChoice, toOutputSchema } from "./output-schema.ts";
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
  entry: Entry;
  name: string;
  given: Argument[];
  output: OutputChoice;
  streaming: boolean;
  baseUrl: string;
  security: SecurityAlternative[];
  securitySchemes: ReadonlyMap<string, SecuritySchemePlan>;
  /** Whether what the document says about the output, and about each error, can be used. */
  readable: { output: boolean; errors: ReadonlySet<string> };
}

const reading = new Set(["GET", "HEAD", "QUERY"]);
const idempotent = new Set([...reading, "OPTIONS", "PUT", "DELETE"]);

/** Makes an operation. Its schemas are converted when they are first read. */
export function toOperation(parts: OperationParts): ImportedOperation {
  const { document, config, entry, name, given, output, streaming } = parts;
  const id = `${config.namespace}.${name}`;
  const { limits } = document;
  const input = lazySchema(id, "input schema", () => toInputSchema(document, given, entry.body), limits, { not: {} });
  const hasBody = entry.method !== "HEAD" && parts.readable.output;
  const result = lazySchema(
    id,
    "output schema",
    () => (hasBody ? toOutputSchema(document, output, streaming) : {}),
    limits,
    {},
  );
  const errors = once(() => toErrorDefinitions(parts, id));
  const title = ownText(entry.operation, "summary");
  const tags = ownTexts(entry.operation, "tags");
  const plan = toPlan(parts, result);
  const { handler, nextPage, pagination } = createEndpointHandler(plan, config);
  const meta = once(() => ({ openapi: { ...toMeta(parts), ...(pagination && { pagination }) } }));
  return {
    namespace: config.namespace,
    name,
    version: versionText(document),
    type: streaming
      ? OperationType.SUBSCRIPTION
      : reading.has(entry.method)
        ? OperationType.QUERY
        : OperationType.MUTATION,
    ...(title !== undefined && { title }),
    description: describe(entry),
    ...(tags.length > 0 && { tags }),
    get inputSchema() {
      return input();
    },
    get outputSchema() {
      return result();
    },
    get errorSchemas() {
      return errors();
    },
    accessControl: config.accessControl ?? { requiredScopes: [] },
    idempotent: idempotent.has(entry.method),
    ...(config.outputPolicy !== undefined && { outputPolicy: config.outputPolicy }),
    get _meta() {
      return meta();
    },
    fillDefaults: false,
    handler,
    ...(nextPage !== undefined && { nextPage }),
  };
}

function toPlan(parts: OperationParts, outputSchema: () => OperationSpec["outputSchema"]): EndpointPlan {
  const { config, entry, name, given, output, streaming } = parts;
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

function toErrorDefinitions({ document, entry, readable }: OperationParts, id: string): ErrorDefinition[] {
  return errorResponses(entry.responses).map((response): ErrorDefinition => {
    const { status, description } = response;
    const isReadable = readable.errors.has(status);
    const make = () => toErrorSchema(document, response, isReadable);
    const schema = lazySchema(id, `error schema of ${status}`, make, document.limits, {});
    return {
      code: errorCode(status),
      ...(description !== "" && { description }),
      get schema() {
        return schema();
      },
      ...(!status.endsWith("XX") && { httpStatus: Number(status) }),
    };
  });
}

/** What the document says about the entry beyond the spec. JSON. */
function toMeta({ entry, given, output, streaming, baseUrl }: OperationParts): JSONObject {
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
  };
}

function versionText(document: OpenAPIDocument): string {
  const version = own(ownObject(document.root, "info"), "version");
  return version === undefined || version === null || isObject(version) || version === "" ? "0.0.0" : String(version);
}

function describe({ operation, pathItem, method, path }: Entry): string {
  return (
    ownText(operation, "description") ??
    ownText(operation, "summary") ??
    ownText(pathItem, "description") ??
    ownText(pathItem, "summary") ??
    `${method} ${path}`
  );
}
