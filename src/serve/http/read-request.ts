import type { Bytes } from "../../internal/base64.ts";
import type { JSONObject } from "../../internal/objects.ts";
import { decodePercent, withoutTrailingSlashes } from "../../internal/urls.ts";
import {
  accessDenied,
  type CallError,
  checkScopes,
  type Identity,
  wrongOperationType,
} from "../../operation/inside.ts";
import { envelopeType, eventStreamType, lastEvent } from "../../transport/http-form.ts";
import { type Exchange, readJSONBody } from "../exchange.ts";
import type { Caller } from "../gate.ts";
import { safetyHeaders } from "../outcome.ts";
import { notStarted, serverClosed, urlTooLong, wrongMethod } from "../refusals.ts";
import type { ServedCall } from "../run.ts";
import { writeDocument } from "./document.ts";
import { documentPath, type Route } from "./routes.ts";
import type { HTTPServer } from "./server.ts";

/** Maximum length of the id of an event that a client has received. A longer one is ignored. */
const maxEventIdLength = 256;

/** A request that calls an operation. */
export interface CallRequest extends ServedCall {
  readonly kind: "call";
  readonly route: Route;
  /** Whether the client wants envelopes instead of data. */
  readonly wantsEnvelope: boolean;
}

/** The response to a request that calls no operation. */
export interface DirectReply {
  readonly kind: "reply";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Bytes | undefined;
}

/** What is known about a request while it is read. The response to a failure contains it. */
export interface ReadState {
  readonly requestId: string;
  caller: Caller | undefined;
  route: Route | undefined;
}

/**
 * Reads a request, in this order: who sends it, which operation it calls, whether the caller has the scopes, and the input.
 * Throws an `HTTPError` or a `CallError` if it must not continue.
 */
export async function readRequest(
  server: HTTPServer,
  exchange: Exchange,
  state: ReadState,
): Promise<CallRequest | DirectReply> {
  const { gate, limits, run } = server;
  const { method, path: fullPath, query, headers } = exchange;
  if (run.isClosed) throw serverClosed();
  if (fullPath.length + query.length > limits.urlLength) throw urlTooLong(limits.urlLength);

  const caller = await gate.check(exchange);
  if (caller.kind === "refusal") throw caller;
  if (caller.kind === "preflight") return { kind: "reply", status: 204, headers: caller.headers };
  state.caller = caller;

  const path = exchange.basePath === undefined ? fullPath : withoutBase(fullPath, exchange.basePath);
  if (path === documentPath) return readDocument(server, exchange, caller);
  const values: string[] = [];
  const endpoint = path === undefined ? undefined : server.routes.match(path, values);
  if (endpoint === undefined) throw notFound(server, exchange, path ?? "", caller.identity);
  const route = endpoint.find(method);
  if (route === undefined) return allow(method, endpoint.allow, caller);
  state.route = route;

  const { operation } = route;
  if (operation.demandsScopes) {
    const decision = checkScopes(operation.access, caller.identity);
    if (decision !== true) throw accessDenied(operation.id, decision);
  }

  const accept = headers.get("accept")?.toLowerCase() ?? "";
  const wantsEnvelope = accept.includes(envelopeType);
  // Typed clients state whether they call or subscribe, so that the wrong one has no effect.
  if (wantsEnvelope && accept.includes(eventStreamType) !== operation.isSubscription) {
    throw wrongOperationType(operation.id, operation.spec.type, operation.isSubscription ? "execute" : "subscribe");
  }
  const lastEventId = operation.isSubscription ? headers.get("last-event-id") : null;
  if (lastEventId === lastEvent.id)
    return { kind: "reply", status: 204, headers: { ...caller.headers, ...safetyHeaders } };

  const mapping = route.input!;
  const isWhole = mapping.body === "whole" && query === "";
  let input: unknown = isWhole ? undefined : mapping.read(values, query, limits.jsonDepth);
  if (mapping.body !== "none") {
    const body = await readJSONBody(exchange, limits);
    input = mapping.body === "whole" ? body : mapping.addBody(input as JSONObject, body);
  }
  const prefer = headers.get("prefer");
  return {
    kind: "call",
    requestId: state.requestId,
    operationId: operation.id,
    route,
    caller,
    input,
    wantsEnvelope,
    timeout: prefer === null ? undefined : readWait(prefer),
    metadata: headers.get("traceparent") === null ? undefined : readTrace(headers),
    lastEventId: lastEventId !== null && lastEventId.length <= maxEventIdLength ? lastEventId : undefined,
    onClose: (listener) => exchange.onClose(listener),
  };
}

/** Reads the OpenAPI document for a caller. Callers who see the same operations share a document. */
async function readDocument(server: HTTPServer, { method, headers }: Exchange, caller: Caller): Promise<DirectReply> {
  if (method !== "GET" && method !== "HEAD") return allow(method, "GET, HEAD, OPTIONS", caller);
  const { routes, options, gate, visible } = server;
  const { body, etag } = await visible.for(caller.identity).derive("document", ({ operations }) => {
    const described = operations.flatMap((operation) => routes.documented(operation) ?? []);
    return writeDocument(described, options.info, gate);
  });
  const fixed: Record<string, string> = {
    ...caller.headers,
    ...safetyHeaders,
    "cache-control": "private, no-cache",
    etag,
  };
  if (gate.vary !== "") fixed["vary"] = gate.vary;
  const known = headers.get("if-none-match")?.split(",") ?? [];
  const isKnown = known.some((item) => item.trim() === "*" || item.trim().replace(/^W\//, "") === etag);
  if (isKnown) return { kind: "reply", status: 304, headers: fixed };
  return { kind: "reply", status: 200, headers: { ...fixed, "content-type": "application/json" }, body };
}

/** Replies to `OPTIONS`. Throws for any other method. */
function allow(method: string, methods: string, caller: Caller): DirectReply {
  if (method !== "OPTIONS") throw wrongMethod(method, methods);
  return { kind: "reply", status: 204, headers: { ...caller.headers, allow: methods, ...safetyHeaders } };
}

function notFound(
  { visible }: HTTPServer,
  { basePath = "" }: Exchange,
  path: string,
  identity: Identity | undefined,
): CallError {
  // An encoded slash stays encoded, because it does not separate the namespace from the name.
  const id = (decodePercent(path.replaceAll(/%2f/gi, "%252F")) ?? path).slice(1).replace("/", ".");
  if (id !== "") return visible.notFound(id, identity);
  // The page that a person opens first, to see whether the server works.
  const document = withoutTrailingSlashes(basePath) + documentPath;
  const message = `The root is not an operation. GET ${document} describes the operations that you may call.`;
  return notStarted("OPERATION_NOT_FOUND", message);
}

/** Returns the path below the one at which the server is mounted; `undefined` for a path outside of it. */
function withoutBase(path: string, basePath: string): string | undefined {
  const { length } = withoutTrailingSlashes(basePath);
  return path.startsWith(basePath.slice(0, length)) && path[length] === "/" ? path.slice(length) : undefined;
}

/** Returns the time that `Prefer: wait=5` allows, in ms; `undefined` for other preferences. */
function readWait(prefer: string): number | undefined {
  const seconds = /(?:^|[,;])\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:[,;]|$)/i.exec(prefer)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1_000;
}

/** Returns the trace context of the client, which is the only metadata that handlers receive. */
function readTrace(headers: Exchange["headers"]): JSONObject {
  const entries = ["traceparent", "tracestate", "baggage"].map((name) => [name, headers.get(name)] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== null));
}
