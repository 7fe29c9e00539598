import type { McpHttpHandler, ServerEventBus } from "@modelcontextprotocol/server";
import { FairShare } from "../../call/fair-share.ts";
import { logger, reportFailure } from "../../internal/log.ts";
import { getOwn } from "../../internal/objects.ts";
import { withoutTrailingSlashes } from "../../internal/urls.ts";
import { accessDenied, checkScopes, isCallError, type Limits, resolveLimits } from "../../operation/inside.ts";
import type { OperationRegistry } from "../../registry/index.ts";
import { eventStreamType } from "../../transport/http-form.ts";
import { holdBytes } from "../byte-budget.ts";
import { type Exchange, readJSONBody, respondWith } from "../exchange.ts";
import { Gate, invalidToken } from "../gate.ts";
import { safetyHeaders } from "../outcome.ts";
import { HTTPError, notStarted, serverClosed } from "../refusals.ts";
import type { CloseOptions, FetchInfo, FetchServer, ServeOptions } from "../server.ts";
import { createOutbox, PacedStream } from "./pace.ts";
import {
  type MCPRequest,
  metadataHeaders,
  RPCError,
  streamHeaders,
  toChallengeParameters,
  tooMany,
  toProtectedResource,
} from "./responses.ts";
import { toMeta } from "./result.ts";
import { type MCPSessionOptions, Sessions } from "./sessions.ts";
import { emptyAuthInfo, type MCPServerOptions, type ServerSDK, ToolServer } from "./tool-server.ts";

const log = logger("serve", "mcp");

/** Maximum number of streams on which clients of 2026-07-28 wait for notifications. */
const maxStreams = 1_024;

/** Options of {@link serveMCP}. */
export interface ServeMCPOptions extends ServeOptions, MCPServerOptions {
  /** Limits of the sessions that clients of versions before 2026-07-28 open. */
  sessions?: MCPSessionOptions | undefined;
}

/**
 * Serves the operations of a registry as tools of an MCP server over Streamable HTTP, for clients of every version of the
 * protocol. Requires the package `@modelcontextprotocol/server`. Mount the server with `listen` of
 * `@alkdev/operations/node`, or pass its `fetch` to a framework.
 * @example
 * await listen({ "/mcp": serveMCP(registry, { authenticate: bearerTokens(tokens) }) }, { port: 4000 });
 */
export function serveMCP(registry: OperationRegistry, options: ServeMCPOptions): FetchServer {
  return new MCPServer(registry, options);
}

class MCPServer implements FetchServer {
  readonly registry: OperationRegistry;
  readonly isUnauthenticated: boolean;
  readonly #limits: Readonly<Required<Limits>>;
  readonly #gate: Gate;
  readonly #tools: ToolServer;
  readonly #sessions: Sessions;
  /** Serves the generation of 2026-07-28, in which every request is independent. */
  #modern: McpHttpHandler | undefined = undefined;
  /** The handlers of the open streams of that generation. */
  readonly #streams = new Set<McpHttpHandler>();
  readonly #streamShare = new FairShare(maxStreams);

  constructor(registry: OperationRegistry, options: ServeMCPOptions) {
    this.registry = registry;
    // First: it reports that options are missing.
    this.#gate = new Gate(options, ["mcp-session-id", "mcp-protocol-version", "www-authenticate"]);
    this.#limits = resolveLimits(options.limits);
    this.isUnauthenticated = this.#gate.isUnauthenticated;
    this.#tools = new ToolServer(registry, options, this.#gate);
    this.#sessions = new Sessions(this.#tools, this.#gate, options.sessions);
  }

  readonly fetch = (request: Request, info?: FetchInfo): Promise<Response> =>
    respondWith((exchange) => this.handle(exchange), request, info);

  /** Handles a request: who sends it, what it contains, and of which generation it is. Never rejects. */
  async handle(exchange: Exchange): Promise<void> {
    let headers: Record<string, string> = safetyHeaders;
    try {
      const isWellKnown = exchange.path.startsWith("/.well-known/");
      const metadata = isWellKnown ? toProtectedResource(this.#gate, exchange) : undefined;
      if (metadata !== undefined) return exchange.reply(200, metadataHeaders, metadata);
      const caller = await this.#gate.check(exchange);
      headers = { ...safetyHeaders, ...caller.headers };
      if (caller.kind === "preflight") return exchange.reply(204, headers);
      if (caller.kind === "refusal") throw caller;
      // A mounted server has one address. Without a mount, every path is that of the server.
      const { method, path, basePath = path } = exchange;
      if (path !== basePath && withoutTrailingSlashes(path) !== withoutTrailingSlashes(basePath)) {
        throw new HTTPError(404, notStarted("OPERATION_NOT_FOUND", "Not found."));
      }
      // To an empty body, the SDK responds that it is not a message.
      const body = method === "POST" ? ((await readJSONBody(exchange, this.#limits)) ?? {}) : undefined;
      if (caller.identity === undefined) this.#requireScopes(body);
      const sdk = await this.#tools.sdk;
      // After everything that takes time. A session that starts later would not be closed.
      if (this.#tools.calls.isClosed) throw new HTTPError(503, serverClosed());
      const hold = (bytes: number) => exchange.onClose(holdBytes(caller.owner, bytes));
      const request = { exchange, headers, body, caller, hold };
      const version = exchange.headers.get("mcp-protocol-version") ?? undefined;
      const inbound = { httpMethod: method, body, ...(version !== undefined && { protocolVersionHeader: version }) };
      if (sdk.classifyInboundRequest(inbound).kind === "legacy") await this.#sessions.handle(sdk, request);
      else await this.#serveModern(sdk, request);
    } catch (error) {
      this.#refuse(error, exchange, headers);
    }
  }

  readonly wellKnown = (request: Request, info?: FetchInfo): Response | undefined => {
    const { method, url, headers } = request;
    const given = { method, url, headers, path: new URL(url).pathname, basePath: info?.basePath };
    const metadata = toProtectedResource(this.#gate, given);
    return metadata === undefined ? undefined : new Response(metadata, { headers: metadataHeaders });
  };

  async ready(): Promise<void> {
    await Promise.all([this.#gate.ready(), this.#tools.sdk]);
  }

  close(options?: CloseOptions): Promise<void> {
    return this.#tools.close(options, async () => {
      this.#sessions.close();
      await Promise.all([...this.#streams, this.#modern].map((handler) => handler?.close()));
      this.#gate.close();
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Responds to a request that did not reach the SDK. */
  #refuse(error: unknown, exchange: Exchange, headers: Readonly<Record<string, string>>): void {
    let refusal = error;
    const isMalformed = isCallError(error) && error.code === "VALIDATION_ERROR"; // The body.
    const refused = isMalformed ? new HTTPError(400, error) : error;
    if (refused instanceof HTTPError) {
      const added: Record<string, string> = { ...refused.headers };
      if (refused.status === 401) {
        const parameters = "www-authenticate" in added ? [invalidToken] : [];
        parameters.push(...toChallengeParameters(this.#gate, exchange));
        added["www-authenticate"] = this.#gate.challenge(parameters);
      }
      const options = { headers: added, data: toMeta({ error: refused.error.toJSON() }) };
      refusal = new RPCError(refused.status, isMalformed ? -32_700 : -32_000, refused.message, options);
    } else if (!(error instanceof RPCError)) {
      reportFailure(log, "A request to the MCP server failed: {error}", error);
      refusal = new RPCError(500, -32_603, "The server could not handle the request.");
    }
    const { status, headers: added } = refusal as RPCError;
    exchange.reply(status, { ...headers, ...added, "content-type": "application/json" }, JSON.stringify(refusal));
  }

  /**
   * Refuses an anonymous caller that calls an operation that requires scopes. MCP clients obtain a token only after a
   * response with 401.
   */
  #requireScopes(body: unknown): void {
    const isCall = getOwn(body, "method") === "tools/call" && !this.isUnauthenticated;
    const target = isCall ? this.#tools.catalog.findTarget(getOwn(body, "params")) : undefined;
    const decision = target === undefined ? true : checkScopes(target.access, undefined);
    if (decision !== true) throw new HTTPError(401, accessDenied(target!.id, decision));
  }

  /** Passes a request of 2026-07-28 to the SDK, and its response to the client. */
  async #serveModern(sdk: ServerSDK, request: MCPRequest): Promise<void> {
    const { exchange, body, headers } = request;
    const stream = new PacedStream();
    const isListening = getOwn(body, "method") === "subscriptions/listen";
    this.#modern ??= this.#createHandler(sdk);
    const handler = isListening ? this.#createListener(sdk, request, stream) : this.#modern;
    const authInfo = { ...emptyAuthInfo, extra: { request: { ...request, whenRead: stream.whenRead } } };
    // The part of the request that the SDK reads. It has no signal, which would take longer to create than the rest: the
    // exchange ends the call or the stream of a client that disconnects.
    const { method, url } = exchange;
    const sent = sdkHeaders.map((name) => [name, exchange.headers.get(name)] as [string, string]);
    const part = new Request(url, { method, headers: sent.filter(([, value]) => value !== null) });
    const response = await handler.fetch(part, { parsedBody: body, authInfo });
    const all = { ...Object.fromEntries(response.headers), ...headers };
    if (!response.headers.get("content-type")?.startsWith(eventStreamType)) {
      return exchange.reply(response.status, all, await response.text());
    }
    const reader = response.body!.getReader();
    exchange.onClose(() => void reader.cancel());
    exchange.stream({ ...all, ...streamHeaders }, (write) => stream.pass(reader, write));
  }

  #createHandler(sdk: ServerSDK, options?: { bus: ServerEventBus }): McpHttpHandler {
    const createServer = () => this.#tools.createServer(sdk, "modern");
    const onerror = (error: Error) => log.debug("A request of an MCP client failed: {error}", { error });
    return sdk.createMcpHandler(createServer, { ...options, legacy: "reject", onerror });
  }

  /** Creates the handler of one stream of notifications, which depend on the caller. It ends with its credentials. */
  #createListener(sdk: ServerSDK, { exchange, caller }: MCPRequest, stream: PacedStream): McpHttpHandler {
    const owner = caller.owner;
    if (!this.#streamShare.take(owner)) throw tooMany("streams of notifications", maxStreams);
    exchange.onClose(() => this.#streamShare.release(owner));
    const subscribe: ServerEventBus["subscribe"] = (listener) => {
      const notify = createOutbox(async () => {
        listener({ kind: "tools_list_changed" });
        await stream.whenRead();
      });
      const unfollow = this.#tools.follow(caller.identity, () => notify.add(undefined));
      const unwatch = this.#gate.watch(caller, () => void handler.close());
      this.#streams.add(handler);
      return () => {
        unfollow();
        unwatch();
        this.#streams.delete(handler);
      };
    };
    const handler = this.#createHandler(sdk, { bus: { subscribe, publish: () => {} } });
    return handler;
  }
}

/** The headers that the SDK reads. */
const sdkHeaders = ["content-type", "accept", "mcp-protocol-version", "mcp-method", "mcp-name"];
