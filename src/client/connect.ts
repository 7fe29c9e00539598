import { withDeadline } from "../call/deadline.ts";
import type { SignIdentity } from "../call/outgoing/index.ts";
import { assertObject } from "../internal/objects.ts";
import {
  hasCode,
  type Identity,
  type KnownOperations,
  type Limits,
  type OperationsByNamespace,
  type Register,
  type RemoteAny,
  type RemoteOperations,
  type ResponseEnvelope,
  type SubscribeOptions,
  toData,
  unwrap,
} from "../operation/inside.ts";
import type { Transport } from "../transport/transport.ts";
import type { WebSocketTransportOptions } from "../transport/websocket/web-socket-client.ts";
import { LazyCaller } from "./lazy-caller.ts";
import { createRemoteResult } from "./remote-result.ts";

/** Options of {@link connect}. */
export interface ConnectOptions {
  /**
   * Authenticates the caller: a string, or a function that returns one. To a WebSocket server, the token is sent, and
   * the function called, with every connection. Over HTTP and over a transport, this happens with every call.
   */
  token?: string | (() => string | undefined | Promise<string | undefined>) | undefined;
  /**
   * Headers of every request to an HTTP server, such as `X-API-Key` for a server with `apiKeys`. A WebSocket cannot send
   * them.
   */
  headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Timeout of calls without their own `timeout` or `deadline`, in ms, or `Infinity` for no limit. Includes connecting.
   * Subscriptions have no limit. @default 30,000 after the connection is open; no limit in process
   */
  timeout?: number | undefined;
  /**
   * Passed to the handlers of all calls as `context.metadata`. The `metadata` of a call replaces it. Over HTTP, only its
   * trace context is sent: `traceparent`, `tracestate` and `baggage`.
   */
  metadata?: Record<string, unknown> | undefined;
  /**
   * Identity of the caller over a transport: trusted in process, signed with `sign`, and sent as a claim with
   * `trustedBus`. Servers at a URL derive the identity from the token.
   */
  identity?: Identity | undefined;
  /** Creates the token of calls with an `identity` and without a `token`, such as the result of `createJWTSigner`. */
  sign?: SignIdentity | undefined;
  /** Sends the identity as a claim to servers with `trustedBus`. @default only in process and over an `EventTarget` */
  trustedBus?: boolean | undefined;
  /**
   * `pendingCalls` is the maximum number of calls and subscriptions that have not ended. The others limit the responses
   * of HTTP servers; `webSocket.limits` limits the messages of WebSocket servers.
   */
  limits?: Pick<Limits, "pendingCalls" | "responseBytes" | "eventBytes"> | undefined;
  /**
   * Sends the requests to an HTTP server, for example to read the header `request-id` of the responses. It must observe the
   * signal. @default `fetch`
   */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /** Options of the WebSocket connection and its reconnects. */
  webSocket?: Omit<WebSocketTransportOptions, "token" | "signal"> | undefined;
}

/**
 * The operations of a remote registry. `await client.task.create(input)` returns the data and throws a `CallError` on
 * every failure. A subscription is an async iterable of its data. The function `close` hides a namespace of that name.
 */
export type RemoteClient<Known extends KnownOperations | OperationsByNamespace = KnownOperations> =
  RemoteOperations<Known> &
    AsyncDisposable & {
      /** Fails pending calls with `UNAVAILABLE`, ends subscriptions, and closes the connection. May be called twice. */
      close(): Promise<void>;
    };

/** The operation types of a registry, given its type, or of a map of operations by id or by namespace and name. */
export type KnownIn<Remote> = string extends keyof Remote
  ? KnownOperations
  : Remote extends { readonly "~known"?: infer Known extends KnownOperations }
    ? Known
    : Remote extends KnownOperations | OperationsByNamespace
      ? Remote
      : never;

/** The operations of the types that `operations types` writes, if the program contains them; otherwise any operation. */
export type GeneratedOperations<Declared = Register> = Declared extends {
  operations: infer Operations extends OperationsByNamespace;
}
  ? Operations
  : KnownOperations;

/**
 * Returns a typed client of a remote registry, over HTTP (`http:`, `https:`), a WebSocket (`ws:`, `wss:`) or any transport.
 * The program does not load a registry or schemas. Connects with the first call. If that fails, the next call connects
 * again.
 *
 * Only the type of the registry is needed, and it is erased: `connect<typeof registry>(url)` with
 * `import type { registry }`. Without a type argument, the types that `operations types` writes apply if the program contains
 * them. The input of a call is read after the current synchronous code has ended. Do not change it until the call has
 * settled.
 * @param to a URL, or a transport, which is closed with the client
 * @example
 * ```ts source="examples/guide/client.ts#client"
 * import { connect } from "@alkdev/operations/client";
 * import type { registry } from "./client/server.ts"; // erased: neither the registry nor a schema is loaded
 *
 * const client = connect<typeof registry>(url, { token });
 *
 * const task = await client.task.create({ title: "Ship it" }, { timeout: 5_000 });
 * console.log(task);
 *
 * for await (const { title } of client.task.changes()) console.log("changed:", title);
 * ```
 */
export function connect<Remote = GeneratedOperations>(
  to: string | URL | Transport,
  options: ConnectOptions = {},
): RemoteClient<KnownIn<Remote>> {
  assertObject("connect", options, "connect(url, { token })");
  const caller = createCaller(to, options);
  const close = () => caller.close();
  const createNamespace = (namespace: string) =>
    createNames(`client.${namespace}`, (name) => createOperation(caller, `${namespace}.${name}`, options));
  return createNames("client", (name) => (name === "close" ? close : createNamespace(name)), close) as never;
}

/**
 * Selects the protocol by the scheme of a URL. Each one is loaded with the first call, to keep the initial download of a
 * page small.
 */
function createCaller(to: string | URL | Transport, options: ConnectOptions): LazyCaller {
  if (typeof to !== "string" && !(to instanceof URL)) {
    const transport = assertTransport(to);
    return new LazyCaller(async () => {
      const { TransportConnection } = await import("./over-transport.ts");
      return new TransportConnection(options, async () => transport);
    });
  }
  const url = URL.canParse(to) ? new URL(to) : undefined;
  if (url?.protocol === "ws:" || url?.protocol === "wss:") {
    if (options.headers !== undefined) throw new TypeError("A WebSocket cannot send headers. Pass a token instead.");
    return new LazyCaller(async () => (await import("./over-websocket.ts")).openWebSocket(url, options));
  }
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    // The message omits the URL, which may contain secrets.
    throw new TypeError("Invalid URL. Pass an absolute URL that begins with http(s): or ws(s):, or a transport.");
  }
  if (url.username + url.password + url.search + url.hash !== "") {
    throw new TypeError("The URL of an HTTP server has no credentials, query or fragment. Pass a token instead.");
  }
  return new LazyCaller(async () => new (await import("./over-http.ts")).HTTPCaller(url, options));
}

function assertTransport(to: Transport): Transport {
  if (typeof (to as Partial<Transport> | null)?.request === "function") return to;
  const hint = (to as unknown) instanceof Promise ? " You passed a promise. Await the transport first." : "";
  throw new TypeError(`connect() takes a URL or a transport.${hint}`);
}

/** Names that JavaScript reads from every object, which are never namespaces or operations. */
const probedNames = new Set(["then", "toJSON", "asymmetricMatch", "$$typeof", "nodeType", "tagName", "hasAttribute"]);

/** Creates an object that has a property for every name. The names of operations are not known here. */
function createNames(label: string, find: (name: string) => unknown, dispose?: () => Promise<void>): object {
  const found = new Map<string, unknown>();
  const target: Record<string | symbol, unknown> = {
    __proto__: null,
    toString: () => `[${label}]`,
    [Symbol.toStringTag]: label,
    [Symbol.asyncDispose]: dispose,
    [inspectCustom]: () => `[${label}]`,
  };
  return new Proxy(target, {
    get: (own, key) => {
      if (typeof key !== "string" || key in Object.prototype || probedNames.has(key)) return own[key as string];
      if (!found.has(key)) found.set(key, find(key));
      return found.get(key);
    },
    has: () => false,
    ownKeys: () => [],
    set: () => false,
  });
}

/** Names the output of `console.log` in Node. */
const inspectCustom = Symbol.for("nodejs.util.inspect.custom");

type Call = (input?: unknown, options?: SubscribeOptions) => unknown;

function createOperation(caller: LazyCaller, id: string, client: ConnectOptions): RemoteAny<unknown, unknown> {
  const { token, identity, timeout, metadata } = client;
  const merge = (own?: SubscribeOptions, fallback?: number) =>
    withDeadline({ timeout: fallback, ...own, metadata: own?.metadata ?? metadata, token, identity });
  const createCall =
    (toResult: (envelope: ResponseEnvelope) => unknown, toValue: (envelope: ResponseEnvelope) => unknown): Call =>
    (input, own) =>
      createRemoteResult(
        async () =>
          toResult(await caller.call(id, input, merge(own, own?.deadline === undefined ? timeout : undefined))),
        () => caller.subscribe(id, input, merge(own), toValue),
      );
  const envelope = createCall(
    (it) => it,
    (it) => it,
  );
  const inspect = () => `[client.${id}]`;
  return Object.assign(createCall(toData, unwrap), { envelope, isError: hasCode, [inspectCustom]: inspect }) as never;
}
