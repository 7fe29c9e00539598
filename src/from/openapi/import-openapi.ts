import { extendPointer } from "../../internal/json-pointer.ts";
import { logger } from "../../internal/log.ts";
import { assertObject } from "../../internal/objects.ts";
import { quote } from "../../internal/text.ts";
import { ReportBuilder } from "../report.ts";
import type { SourceReport } from "../source.ts";
import type { HTTPServiceConfig } from "./config.ts";
import { type OpenAPIDocument, openDocument } from "./document.ts";
import type { Endpoint, MethodEntry } from "./endpoint.ts";
import { assertNamespace, badConfig, documentLimitExceeded } from "./errors.ts";
import { createFilter, type FilterSubject, warnOfUnused } from "./filter.ts";
import { inputSchemasOf } from "./input-schema.ts";
import { findMethodEntries, readEndpoint } from "./method-entries.ts";
import { fitName, NameAllocator, pathName, renamed } from "./names.ts";
import { type CallableEntry, type ImportContext, type ImportedOperation, toOperation } from "./operation.ts";
import { errorResponses, errorSchemasOf, outputSchemasOf } from "./output-schema.ts";
import { type Located, ReferenceProblem } from "./references.ts";
import { SchemaInspector } from "./schema-inspector.ts";
import { readSecurity, readSecuritySchemes } from "./security.ts";
import { type BaseUrl, resolveBaseUrl } from "./servers.ts";
import { assertSettings } from "./service-state.ts";
import { importTrustedOperations, type TrustedImport } from "./trusted-operations.ts";
import { ownObject, ownString, ownStrings } from "./values.ts";

/** The result of an import. */
export interface OpenAPIImport {
  operations: ImportedOperation[];
  report: SourceReport;
}

/** Options of an import. */
export interface ImportOptions {
  /** The documents that external references point to. */
  externals?: ReadonlyMap<string, unknown>;
  /** Receives the report instead of the log. @default `onReport` of the configuration */
  onReport?: HTTPServiceConfig["onReport"];
  /** Restores the operations of a server of this package instead of describing its HTTP API. */
  trusted?: TrustedImport | undefined;
  /** The report of an earlier import. Its items are not logged again. */
  previous?: SourceReport | undefined;
}

/**
 * Creates an operation for every method in an OpenAPI document (Swagger 2.0, OpenAPI 3.0 to 3.2) and reports the
 * skipped ones. Nothing is fetched and no schema is converted. The document is kept and must not be changed afterwards.
 * @throws CallError if the whole document cannot be used
 */
export function importDocument(
  spec: unknown,
  config: HTTPServiceConfig,
  { externals = new Map(), onReport = config?.onReport, previous, trusted }: ImportOptions = {},
): OpenAPIImport {
  assertObject("FromOpenAPI", config, 'FromOpenAPI(document, { namespace: "shop" })');
  assertNamespace(config.namespace);
  assertSettings(config);
  const document = openDocument(spec, { limits: config.limits, documentUrl: config.documentUrl, externals });
  const report = new ReportBuilder();
  const operations =
    trusted === undefined
      ? new Importer(document, config, report).run()
      : importTrustedOperations(document, config, trusted, report);
  const result = { operations, report: report.report };
  report.deliver({ source: config.namespace, onReport, log: logger("from", "openapi"), previous });
  return result;
}

interface NamedEntry extends MethodEntry {
  name: string;
}

const nothing: ReadonlySet<string> = new Set();

class Importer {
  readonly report: ReportBuilder;
  readonly #document: OpenAPIDocument;
  readonly #config: HTTPServiceConfig;
  readonly #names = new NameAllocator();
  readonly #inspector: SchemaInspector;
  readonly #securitySchemes: ImportContext["securitySchemes"];
  readonly #baseUrls = new Map<unknown, BaseUrl>();
  #withoutServer = 0;

  constructor(document: OpenAPIDocument, config: HTTPServiceConfig, report: ReportBuilder) {
    this.report = report;
    this.#document = document;
    this.#config = config;
    this.#inspector = new SchemaInspector(document.references, document.limits);
    this.#securitySchemes = readSecuritySchemes(document, this.report.warn);
  }

  run(): ImportedOperation[] {
    const { entries, unusable } = findMethodEntries(this.#document);
    for (const { where, reason } of unusable) this.report.skipped(where, reason);
    this.#reportIncoming(entries);
    const taken = this.#filter(this.#name(entries));
    const operations = taken.flatMap((entry) => this.#import(entry));
    if (operations.length === 0 && this.#withoutServer > 0) {
      throw badConfig(`No operation of the document can be called. ${this.report.report.skipped.at(-1)!.reason}`);
    }
    for (const { namespace, name } of operations) this.report.imported(`${namespace}.${name}`);
    return operations;
  }

  /** Names all entries before some are excluded, so that a filter does not change names. */
  #name(entries: MethodEntry[]): NamedEntry[] {
    return entries.map((entry) => {
      const { method, path, pointer } = entry;
      const declared = ownString(entry.operation.value, "operationId");
      const fallback = pathName(method, path);
      const wanted = renamed(this.#config, declared ?? fallback, entry);
      const owner = this.#names.ownerOf(fitName(wanted));
      const name = this.#names.take(pointer, wanted, `${wanted}_${fallback}`);
      if (owner !== undefined) {
        this.report.warn(
          pointer,
          `The name ${quote(wanted)} is already used by ${owner}. The operation is named ${quote(name)}.`,
        );
      } else if (name !== wanted) {
        this.report.warn(pointer, `The name ${quote(wanted)} is invalid. The operation is named ${quote(name)}.`);
      }
      return { ...entry, name };
    });
  }

  #filter(entries: NamedEntry[]): NamedEntry[] {
    const isWanted = createFilter(this.#config);
    const subjects = entries.map((entry) => this.#toSubject(entry));
    warnOfUnused(this.#config, subjects, this.#securitySchemes, this.report.warn);
    const taken = entries.filter(({ pointer }, index) => {
      if (isWanted(subjects[index]!)) return true;
      this.report.skipped(pointer, "The configuration excludes it.", { requested: true });
      return false;
    });
    const limit = this.#document.limits.operations;
    if (taken.length > limit) throw documentLimitExceeded("operations", `${taken.length} operations, over ${limit}`);
    return taken;
  }

  #toSubject({ name, method, path, operation }: NamedEntry): FilterSubject {
    const { namespace } = this.#config;
    const operationId = ownString(operation.value, "operationId");
    return { namespace, name, operationId, tags: ownStrings(operation.value, "tags"), method, path };
  }

  #import(found: NamedEntry): ImportedOperation[] {
    try {
      return this.#toOperations(readEndpoint(this.#document, found, this.report.warn), found);
    } catch (error) {
      if (!(error instanceof ReferenceProblem)) throw error;
      return this.#skip(found, at(error.pointer, error.message));
    }
  }

  #toOperations(endpoint: Endpoint, found: NamedEntry): ImportedOperation[] {
    const { name, pointer } = found;
    const { operation, output } = endpoint;
    const blocked = this.#firstProblem(inputSchemasOf(endpoint), "any");
    if (blocked !== undefined) return this.#skip(found, blocked);
    const base = this.#baseUrl(endpoint);
    if (base.url === undefined) {
      this.#withoutServer += 1;
      return this.#skip(found, base.reason);
    }
    const unreadable = this.#findUnreadable(endpoint);
    if (typeof unreadable === "string") return this.#skip(found, unreadable);
    const context = { document: this.#document, config: this.#config, securitySchemes: this.#securitySchemes };
    const security = readSecurity(this.#document, operation.value, this.#securitySchemes, pointer, this.report.warn);
    const entry: CallableEntry = { ...found, baseUrl: base.url, security, unreadable, streaming: false };
    const operations: ImportedOperation[] = [];
    if (output.hasSingle) operations.push(toOperation(context, entry));
    if (output.streamKind !== undefined) {
      const streamName = output.hasSingle ? this.#names.take(pointer, `${name}_stream`) : name;
      operations.push(toOperation(context, { ...entry, name: streamName, streaming: true }));
    }
    return operations;
  }

  #skip({ pointer }: NamedEntry, reason: string): ImportedOperation[] {
    this.report.skipped(pointer, reason);
    return [];
  }

  /** Returns the base URL of an endpoint. Cached, because most endpoints share their servers. */
  #baseUrl({ servers, pointer }: Endpoint): BaseUrl {
    const known = this.#baseUrls.get(servers[0]);
    if (known !== undefined) return known;
    const found = resolveBaseUrl(servers, this.#config, pointer, this.report.warn);
    this.#baseUrls.set(servers[0], found);
    return found;
  }

  /** Returns the responses whose schemas cannot be used, or a reason why the endpoint cannot be imported. */
  #findUnreadable({ output, responses, pointer }: Endpoint): ReadonlySet<string> | string {
    const schemas = [false, true].flatMap((streaming) => outputSchemasOf(this.#document, output, streaming));
    const errors = errorResponses(responses);
    const all = [...schemas, ...errors.flatMap(errorSchemasOf)];
    if (this.#firstProblem(all, "any") === undefined) return nothing;
    const external = this.#firstProblem(all, "external");
    if (external !== undefined) return external;
    const unreadable = new Set<string>();
    const look = (part: string, what: string, of: Located[]) => {
      const problem = this.#firstProblem(of, "any");
      if (problem === undefined) return;
      unreadable.add(part);
      this.report.warn(pointer, `${problem} The ${what} is not described.`);
    };
    look("output", "output", schemas);
    for (const response of errors) look(response.status, `error ${response.status}`, errorSchemasOf(response));
    return unreadable;
  }

  /** Returns the reason why schemas cannot be used, if there is one. Repaired problems become warnings. */
  #firstProblem(schemas: Located[], scope: "any" | "external"): string | undefined {
    const problems = this.#inspector.problemsOf(schemas);
    for (const { kind, pointer, reason } of problems) if (kind === "repaired") this.report.warn(pointer, reason);
    const blocking = problems.find(({ kind }) => (scope === "external" ? kind === "external" : kind !== "repaired"));
    return blocking && at(blocking.pointer, blocking.reason);
  }

  /** Reports webhooks and callbacks as skipped: the service sends these requests itself. */
  #reportIncoming(entries: MethodEntry[]): void {
    const webhooks = Object.keys(ownObject(this.#document.root, "webhooks") ?? {});
    const callbacks = entries.flatMap(({ operation, pointer }) =>
      Object.keys(ownObject(operation.value, "callbacks") ?? {}).map((name) =>
        extendPointer(pointer, "callbacks", name),
      ),
    );
    for (const where of [...webhooks.map((name) => extendPointer("#/webhooks", name)), ...callbacks]) {
      this.report.skipped(where, "The service sends this request itself. Clients cannot call it.", { requested: true });
    }
  }
}

/** Adds to a reason where in the document its cause is. */
function at(pointer: string, reason: string): string {
  return pointer === "" ? reason : `At ${pointer}: ${reason}`;
}
