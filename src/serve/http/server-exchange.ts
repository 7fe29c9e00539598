import type { Bytes } from "../../internal/base64.ts";
import type { JSONObject } from "../../internal/objects.ts";
import { createId } from "../../internal/request-id.ts";
import { decodePercent, withoutTrailingSlashes } from "../../internal/urls.ts";
import {
  accessDenied,
  type CallError,
  checkScopes,
  type Identity,
  mapError,
  type ResponseEnvelope,
  type ResponseMeta,
  requestedDelay,
  toData,
  wrongOperationType,
} from "../../operation/inside.ts";
import { envelopeType, eventStreamType, lastEvent, problemType, toJSONText } from "../../transport/http-form.ts";
import type { Caller } from "../authentication.ts";
import { onceAborted, type ServedCall } from "../calls.ts";
import type { Admission } from "../gate.ts";
import { readBytes, safetyHeaders, statusOf, toPublicError } from "../outcome.ts";
import { HTTPError, notStarted, serverClosed, urlTooLong, wrongMethod } from "../refusals.ts";
import { parseJSONBody, readJSONBytes } from "../request-body.ts";
import type { FetchInfo } from "../server.ts";
import { EventStream } from "./event-stream.ts";
import type { HTTPHost } from "./http-host.ts";
import type { InputMapping } from "./parameters.ts";
import { bodyLost, clientLeft, readMetadata, readWait } from "./request.ts";
import { callHeaders, formatEnvelope, formatProblem, mediaTypeOf } from "./response.ts";
import { documentPath, type Route } from "./routes.ts";

/** Maximum length of the id of an event that a client has received. A longer one is ignored. */
const maxEventIdLength = 256;

type ResponseBody = string | Bytes | ReadableStream | null;

/** A request and its response. It is also the call that the request makes. */
export class ServerExchange implements ServedCall {
  // Assigned instead of defined as class fields, because that is faster and there is one for each call.
  declare readonly type: "call.requested";
  declare readonly requestId: string;
  declare readonly host: HTTPHost;
  declare readonly request: Request;
  declare readonly info: FetchInfo | undefined;
  declare readonly headers: Pick<Headers, "get" | "has">;
  /** Present when the sender is known. */
  declare caller: Caller | undefined;
  declare identity: Identity | undefined;
  /** Present when the operation is known. */
  declare route: Route | undefined;
  declare operationId: string;
  declare input: unknown;
  declare timeout: number | undefined;
  declare metadata: JSONObject | undefined;
  declare lastEventId: string | undefined;
  declare credit: number | undefined;
  declare creditBytes: number | undefined;
  /** Whether the client wants envelopes instead of data. */
  declare wantsEnvelope: boolean;
  /** Present while the operation is called and the response was not sent. */
  declare private settle: ((response: Response) => void) | undefined;

  constructor(host: HTTPHost, request: Request, info: FetchInfo | undefined) {
    this.type = "call.requested";
    this.requestId = createId();
    this.host = host;
    this.request = request;
    this.info = info;
    this.headers = info?.headers ?? request.headers;
  }

  /** Handles the request. Never throws and never rejects. */
  handle(): Response | Promise<Response> {
    const { host, request, info } = this;
    try {
      if (host.calls.isClosed) throw serverClosed();
      const { urlLength } = host.limits;
      if (request.url.length > urlLength) throw urlTooLong(urlLength);
      const admission = host.gate.check(request, info);
      if (!(admission instanceof Promise)) return this.#continue(admission);
      let hasLeft = false;
      this.onClose(() => {
        hasLeft = true;
      });
      const proceed = (later: Admission) => {
        if (hasLeft) throw clientLeft("The client disconnected before it was identified.");
        return this.#continue(later);
      };
      return admission.then(proceed).catch((error) => this.toFailure(error));
    } catch (error) {
      return this.toFailure(error);
    }
  }

  /** Whether the operation is called and the response was not sent. */
  get isPending(): boolean {
    return this.settle !== undefined;
  }

  /** Sends the response to a call. */
  resolve(status: number, headers: Record<string, string>, body: ResponseBody): void {
    this.#settleWith(this.#toResponse(status, headers, body));
  }

  onResult(envelope: ResponseEnvelope): void {
    try {
      if (this.wantsEnvelope) this.resolve(200, this.#headersOf(envelopeType), formatEnvelope(envelope));
      else this.#sendData(toData(envelope), envelope.meta);
    } catch (error) {
      this.onError(error);
    }
  }

  onError(error: unknown): void {
    this.#settleWith(this.toFailure(error));
  }

  onClose(listener: (reason?: unknown) => void): void {
    if (this.info?.onClose === undefined) onceAborted(this.request.signal, listener);
    else this.info.onClose(listener);
  }

  /** Creates the response to an error that was thrown before, during or after the call. */
  toFailure(thrown: unknown): Response {
    const { host, route } = this;
    const refusal = thrown instanceof HTTPError ? thrown : undefined;
    const error = refusal?.error ?? mapError(thrown);
    const status = refusal?.status ?? this.#statusOf(error);
    const headers = callHeaders(problemType, route?.headerId ?? "", this.requestId);
    if (route === undefined) delete headers["operation-id"];
    Object.assign(headers, refusal?.headers);
    if (status === 401) headers["www-authenticate"] ??= host.gate.challenge();
    if (status === 405) headers["allow"] ??= `${route!.method}, OPTIONS`;
    if (status === 429) headers["retry-after"] = retryAfter(error);
    return this.#toResponse(status, headers, this.formatProblem(error, status));
  }

  /** Formats an error as problem details. */
  formatProblem(error: CallError, status = this.#statusOf(error)): string {
    const { operationId = "", requestId, route, host } = this;
    const { handler } = route?.operation ?? {};
    const { exposeErrors = false } = host.options;
    const sent = toPublicError(error, { operationId, requestId, handler, exposeErrors });
    return formatProblem(status, sent.toJSON(), requestId);
  }

  /** Creates a response, with the headers that the page of another origin needs. */
  #toResponse(status: number, headers: Record<string, string>, body: ResponseBody): Response {
    if (this.caller?.headers !== undefined) Object.assign(headers, this.caller.headers);
    const Class = this.info?.Response ?? Response;
    return new Class(this.request.method === "HEAD" ? null : body, { status, headers });
  }

  #sendData(data: unknown, meta: ResponseMeta): void {
    const headers = this.#headersOf("application/json");
    const driftTotal = meta.driftTotal ?? meta.drift?.length;
    if (driftTotal !== undefined) headers["drift-total"] = String(driftTotal);
    const bytes = readBytes(data);
    const body = bytes ?? toJSONText(data) ?? null;
    if (bytes !== undefined) {
      headers["content-type"] = mediaTypeOf(meta);
      headers["content-disposition"] = "attachment";
    } else if (body === null) delete headers["content-type"];
    this.resolve(body === null ? 204 : 200, headers, body);
  }

  #headersOf(contentType: string): Record<string, string> {
    return callHeaders(contentType, this.route!.headerId, this.requestId);
  }

  #settleWith(response: Response): void {
    const { settle } = this;
    this.settle = undefined; // A stream lasts longer than the promise.
    settle?.(response);
  }

  #statusOf(error: CallError): number {
    if (error.code === "ABORTED" && this.host.calls.isClosed) return 503;
    return statusOf(error, this.route?.operation.spec, this.identity !== undefined);
  }

  #continue(admission: Admission): Response | Promise<Response> {
    if (admission.kind === "refusal") throw admission;
    if (admission.kind === "preflight") return this.#toResponse(204, { ...admission.headers }, null);
    this.caller = admission;
    this.identity = admission.identity;
    const { url, method } = this.request;
    const start = url.indexOf("/", url.indexOf("://") + 3);
    const mark = url.indexOf("?", start);
    const path = withoutBase(url.slice(start, mark === -1 ? undefined : mark), this.info?.basePath);
    if (path === documentPath) return this.#toDocument();
    const values: string[] = [];
    const endpoint = path === undefined ? undefined : this.host.routes.match(path, values);
    if (endpoint === undefined) throw this.#notFound(path ?? "");
    const route = endpoint.find(method);
    if (route === undefined) return this.#otherMethod(endpoint.allow);
    this.route = route;
    this.operationId = route.operation.id;
    return new Promise((settle) => {
      this.settle = settle;
      this.#call(route.input!, values, mark === -1 ? "" : url.slice(mark + 1));
    });
  }

  /** Reads the input and calls the operation. Callbacks, because promises are a large part of the cost of a call. */
  #call(mapping: InputMapping, values: readonly string[], query: string): void {
    const { headers, request, info, host } = this;
    try {
      const accept = headers.get("accept")?.toLowerCase();
      this.wantsEnvelope = accept?.includes(envelopeType) === true;
      if (this.wantsEnvelope) this.#checkKind(accept!);
      this.timeout = readWait(headers);
      this.metadata = readMetadata(headers);
      const input = mapping.read(values, query, host.limits.jsonDepth);
      const body = mapping.body === "none" ? undefined : readJSONBytes(request, info, host.limits);
      if (body === undefined) return this.#run(mapping, input, undefined);
      body.then(
        (bytes) => this.#run(mapping, input, bytes),
        (error) => this.#refuse(error instanceof HTTPError ? error : bodyLost(error)),
      );
    } catch (error) {
      this.#refuse(error);
    }
  }

  /** Responds to a request whose input cannot be read. A caller without the scopes receives no details about the input. */
  #refuse(error: unknown): void {
    const { id, access } = this.route!.operation;
    const decision = checkScopes(access, this.identity);
    this.onError(decision === true ? error : accessDenied(id, decision));
  }

  /** Typed clients state whether they call or subscribe, so that the wrong one has no effect. */
  #checkKind(accept: string): void {
    const { isSubscription, spec } = this.route!.operation;
    if (accept.includes(eventStreamType) !== isSubscription) {
      throw wrongOperationType(this.operationId, spec.type, isSubscription ? "execute" : "subscribe");
    }
  }

  /** Calls the operation with the values of the URL and the body. Never throws. */
  #run(mapping: InputMapping, values: JSONObject, body: ArrayBuffer | Uint8Array | undefined): void {
    try {
      this.input = mapping.addBody(values, parseJSONBody(body, this.host.limits));
      if (!this.route!.operation.isSubscription) return this.host.calls.execute(this);
      const lastEventId = this.headers.get("last-event-id");
      if (lastEventId === lastEvent.id) return this.resolve(204, { ...safetyHeaders }, null);
      if (lastEventId !== null && lastEventId.length <= maxEventIdLength) this.lastEventId = lastEventId;
      new EventStream(this).start();
    } catch (error) {
      this.#refuse(error);
    }
  }

  async #toDocument(): Promise<Response> {
    try {
      const { method } = this.request;
      if (method !== "GET" && method !== "HEAD") return this.#otherMethod("GET, HEAD, OPTIONS");
      const { body, etag } = await this.host.writeDocument(this.identity);
      const headers: Record<string, string> = { ...safetyHeaders, "cache-control": "private, no-cache", etag };
      const { vary } = this.host.gate;
      if (vary !== "") headers["vary"] = vary;
      const known = this.headers.get("if-none-match")?.split(",") ?? [];
      const isKnown = known.some((item) => item.trim() === "*" || item.trim().replace(/^W\//, "") === etag);
      if (isKnown) return this.#toResponse(304, headers, null);
      headers["content-type"] = "application/json";
      return this.#toResponse(200, headers, body);
    } catch (error) {
      return this.toFailure(error);
    }
  }

  #otherMethod(allow: string): Response {
    const { method } = this.request;
    if (method !== "OPTIONS") throw wrongMethod(method, allow);
    return this.#toResponse(204, { allow, ...safetyHeaders }, null);
  }

  #notFound(path: string): CallError {
    // An encoded slash stays encoded, because it does not separate the namespace from the name.
    const id = (decodePercent(path.replaceAll(/%2f/gi, "%252F")) ?? path).slice(1).replace("/", ".");
    if (id !== "") return this.host.visible.notFound(id, this.identity);
    // The page that a person opens first, to see whether the server works.
    const document = withoutTrailingSlashes(this.info?.basePath ?? "") + documentPath;
    const message = `The root is not an operation. GET ${document} describes the operations that you may call.`;
    return notStarted("OPERATION_NOT_FOUND", message);
  }
}

/** Removes the path at which a server is mounted. Returns `undefined` for a path outside of it. */
function withoutBase(path: string, basePath: string | undefined): string | undefined {
  if (basePath === undefined) return path;
  const { length } = withoutTrailingSlashes(basePath);
  return path.startsWith(basePath.slice(0, length)) && path[length] === "/" ? path.slice(length) : undefined;
}

/** Returns the time after which a client may try again, in seconds. */
function retryAfter(error: CallError): string {
  const seconds = Math.ceil(requestedDelay(error) / 1_000);
  return seconds > 0 && Number.isSafeInteger(seconds) ? String(seconds) : "1";
}
