import { ReportBuilder } from "../../from/report.ts";
import type { SourceReport } from "../../from/source.ts";
import { logger } from "../../internal/log.ts";
import { getOwn } from "../../internal/objects.ts";
import { createId } from "../../internal/request-id.ts";
import { CallError, type Limits, operationNotFound, resolveLimits, unavailable } from "../../operation/index.ts";
import { coreOf, type OperationRegistry } from "../../registry/index.ts";
import { ServerCalls } from "../calls.ts";
import { type Admission, type Caller, Gate } from "../gate.ts";
import { safetyHeaders, statusOf, toPublicError } from "../outcome.ts";
import { credentialEnded } from "../refusals.ts";
import { HTTPError } from "../request-body.ts";
import type { CloseOptions, FetchInfo, FetchServer, ServeOptions } from "../server.ts";
import { VisibleOperations } from "../visible.ts";
import { createDocumentHandler, type DocumentHandler, type DocumentInfo } from "./document.ts";
import { Heartbeats } from "./event-stream.ts";
import { HTTPCall, toCallError } from "./http-call.ts";
import { findPathStart, urlTooLong } from "./request.ts";
import { callHeaders, exposedHeaders, formatProblem } from "./response.ts";
import { documentPath, Endpoint, type Route, type RouteOptions, RouteTable } from "./routes.ts";

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

/** A response to a request that may not have reached an operation. */
interface Failing {
  readonly request: Request;
  readonly info: FetchInfo | undefined;
  readonly caller: Caller | undefined;
  readonly requestId: string;
  readonly route?: Route | undefined;
}

const noValues: readonly string[] = Object.freeze([]);

/** Serves the operations of a registry over HTTP. */
export class HTTPHost implements FetchServer {
  readonly calls: ServerCalls;
  readonly limits: Readonly<Required<Limits>>;
  readonly isUnauthenticated: boolean;
  readonly heartbeats = new Heartbeats();
  readonly #gate: Gate;
  readonly #visible: VisibleOperations;
  readonly #options: ServeHTTPOptions;
  readonly #respondWithDocument: DocumentHandler;
  #routes: { version: number; table: RouteTable } | undefined = undefined;
  #report: SourceReport | undefined = undefined;

  constructor(registry: OperationRegistry, options: ServeHTTPOptions) {
    this.#options = options;
    this.#gate = new Gate(options, { exposedHeaders }); // First: it reports that options are missing.
    this.limits = resolveLimits(options.limits);
    this.isUnauthenticated = this.#gate.isUnauthenticated;
    this.calls = new ServerCalls(registry, options);
    this.#visible = new VisibleOperations(coreOf(registry), options);
    this.#respondWithDocument = createDocumentHandler({
      info: options.info,
      security: this.#gate.description,
      vary: this.#gate.vary,
      routeOf: (operation) => this.routes().documented(operation),
    });
    this.routes();
  }

  readonly fetch = (request: Request, info?: FetchInfo): Response | Promise<Response> => {
    try {
      if (this.calls.isClosed) return this.toProblem(serverClosed(), failing(request, info));
      const { urlLength } = this.limits;
      if (request.url.length > urlLength) return this.toProblem(urlTooLong(urlLength), failing(request, info));
      const admission = this.#gate.check(request, info);
      if (!(admission instanceof Promise)) return this.#handle(admission, request, info);
      return admission
        .then((later) => this.#handle(later, request, info))
        .catch((error) => this.toProblem(error, failing(request, info)));
    } catch (error) {
      return this.toProblem(error, failing(request, info));
    }
  };

  async close(options?: CloseOptions): Promise<void> {
    await this.calls.close(options);
    this.#gate.close();
    this.#visible.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Returns the routes of the operations that are registered now. */
  routes(): RouteTable {
    const { version } = this.#visible;
    if (this.#routes?.version !== version) {
      const report = new ReportBuilder();
      this.#routes = { version, table: new RouteTable(this.#visible.all(), this.#options, report) };
      const { onReport } = this.#options;
      report.deliver({ source: "serveHTTP", onReport, log, previous: this.#report });
      this.#report = report.report;
    }
    return this.#routes.table;
  }

  /** Creates the response to an error. */
  toProblem(thrown: unknown, failure: Failing): Response {
    const { request, info, requestId, route } = failure;
    const error = toCallError(thrown);
    const status = thrown instanceof HTTPError ? thrown.status : this.#statusOf(error, failure);
    const headers = callHeaders("application/problem+json", route?.headerId ?? "", requestId);
    if (route === undefined) delete headers["operation-id"];
    if (thrown instanceof HTTPError) Object.assign(headers, thrown.headers);
    if (status === 401) headers["www-authenticate"] ??= this.#gate.challenge(request, info);
    if (status === 405 && route !== undefined) headers["allow"] ??= `${route.method}, OPTIONS`;
    if (status === 429) headers["retry-after"] = retryAfter(error);
    return this.toResponse(failure, status, headers, this.#formatProblem(status, error, failure));
  }

  /** Formats the error of a stream, whose status was sent before. */
  formatFailure(error: CallError, failure: Failing): string {
    return this.#formatProblem(this.#statusOf(error, failure), error, failure);
  }

  /** Calls `end` when the credentials of a caller are no longer accepted, until the returned function is called. */
  watchCaller({ caller, operationId }: HTTPCall, end: (error: CallError) => void): () => void {
    return this.#gate.watch(caller, (reason) => end(credentialEnded(operationId, reason)));
  }

  /** Creates a response, with the headers that the page of another origin needs. */
  toResponse(
    { request, info, caller }: Pick<Failing, "request" | "info" | "caller">,
    status: number,
    headers: Record<string, string>,
    body: string | Uint8Array<ArrayBuffer> | ReadableStream | null,
  ): Response {
    if (caller?.headers !== undefined) Object.assign(headers, caller.headers);
    const Class = info?.Response ?? Response;
    return new Class(request.method === "HEAD" ? null : body, { status, headers });
  }

  #statusOf(error: CallError, { route, caller }: Failing): number {
    if (error.code === "ABORTED" && this.calls.isClosed) return 503;
    return statusOf(error, route?.operation.spec, caller?.identity !== undefined);
  }

  #formatProblem(status: number, error: CallError, { route, requestId }: Failing): string {
    const { id = "", handler } = route?.operation ?? {};
    const exposeErrors = this.#options.exposeErrors === true;
    return formatProblem(
      status,
      toPublicError(error, { operationId: id, requestId, handler, exposeErrors }),
      requestId,
    );
  }

  #handle(admission: Admission, request: Request, info: FetchInfo | undefined): Response | Promise<Response> {
    if (admission.kind === "preflight") {
      return this.toResponse(failing(request, info), 204, { ...admission.headers }, null);
    }
    if (admission.kind === "refusal") {
      return this.toProblem(
        new HTTPError(admission.status, admission.error, admission.headers),
        failing(request, info),
      );
    }
    const { url, method } = request;
    const start = findPathStart(url);
    const mark = url.indexOf("?", start);
    const path = withoutBase(url.slice(start, mark === -1 ? undefined : mark), info?.basePath);
    const found = path === undefined ? undefined : this.routes().match(path);
    if (found === undefined) return this.#handleOther(path ?? "", failing(request, info, admission));
    const isPlain = found instanceof Endpoint;
    const endpoint = isPlain ? found : found.endpoint;
    const route = endpoint.get(method);
    if (route === undefined) return this.#wrongMethod(endpoint.allow, failing(request, info, admission));
    const query = mark === -1 ? "" : url.slice(mark + 1);
    return new HTTPCall(this, request, info, admission, route).start(isPlain ? noValues : found.values, query);
  }

  /** Handles a path that is not the route of an operation. */
  #handleOther(path: string, failure: Failing): Response | Promise<Response> {
    if (path !== documentPath) return this.#notFound(path, failure);
    const { method } = failure.request;
    return method === "GET" || method === "HEAD"
      ? this.#toDocument(failure)
      : this.#wrongMethod("GET, HEAD, OPTIONS", failure);
  }

  async #toDocument(received: Failing): Promise<Response> {
    try {
      const { request, caller } = received;
      const visible = this.#visible.for(caller?.identity);
      const document = await this.#respondWithDocument(visible, request.headers.get("if-none-match"));
      return this.toResponse(received, document.status, document.headers, document.body);
    } catch (error) {
      return this.toProblem(error, received);
    }
  }

  #notFound(path: string, failure: Failing): Response {
    const id = toOperationId(path);
    if (id === "") return this.toProblem(noOperationAtRoot(failure.info?.basePath), failure);
    const nearest = this.#visible.for(failure.caller?.identity).nearest(id);
    return this.toProblem(operationNotFound(id, nearest), failure);
  }

  #wrongMethod(allow: string, failure: Failing): Response {
    const { method } = failure.request;
    if (method === "OPTIONS") return this.toResponse(failure, 204, { allow, ...safetyHeaders }, null);
    const message = `${method} is not allowed for this path. It allows ${allow}.`;
    const error = new CallError("WRONG_OPERATION_TYPE", message, undefined, { mayHaveRun: false });
    return this.toProblem(new HTTPError(405, error, { allow }), failure);
  }
}

function failing(request: Request, info: FetchInfo | undefined, caller?: Caller): Failing {
  return { request, info, caller, requestId: createId() };
}

/** Removes the path at which a server is mounted. Returns `undefined` for a path outside of it. */
function withoutBase(path: string, basePath: string | undefined): string | undefined {
  if (basePath === undefined || basePath === "" || basePath === "/") return path;
  return path.startsWith(basePath) && path[basePath.length] === "/" ? path.slice(basePath.length) : undefined;
}

/** Returns the id of the operation whose default route a path would be. */
function toOperationId(path: string): string {
  let decoded = path;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    // The path is shown as it is.
  }
  return decoded.slice(1).replace("/", ".");
}

/** Returns the time after which a client may try again, in seconds: `details.retryAfter` of the error is in ms. */
function retryAfter({ details }: CallError): string {
  const milliseconds = getOwn(details, "retryAfter");
  return typeof milliseconds === "number" && milliseconds > 0 ? String(Math.ceil(milliseconds / 1_000)) : "1";
}

/** The page that a person opens first, to see whether the server works. */
function noOperationAtRoot(basePath = ""): CallError {
  const message = `The root is not an operation. GET ${basePath}${documentPath} describes the operations that you may call.`;
  return new CallError("OPERATION_NOT_FOUND", message, undefined, { mayHaveRun: false });
}

function serverClosed(): CallError {
  return unavailable("The server is closing and does not accept further requests.", { mayHaveRun: false });
}
