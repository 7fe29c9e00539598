import { ReportBuilder } from "../../from/report.ts";
import type { SourceReport } from "../../from/source.ts";
import { logger } from "../../internal/log.ts";
import { type Identity, type Limits, resolveLimits } from "../../operation/inside.ts";
import { coreOf, type OperationRegistry } from "../../registry/inside.ts";
import { ServerCalls } from "../calls.ts";
import { Gate } from "../gate.ts";
import type { CloseOptions, FetchInfo, FetchServer, ServeOptions } from "../server.ts";
import { VisibleOperations, type VisibleSet } from "../visible.ts";
import { type DocumentInfo, type WrittenDocument, writeDocument } from "./document.ts";
import { exposedHeaders } from "./response.ts";
import { type RouteOptions, RouteTable } from "./routes.ts";
import { ServerExchange } from "./server-exchange.ts";

const log = logger("serve", "http");

/** Options of `serveHTTP`. */
export interface ServeHTTPOptions extends ServeOptions, RouteOptions {
  /** Title, version and description of the API in `GET /openapi.json`. */
  info?: DocumentInfo | undefined;
  /**
   * Receives a report about operations and routes that are not served: when the server is created, and after changes of
   * the registry. @default warnings in the log, and on the console until LogTape is configured
   */
  onReport?: ((report: SourceReport) => void) | undefined;
}

/** Serves the operations of a registry over HTTP. An `ServerExchange` handles one request. */
export class HTTPHost implements FetchServer {
  readonly registry: OperationRegistry;
  readonly options: ServeHTTPOptions;
  readonly gate: Gate;
  readonly limits: Readonly<Required<Limits>>;
  readonly calls: ServerCalls;
  readonly visible: VisibleOperations;
  #report: SourceReport | undefined = undefined;

  constructor(registry: OperationRegistry, options: ServeHTTPOptions) {
    this.registry = registry;
    this.options = options;
    this.gate = new Gate(options, exposedHeaders); // First: it reports that options are missing.
    this.limits = resolveLimits(options.limits);
    this.calls = new ServerCalls(registry, options);
    this.visible = new VisibleOperations(coreOf(registry), options);
    void this.routes; // Reports operations that are not served.
  }

  get isUnauthenticated(): boolean {
    return this.gate.isUnauthenticated;
  }

  readonly fetch = (request: Request, info?: FetchInfo): Response | Promise<Response> =>
    new ServerExchange(this, request, info).handle();

  async close(options?: CloseOptions): Promise<void> {
    await this.calls.close(options);
    this.gate.close();
    this.visible.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  readonly paths = (): readonly string[] => this.routes.paths;

  /** The routes of the operations that are registered now. */
  get routes(): RouteTable {
    return this.visible.all.derive("routes", this.#createRoutes);
  }

  /** Returns the document for a caller. Callers who see the same operations share a document. */
  writeDocument(identity: Identity | undefined): Promise<WrittenDocument> {
    return this.visible.for(identity).derive("document", ({ operations }) => {
      const { routes, options, gate } = this;
      const described = operations.flatMap((operation) => routes.documented(operation) ?? []);
      return writeDocument(described, options.info, gate.description.securitySchemes);
    });
  }

  readonly #createRoutes = ({ operations }: VisibleSet): RouteTable => {
    const report = new ReportBuilder();
    const table = new RouteTable(operations, this.options, report);
    report.deliver({ source: "serveHTTP", onReport: this.options.onReport, log, previous: this.#report });
    this.#report = report.report;
    return table;
  };
}
