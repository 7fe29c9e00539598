import { isObject, type JSONObject } from "../../internal/objects.ts";
import { createId } from "../../internal/request-id.ts";
import {
  type CallError,
  type Identity,
  isCallError,
  mapError,
  type ResponseEnvelope,
  validationError,
  wrongOperationType,
} from "../../operation/index.ts";
import type { ServedOutcome, ServedRequest } from "../calls.ts";
import type { Caller } from "../gate.ts";
import { safetyHeaders, toolFailure } from "../outcome.ts";
import { HTTPError, parseJSONBody, readJSONText } from "../request-body.ts";
import type { FetchInfo } from "../server.ts";
import { EventStream, endId } from "./event-stream.ts";
import type { HTTPHost } from "./http-host.ts";
import type { InputMapping } from "./parameters.ts";
import { bodyLost, envelopeType, readMetadata, readWait } from "./request.ts";
import { toResult } from "./response.ts";
import type { Route } from "./routes.ts";

/** Maximum length of the id of an event that a client has received. A longer one is ignored. */
const maxEventIdLength = 256;

/** What the body of a request contains. */
type BodyContent = Exclude<InputMapping["body"], "none">;

type Resolve = (response: Response | Promise<Response>) => void;

/** A request for an operation, and its response. */
export class HTTPCall implements ServedRequest, ServedOutcome {
  // Assigned in the constructor instead of defined as class fields, because that is faster and there is one for each call.
  declare readonly operationId: string;
  declare readonly requestId: string;
  declare readonly identity: Identity | undefined;
  declare input: unknown;
  declare timeout: number | undefined;
  declare metadata: JSONObject | undefined;
  declare lastEventId: string | undefined;
  /** Whether the client wants envelopes instead of data. */
  declare wantsEnvelope: boolean;
  declare readonly host: HTTPHost;
  declare readonly request: Request;
  declare readonly info: FetchInfo | undefined;
  declare readonly caller: Caller;
  declare readonly route: Route;
  declare private resolve: Resolve | undefined;

  constructor(host: HTTPHost, request: Request, info: FetchInfo | undefined, caller: Caller, route: Route) {
    this.operationId = route.operation.id;
    this.requestId = createId();
    this.identity = caller.identity;
    this.input = undefined;
    this.timeout = undefined;
    this.metadata = undefined;
    this.lastEventId = undefined;
    this.wantsEnvelope = false;
    this.host = host;
    this.request = request;
    this.info = info;
    this.caller = caller;
    this.route = route;
    this.resolve = undefined;
  }

  /** Reads the request and runs the operation. Never rejects. */
  start(values: readonly string[], query: string): Response | Promise<Response> {
    try {
      const headers = this.info?.headers ?? this.request.headers;
      const accept = headers.get("accept");
      if (accept?.includes(envelopeType)) this.#acceptEnvelope(accept);
      this.timeout = readWait(headers);
      this.metadata = readMetadata(headers);
      const { body } = this.route.input!;
      const { limits } = this.host;
      this.input = this.route.reader(limits.jsonDepth).read(values, query);
      if (body === "none") return this.#run();
      const text = readJSONText(this.request, this.info, limits);
      if (text !== undefined) return this.#readBody(text, body);
      if (body === "whole") this.input = undefined;
      return this.#run();
    } catch (error) {
      return this.toFailure(error);
    }
  }

  onResult(envelope: ResponseEnvelope): void {
    this.resolve!(this.#toResponse(envelope));
  }

  onError(error: CallError): void {
    this.resolve!(this.toFailure(error));
  }

  /** Creates the response to an error that was thrown before, during or after the call. */
  toFailure(thrown: unknown): Response {
    return this.host.toProblem(thrown, this);
  }

  /** Typed clients state whether they call or subscribe, so that the wrong one has no effect. */
  #acceptEnvelope(accept: string): void {
    this.wantsEnvelope = true;
    const { isSubscription, spec } = this.route.operation;
    if (accept.includes("text/event-stream") !== isSubscription) {
      throw wrongOperationType(this.operationId, spec.type, isSubscription ? "execute" : "subscribe");
    }
  }

  /** Runs the operation when the body has arrived. Callbacks, because promises are a large part of the cost of a call. */
  #readBody(text: Promise<string>, content: BodyContent): Promise<Response> {
    return new Promise((resolve) => {
      text.then(
        (json) => this.#receiveBody(json, content, resolve),
        (error) => resolve(this.toFailure(error instanceof HTTPError ? error : bodyLost(error))),
      );
    });
  }

  #receiveBody(json: string, content: BodyContent, resolve: Resolve): void {
    try {
      const body = parseJSONBody(json, this.host.limits);
      const parameters = this.input as JSONObject;
      if (content === "whole") this.input = body;
      else if (content === "rest") this.input = mergeBody(this.operationId, parameters, body);
      else this.input = body === undefined ? parameters : { ...parameters, [content.property]: body };
    } catch (error) {
      return resolve(this.toFailure(error));
    }
    if (this.route.operation.isSubscription) return resolve(this.#subscribe());
    this.#execute(resolve);
  }

  #run(): Response | Promise<Response> {
    if (this.route.operation.isSubscription) return this.#subscribe();
    return new Promise((resolve) => this.#execute(resolve));
  }

  #execute(resolve: Resolve): void {
    this.resolve = resolve;
    this.host.calls.execute(this, this.request, this);
  }

  #subscribe(): Response | Promise<Response> {
    const lastEventId = (this.info?.headers ?? this.request.headers).get("last-event-id");
    if (lastEventId === endId) return this.host.toResponse(this, 204, { ...safetyHeaders }, null);
    if (lastEventId !== null && lastEventId.length <= maxEventIdLength) this.lastEventId = lastEventId;
    return new Promise((resolve) => new EventStream(this, resolve).start());
  }

  #toResponse(envelope: ResponseEnvelope): Response {
    const { wantsEnvelope, requestId, route } = this;
    try {
      if (!wantsEnvelope && envelope.meta.source === "mcp") {
        const failure = toolFailure(envelope, this.operationId);
        if (failure !== undefined) return this.toFailure(failure);
      }
      const { status, headers, body } = toResult(envelope, wantsEnvelope, route.headerId, requestId);
      return this.host.toResponse(this, status, headers, body);
    } catch (error) {
      return this.toFailure(error);
    }
  }
}

/** Adds the parameters of the path to the properties of a body. */
function mergeBody(operationId: string, parameters: JSONObject, body: unknown): JSONObject {
  if (body === undefined) return parameters;
  const label = `body of "${operationId}"`;
  if (!isObject(body)) throw validationError(label, [{ path: "", message: "must be an object" }]);
  for (const name of Object.keys(parameters)) {
    if (!Object.hasOwn(body, name)) continue;
    throw validationError(label, [{ path: `/${name}`, message: "must not be in the body, because it is in the path" }]);
  }
  return { ...body, ...parameters };
}

/** Returns the `CallError` of a thrown value. */
export function toCallError(thrown: unknown): CallError {
  if (thrown instanceof HTTPError) return thrown.error;
  return isCallError(thrown) ? thrown : mapError(thrown);
}
