import { ReportBuilder } from "../../from/report.ts";
import type { SourceReport } from "../../from/source.ts";
import { logger } from "../../internal/log.ts";
import { type Limits, resolveLimits } from "../../operation/inside.ts";
import { coreOf, type OperationRegistry } from "../../registry/inside.ts";
import { type Exchange, respondWith } from "../exchange.ts";
import { Gate } from "../gate.ts";
import { CallRunner } from "../run.ts";
import type { CloseOptions, FetchInfo, FetchServer, ServeOptions } from "../server.ts";
import { VisibleOperations } from "../visible.ts";
import type { DocumentInfo } from "./document.ts";
import { writeEvents } from "./events.ts";
import { type ReadState, readRequest } from "./read-request.ts";
import { type RouteOptions, RouteTable } from "./routes.ts";
import { exposedHeaders, writeProblem, writeResult } from "./write-response.ts";

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

/** Serves the operations of a registry over HTTP. */
export class HTTPServer implements FetchServer {
  readonly registry: OperationRegistry;
  readonly options: ServeHTTPOptions;
  readonly gate: Gate;
  readonly limits: Readonly<Required<Limits>>;
  readonly run: CallRunner;
  readonly visible: VisibleOperations;
  readonly isUnauthenticated: boolean;
  /** Absent after a change of the registry. */
  #routes: RouteTable | undefined = undefined;
  #report: SourceReport | undefined = undefined;

  constructor(registry: OperationRegistry, options: ServeHTTPOptions) {
    this.registry = registry;
    this.options = options;
    this.gate = new Gate(options, exposedHeaders); // First: it reports that options are missing.
    this.limits = resolveLimits(options.limits);
    this.run = new CallRunner(registry, options, "http", this.gate);
    this.visible = new VisibleOperations(coreOf(registry), options, () => {
      this.#routes = undefined;
    });
    this.isUnauthenticated = this.gate.isUnauthenticated;
    void this.routes; // Reports operations that are not served.
  }

  readonly fetch = (request: Request, info?: FetchInfo): Promise<Response> =>
    respondWith((exchange) => this.handle(exchange), request, info);

  /** Handles a request: reads it, runs its call and writes the response. */
  async handle(exchange: Exchange): Promise<void> {
    // Callers may choose the id of a request, to find its call in a history while it runs.
    const chosen = exchange.headers.get("request-id");
    const requestId = chosen !== null && /^[\w.:-]{1,128}$/.test(chosen) ? chosen : crypto.randomUUID();
    const state: ReadState = { requestId, caller: undefined, route: undefined };
    try {
      const request = await readRequest(this, exchange, state);
      if (request.kind === "reply") exchange.reply(request.status, request.headers, request.body);
      else if (request.route.operation.isSubscription) await writeEvents(this, exchange, request);
      else writeResult(exchange, request, await this.run.call(request));
    } catch (error) {
      writeProblem(this, exchange, state, error);
    }
  }

  /** Rejects if its authenticator can never accept anyone. */
  ready(): Promise<void> {
    return this.gate.ready();
  }

  async close(options?: CloseOptions): Promise<void> {
    await this.run.close(options);
    this.gate.close();
    this.visible.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** The routes of the operations that are registered now. */
  get routes(): RouteTable {
    this.#routes ??= this.#createRoutes();
    return this.#routes;
  }

  #createRoutes(): RouteTable {
    const report = new ReportBuilder();
    const table = new RouteTable(this.visible.all.operations, this.options, report);
    report.deliver({ source: "serveHTTP", onReport: this.options.onReport, log, previous: this.#report });
    this.#report = report.report;
    return table;
  }
}
