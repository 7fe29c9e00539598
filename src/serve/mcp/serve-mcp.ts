import type { JSONRPCMessage, McpHttpHandler, ServerEventBus } from "@modelcontextprotocol/server";
import { logger } from "../../internal/log.ts";
import { getOwn } from "../../internal/objects.ts";
import { withoutTrailingSlashes } from "../../internal/urls.ts";
import { accessDenied, checkScopes, type Limits, mapError, resolveLimits } from "../../operation/inside.ts";
import type { OperationRegistry } from "../../registry/index.ts";
import type { Caller } from "../authentication.ts";
import { Gate, invalidToken } from "../gate.ts";
import { denied, HTTPError, notStarted, serverClosed } from "../refusals.ts";
import { parseJSONBody, readJSONBytes } from "../request-body.ts";
import type { CloseOptions, FetchInfo, FetchServer, ServeOptions } from "../server.ts";
import { MCPHost, type MCPServerOptions, type ServerSDK } from "./mcp-host.ts";
import { passOn, toChallengeParameters, toProtectedResource, toRPCError } from "./responses.ts";
import { toMeta } from "./result.ts";
import { findExcess, type MCPSessionOptions, Sessions } from "./sessions.ts";

const log = logger("serve", "mcp");

/**
 * Maximum number of streams on which clients of 2026-07-28 wait for notifications. A further one ends the oldest stream
 * of the identity that has the most.
 */
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
  readonly isUnauthenticated: boolean;
  readonly #limits: Readonly<Required<Limits>>;
  readonly #gate: Gate;
  readonly #host: MCPHost;
  readonly #sessions: Sessions;
  /** Serves the generation of 2026-07-28, in which every request is independent. */
  #modern: McpHttpHandler | undefined = undefined;
  /** The open streams of that generation, each of which has its own handler, by the time of their start. */
  readonly #streams = new Set<{ readonly caller: Caller; readonly handler: McpHttpHandler }>();
  /** The senders of the requests that the SDK handles. */
  readonly #callers = new WeakMap<Request, Caller>();

  constructor(registry: OperationRegistry, options: ServeMCPOptions) {
    // First: it reports that options are missing.
    this.#gate = new Gate(options, ["mcp-session-id", "mcp-protocol-version", "www-authenticate"]);
    this.#limits = resolveLimits(options.limits);
    this.isUnauthenticated = this.#gate.isUnauthenticated;
    this.#host = new MCPHost(registry, options, ({ http }) => http?.req && this.#callers.get(http.req)?.identity);
    this.#sessions = new Sessions(this.#host, this.#gate, options.sessions);
  }

  readonly fetch = async (request: Request, info?: FetchInfo): Promise<Response> => {
    const metadata = this.wellKnown(request, info);
    if (metadata !== undefined) return metadata;
    let headers: Caller["headers"];
    try {
      const admission = await this.#gate.check(request, info);
      if (admission.kind === "preflight") return new Response(null, { status: 204, headers: admission.headers });
      if (admission.kind === "refusal") throw admission;
      headers = admission.headers;
      return await passOn(await this.#respond(request, info, admission), headers, info);
    } catch (error) {
      return passOn(this.#refuse(error, request, info), headers, info);
    }
  };

  readonly wellKnown = (request: Request, info?: FetchInfo): Response | undefined =>
    toProtectedResource(this.#gate, request, info);

  close(options?: CloseOptions): Promise<void> {
    return this.#host.close(options, async () => {
      const streams = Array.from(this.#streams, ({ handler }) => handler.close());
      await Promise.all([...streams, this.#modern?.close(), this.#sessions.close()]);
      this.#gate.close();
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Responds to a request that did not reach the SDK. */
  #refuse(error: unknown, request: Request, info: FetchInfo | undefined): Response {
    if (!(error instanceof HTTPError)) {
      log.error("A request to the MCP server failed: {error}", { error });
      return toRPCError(500, -32_603, "The server could not handle the request.");
    }
    const headers = { ...error.headers };
    if (error.status === 401) {
      const parameters = "www-authenticate" in headers ? [invalidToken] : [];
      parameters.push(...toChallengeParameters(this.#gate, request, info));
      headers["www-authenticate"] = this.#gate.challenge(parameters);
    }
    const code = error.status === 400 ? -32_700 : -32_000;
    return toRPCError(error.status, code, error.message, { headers, data: toMeta({ error: error.error.toJSON() }) });
  }

  async #respond(request: Request, info: FetchInfo | undefined, caller: Caller): Promise<Response | JSONRPCMessage> {
    if (!isEndpoint(request, info)) throw new HTTPError(404, notStarted("OPERATION_NOT_FOUND", "Not found."));
    const body = request.method === "POST" ? await this.#readBody(request, info) : undefined;
    if (caller.identity === undefined && !this.isUnauthenticated) this.#requireCredentials(body);
    const sdk = await this.#host.sdk;
    // After everything that takes time. A session that starts later would not be closed.
    if (this.#host.calls.isClosed) throw new HTTPError(503, serverClosed());
    this.#callers.set(request, caller);
    // The general test of the SDK would be a large part of the cost of a call, so common requests are recognized first.
    const headers = info?.headers ?? request.headers;
    const version = getOwn(getOwn(getOwn(body, "params"), "_meta"), sdk.PROTOCOL_VERSION_META_KEY);
    const isSession = version === undefined && headers.has("mcp-session-id");
    const isModern = version !== undefined && version === headers.get("mcp-protocol-version");
    if (isSession || (!isModern && (await sdk.isLegacyRequest(request, body)))) {
      return this.#sessions.handle(sdk, request, body, caller);
    }
    this.#modern ??= this.#createHandler(sdk);
    const handler = getOwn(body, "method") === "subscriptions/listen" ? this.#createStream(sdk, caller) : this.#modern;
    return handler.fetch(request, { parsedBody: body });
  }

  /** Returns the parsed body. To an empty one, the SDK responds that it is not a message. */
  async #readBody(request: Request, info: FetchInfo | undefined): Promise<unknown> {
    const bytes = await readJSONBytes(request, info, this.#limits);
    try {
      return parseJSONBody(bytes, this.#limits) ?? {};
    } catch (error) {
      throw error instanceof HTTPError ? error : new HTTPError(400, mapError(error));
    }
  }

  /**
   * Refuses an anonymous caller that calls an operation that requires scopes, or to which no operation is visible. MCP
   * clients obtain a token only after a response with 401.
   */
  #requireCredentials(body: unknown): void {
    const { catalog } = this.#host;
    const target = getOwn(body, "method") === "tools/call" ? catalog.findTarget(getOwn(body, "params")) : undefined;
    const decision = target === undefined ? true : checkScopes(target.access, undefined);
    if (decision !== true) throw new HTTPError(401, accessDenied(target!.id, decision));
    if (catalog.visible.for(undefined).operations.length > 0) return;
    throw new HTTPError(401, denied("Authentication is required."));
  }

  #createHandler(sdk: ServerSDK, options: { bus?: ServerEventBus; maxSubscriptions?: number } = {}): McpHttpHandler {
    const createServer = () => this.#host.createServer(sdk, "modern");
    const onerror = (error: Error) => log.debug("A request of an MCP client failed: {error}", { error });
    const responseMode = this.#host.usesStreams ? "sse" : "auto";
    return sdk.createMcpHandler(createServer, { ...options, legacy: "reject", responseMode, onerror });
  }

  /** Creates the handler of one stream of notifications, which ends with the credentials of its client. */
  #createStream(sdk: ServerSDK, caller: Caller): McpHttpHandler {
    const subscribe: ServerEventBus["subscribe"] = (listener) => {
      const notify = () => listener({ kind: "tools_list_changed" });
      const unfollow = this.#host.followTools(() => caller.identity, notify);
      const unwatch = this.#gate.watch(caller, () => void handler.close());
      if (this.#streams.size >= maxStreams) void findExcess([...this.#streams]).handler.close();
      const stream = { caller, handler };
      this.#streams.add(stream);
      return () => {
        unfollow();
        unwatch();
        this.#streams.delete(stream);
      };
    };
    const handler = this.#createHandler(sdk, { bus: { subscribe, publish: () => {} }, maxSubscriptions: 1 });
    return handler;
  }
}

/** A mounted server has one address. Without a mount, every path is that of the server. */
function isEndpoint({ url }: Request, { basePath }: FetchInfo = {}): boolean {
  return basePath === undefined || withoutTrailingSlashes(new URL(url).pathname) === withoutTrailingSlashes(basePath);
}
