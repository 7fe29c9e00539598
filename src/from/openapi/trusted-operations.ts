import type { TSchema } from "typebox";
import { getOwn, isObject, type JSONObject } from "../../internal/objects.ts";
import { quote } from "../../internal/text.ts";
import {
  assertValidSpec,
  type ErrorDefinition,
  formatOperationId,
  isCallError,
  type OperationContext,
  type OperationSpec,
  OperationType,
  toPublicSpec,
} from "../../operation/inside.ts";
import { componentPrefix, FromSchema, restoreComponent, sourceKeyword } from "../../schema/index.ts";
import { envelopeType, eventStreamType, formatOperationPath } from "../../transport/http-form.ts";
import { isNestedDeeper } from "../../transport/json-depth.ts";
import type { ReportBuilder } from "../report.ts";
import type { HTTPServiceConfig } from "./config.ts";
import type { OpenAPIDocument } from "./document.ts";
import type { EndpointPlan, MethodEntry } from "./endpoint.ts";
import { badConfig, documentLimitExceeded } from "./errors.ts";
import { createFilter } from "./filter.ts";
import { createEndpointHandler } from "./handler.ts";
import { findMethodEntries } from "./method-entries.ts";
import { renamed } from "./names.ts";
import { type ImportContext, type ImportedOperation, lazySchema, once } from "./operation.ts";
import { readSecurity, readSecuritySchemes } from "./security.ts";
import { resolveBaseUrl } from "./servers.ts";
import { ownObject } from "./values.ts";

/** How the operations of a trusted server are imported. */
export interface TrustedImport {
  /** Namespace of all operations. @default the one that each operation has */
  namespace?: string | undefined;
}

/** The extension that contains the spec of an operation, without its access rule and `_meta`. */
const extension = "x-alkdev-operation";

/**
 * Restores the operations of a server of this package from its document. Only their specs come from the document: requests
 * go to the origin of the document or to `baseUrl`, to the path that follows from the name of the operation, and access is
 * decided by the configuration.
 */
export function importTrustedOperations(
  document: OpenAPIDocument,
  config: HTTPServiceConfig,
  { namespace: fixed }: TrustedImport,
  report: ReportBuilder,
): ImportedOperation[] {
  const context = { document, config, securitySchemes: readSecuritySchemes(document, report.warn) };
  const components = ownObject(ownObject(document.root, "components"), "schemas") ?? {};
  const base = resolveBaseUrl([{ url: "." }], config, "#/servers", report.warn); // The document cannot choose it.
  if (base.url === undefined) {
    throw badConfig("With trust, the document must be read from a URL, or baseUrl must be set.");
  }
  const isWanted = createFilter(config);
  const limit = document.limits.operations;
  const operations = new Map<string, ImportedOperation>();

  const add = (entry: MethodEntry) => {
    const { pointer, method, path, operation } = entry;
    const served = readSpec(getOwn(operation.value, extension), config, components);
    const spec = { ...served, namespace: fixed ?? served.namespace, name: renamed(config, served.name, entry) };
    const id = formatOperationId(spec.namespace, spec.name);
    const { namespace, name, tags = [] } = spec;
    if (!isWanted({ namespace, name, operationId: served.name, tags, method, path })) {
      return report.skipped(pointer, "The configuration excludes it.", { requested: true });
    }
    if (operations.has(id)) throw badConfig(`The id ${quote(id)} is already used by another operation.`);
    if (operations.size >= limit) throw documentLimitExceeded("operations", `over ${limit} operations`);
    // The URL follows from the names of the server.
    const url = { baseUrl: base.url, path: formatOperationPath(served.namespace, served.name) };
    if (url.path === undefined) throw badConfig("Its name cannot be part of a URL.");
    const security = readSecurity(document, operation.value, context.securitySchemes, pointer, report.warn);
    operations.set(id, toOperation(context, components, spec, { ...url, path: url.path, security }));
    report.imported(id);
  };

  const { entries, unusable } = findMethodEntries(document);
  for (const { where, reason } of unusable) report.skipped(where, reason);
  for (const entry of entries) {
    try {
      add(entry);
    } catch (error) {
      if (!isCallError(error) || error.code === "LIMIT_EXCEEDED") throw error;
      report.skipped(entry.pointer, error.message);
    }
  }
  return [...operations.values()];
}

/** Reads a spec. Its schemas are references to components, which are restored when they are first read. */
function readSpec(described: unknown, config: HTTPServiceConfig, components: JSONObject): OperationSpec {
  if (!isObject(described)) throw badConfig(`It has no "${extension}". Import it without trust.`);
  const { accessControl, outputPolicy } = config;
  const spec: OperationSpec = {
    ...toPublicSpec(described as unknown as OperationSpec),
    // Not `??`: a rule that is `null` by mistake is refused, and must not let every caller in.
    accessControl: accessControl === undefined ? { requiredScopes: [] } : accessControl,
    ...(outputPolicy !== undefined && { outputPolicy }),
  };
  assertValidSpec(spec);
  const { inputSchema, outputSchema, errorSchemas = [] } = spec;
  for (const schema of [inputSchema, outputSchema, ...errorSchemas.map((error) => error.schema)]) {
    const component = getOwn(components, componentOf(schema));
    if (!isObject(component) && typeof component !== "boolean") {
      throw badConfig("Its schemas are not components of the document.");
    }
  }
  return spec;
}

/** Returns the name of the component to which a schema refers. */
function componentOf(schema: TSchema): string {
  const $ref = getOwn(schema, "$ref");
  return typeof $ref === "string" && $ref.startsWith(componentPrefix) ? $ref.slice(componentPrefix.length) : "";
}

function toOperation(
  { document, config, securitySchemes }: ImportContext,
  components: JSONObject,
  spec: OperationSpec,
  route: Pick<EndpointPlan, "baseUrl" | "path" | "security">,
): ImportedOperation {
  const { inputSchema, outputSchema, errorSchemas, ...fields } = spec;
  const id = formatOperationId(spec.namespace, spec.name);
  const isStream = spec.type === OperationType.SUBSCRIPTION;
  const restore = (schema: TSchema, part: string, fallback: JSONObject) =>
    lazySchema(id, part, () => restoreSchema(components, componentOf(schema), document.limits), fallback);
  const input = restore(inputSchema, "input schema", { not: {} });
  const output = restore(outputSchema, "output schema", {});
  const errors = errorSchemas?.map(({ schema, ...error }): ErrorDefinition => {
    const details = restore(schema, `schema of the error ${error.code}`, {});
    return Object.freeze({
      ...error,
      get schema() {
        return details();
      },
    });
  });
  const http = once(() =>
    createEndpointHandler(
      {
        ...route,
        operationId: id,
        method: "POST",
        parameters: [],
        body: { argument: "body", required: false, media: [{ mediaType: "application/json", encoding: {} }] },
        declaresJSON: true,
        accept: isStream ? [eventStreamType, envelopeType] : [envelopeType],
        ...(isStream && { stream: "sse" }),
        isOperation: true,
        hasJSONEvents: true,
        securitySchemes,
        errorCodes: new Map(),
        idempotent: spec.type !== OperationType.MUTATION || spec.idempotent === true,
        get outputSchema() {
          return output();
        },
      },
      config,
    ),
  );
  return {
    ...fields,
    get inputSchema() {
      return input();
    },
    get outputSchema() {
      return output();
    },
    errorSchemas: errors && (Object.freeze(errors) as ErrorDefinition[]),
    fillDefaults: false,
    handler: (input: unknown, context: OperationContext) => http().handler(input, context),
  };
}

/** Restores a schema. It is checked, but stays as the server has it: the registry treats it like any foreign schema. */
function restoreSchema(components: JSONObject, name: string, limits: OpenAPIDocument["limits"]): TSchema {
  const source = getOwn(components[name], sourceKeyword);
  if (typeof source === "string" && isNestedDeeper(source, limits.jsonDepth)) {
    throw badConfig("The schema is nested too deeply.");
  }
  const schema = restoreComponent(components, name);
  FromSchema(schema, { limits });
  return schema as TSchema;
}
