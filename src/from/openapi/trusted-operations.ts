import type { TSchema } from "typebox";
import { isNestedDeeper } from "../../internal/body.ts";
import { logger } from "../../internal/log.ts";
import { getOwn, isObject, type JSONObject } from "../../internal/objects.ts";
import { quote } from "../../internal/text.ts";
import {
  assertValidSpec,
  type ErrorDefinition,
  formatOperationId,
  formatOperationPath,
  isCallError,
  type OperationContext,
  type OperationSpec,
  OperationType,
  toPublicSpec,
} from "../../operation/index.ts";
import { componentPrefix, FromSchema, restoreComponent, sourceKeyword } from "../../schema/index.ts";
import type { ReportBuilder } from "../report.ts";
import type { HTTPServiceConfig } from "./config.ts";
import type { OpenAPIDocument } from "./document.ts";
import type { EndpointPlan, MethodEntry } from "./endpoint.ts";
import { badConfig, documentLimitExceeded } from "./errors.ts";
import { createFilter } from "./filter.ts";
import { createEndpointHandler } from "./handler.ts";
import { findMethodEntries } from "./method-entries.ts";
import { type ImportedOperation, once } from "./operation.ts";
import { readSecurity, readSecuritySchemes } from "./security.ts";
import { resolveBaseUrl } from "./servers.ts";
import { ownObject } from "./values.ts";
import { envelopeType } from "./wire/operation-response.ts";

/** How the operations of a trusted server are imported. */
export interface TrustedImport {
  /** Namespace of all operations. @default the one that each operation has */
  namespace?: string | undefined;
}

const log = logger("from", "openapi");

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
  { namespace }: TrustedImport,
  report: ReportBuilder,
): ImportedOperation[] {
  const importer = new TrustedImporter(document, config, namespace, report);
  const { entries, unusable } = findMethodEntries(document);
  for (const { where, reason } of unusable) report.skipped(where, reason);
  for (const entry of entries) importer.add(entry);
  return [...importer.operations.values()];
}

class TrustedImporter {
  /** By id. */
  readonly operations = new Map<string, ImportedOperation>();
  readonly #document: OpenAPIDocument;
  readonly #config: HTTPServiceConfig;
  readonly #namespace: string | undefined;
  readonly #report: ReportBuilder;
  readonly #baseUrl: string;
  readonly #isWanted: ReturnType<typeof createFilter>;
  readonly #securitySchemes: EndpointPlan["securitySchemes"];
  readonly #schemas: JSONObject;

  constructor(
    document: OpenAPIDocument,
    config: HTTPServiceConfig,
    namespace: string | undefined,
    report: ReportBuilder,
  ) {
    this.#document = document;
    this.#config = config;
    this.#namespace = namespace;
    this.#report = report;
    this.#baseUrl = findBaseUrl(config, report);
    this.#isWanted = createFilter(config);
    this.#securitySchemes = readSecuritySchemes(document, report.warn);
    this.#schemas = ownObject(ownObject(document.root, "components"), "schemas") ?? {};
  }

  add(entry: MethodEntry): void {
    const { pointer, operation } = entry;
    const described = getOwn(operation.value, extension);
    if (!isObject(described)) {
      this.#report.skipped(pointer, `it has no "${extension}"; import it without trust`);
      return;
    }
    try {
      this.#add(entry, this.#readSpec(described));
    } catch (error) {
      if (!isCallError(error) || error.code === "LIMIT_EXCEEDED") throw error;
      this.#report.skipped(pointer, error.message.replace(/\.$/, ""));
    }
  }

  #add(entry: MethodEntry, served: OperationSpec): void {
    const { pointer, method, path } = entry;
    const { rename } = this.#config;
    const renamed = typeof rename === "function" ? rename(served.name, { method, path }) : getOwn(rename, served.name);
    const name = typeof renamed === "string" && renamed !== "" ? renamed : served.name;
    const namespace = this.#namespace ?? served.namespace;
    const id = formatOperationId(namespace, name);
    const subject = { namespace, name, operationId: served.name, tags: served.tags ?? [], method, path };
    if (!this.#isWanted(subject)) {
      this.#report.skipped(pointer, "excluded by include or exclude", { requested: true });
      return;
    }
    if (this.operations.has(id)) throw badConfig(`the id ${quote(id)} is already used by another operation`);
    const limit = this.#document.limits.operations;
    if (this.operations.size >= limit) throw documentLimitExceeded("operations", `over ${limit} operations`);
    this.operations.set(id, this.#toOperation(entry, served, { ...served, namespace, name }, id));
    this.#report.imported(id);
  }

  /** Reads a spec. Its schemas are references, which are resolved when they are first read. */
  #readSpec(described: JSONObject): OperationSpec {
    const { accessControl, outputPolicy } = this.#config;
    const spec: OperationSpec = {
      ...toPublicSpec(described as unknown as OperationSpec),
      // Not `??`: a rule that is `null` by mistake is refused, and must not let every caller in.
      accessControl: accessControl === undefined ? { requiredScopes: [] } : accessControl,
      ...(outputPolicy !== undefined && { outputPolicy }),
    };
    assertValidSpec(spec);
    const { inputSchema, outputSchema, errorSchemas = [] } = spec;
    for (const schema of [inputSchema, outputSchema, ...errorSchemas.map((error) => error.schema)]) {
      if (this.#componentOf(schema) === undefined) throw badConfig("its schemas are not components of the document");
    }
    return spec;
  }

  /** @param served - the spec of the server, from which the URL follows */
  #toOperation(
    { operation, pointer }: MethodEntry,
    served: OperationSpec,
    spec: OperationSpec,
    id: string,
  ): ImportedOperation {
    const path = formatOperationPath(served.namespace, served.name);
    if (path === undefined) throw badConfig("a URL cannot contain its name");
    const isStream = spec.type === OperationType.SUBSCRIPTION;
    const security = readSecurity(this.#document, operation.value, this.#securitySchemes, pointer, this.#report.warn);
    const inputSchema = this.#lazySchema(spec.inputSchema, id, "input schema", { not: {} });
    const outputSchema = this.#lazySchema(spec.outputSchema, id, "output schema", {});
    const errorSchemas = once(() => this.#toErrors(spec.errorSchemas ?? [], id));
    const http = once(() =>
      createEndpointHandler(
        {
          operationId: id,
          method: "POST",
          path,
          baseUrl: this.#baseUrl,
          parameters: [],
          body: { argument: "body", required: false, media: [{ mediaType: "application/json", encoding: {} }] },
          declaresJSON: true,
          accept: isStream ? ["text/event-stream", envelopeType] : [envelopeType],
          ...(isStream && { stream: "sse" }),
          isOperation: true,
          hasJSONEvents: true,
          security,
          securitySchemes: this.#securitySchemes,
          errorCodes: new Map(),
          idempotent: spec.type !== OperationType.MUTATION || spec.idempotent === true,
          get outputSchema() {
            return outputSchema();
          },
        },
        this.#config,
      ),
    );
    const { inputSchema: _input, outputSchema: _output, errorSchemas: declared, ...fields } = spec;
    const imported: ImportedOperation = {
      ...fields,
      get inputSchema() {
        return inputSchema();
      },
      get outputSchema() {
        return outputSchema();
      },
      fillDefaults: false,
      handler: (input: unknown, context: OperationContext) => http().handler(input, context),
    };
    if (declared === undefined) return imported;
    return Object.defineProperty(imported, "errorSchemas", { get: errorSchemas, enumerable: true });
  }

  #toErrors(errors: readonly ErrorDefinition[], id: string): ErrorDefinition[] {
    const restored = errors.map(({ schema, ...error }) => {
      const restore = this.#lazySchema(schema, id, `schema of the error ${error.code}`, {});
      return Object.freeze(Object.defineProperty({ ...error, schema }, "schema", { get: restore, enumerable: true }));
    });
    return Object.freeze(restored) as ErrorDefinition[];
  }

  /** Returns the name of the component that a reference names, if it exists. */
  #componentOf(reference: unknown): string | undefined {
    const $ref = getOwn(reference, "$ref");
    const name =
      typeof $ref === "string" && $ref.startsWith(componentPrefix) ? $ref.slice(componentPrefix.length) : undefined;
    return name !== undefined && isObject(getOwn(this.#schemas, name)) ? name : undefined;
  }

  /**
   * Restores a schema when it is first read. It is checked then, but stays as the server has it: the registry treats it
   * like any foreign schema. A schema that cannot be used is replaced by `fallback` and logged.
   */
  #lazySchema(reference: unknown, id: string, part: string, fallback: JSONObject): () => TSchema {
    const { limits } = this.#document;
    return once(() => {
      try {
        const schema = this.#restore(reference);
        FromSchema(schema, { limits });
        return schema as TSchema;
      } catch (error) {
        log.warn("The {part} of {id} cannot be used: {error}", { id, part, error });
        return fallback as TSchema;
      }
    });
  }

  #restore(reference: unknown): unknown {
    const name = this.#componentOf(reference)!;
    const source = getOwn(this.#schemas[name], sourceKeyword);
    const isTooDeep = typeof source === "string" && isNestedDeeper(source, this.#document.limits.jsonDepth);
    if (isTooDeep) throw badConfig("The schema is nested too deeply.");
    return restoreComponent(this.#schemas, name);
  }
}

/** Returns the URL below which the operations are. The document cannot choose it. */
function findBaseUrl(config: HTTPServiceConfig, report: ReportBuilder): string {
  const base = resolveBaseUrl([{ url: "." }], config, "#/servers", report.warn);
  if (base.url !== undefined) return base.url;
  throw badConfig("With trust, the document must be read from a URL, or baseUrl must be set.");
}
