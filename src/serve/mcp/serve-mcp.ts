import type { McpHttpHandler } from "@modelcontextprotocol/server";
import { logger } from "../../internal/log.ts";
import { getOwn } from "../../internal/objects.ts";
import { startTimer } from "../../internal/timers.ts";
import { checkScopes, type Limits, loadPeer, mapError, resolveLimits } from "../../operation/index.ts";
import { coreOf, type OperationRegistry } from "../../registry/index.ts";
import { ServerCalls } from "../calls.ts";
import { type Caller, Gate } from "../gate.ts";
import { HTTPError, parseJSONBody, readJSONText } from "../request-body.ts";
import type { CloseOptions, FetchInfo, FetchServer, ServeOptions } from "../server.ts";
import { VisibleOperations } from "../visible.ts";
import { type MCPListMode, ToolCatalog } from "./catalog.ts";
import {
  createProtocolServer,
  followChanges,
  type MCPServerDescription,
  type ProtocolHost,
  type ServerSDK,
} from "./protocol-server.ts";
import { passOn, protect, toChallengeParameter, toProtectedResource, toRPCError } from "./responses.ts";
import { type MCPSessionOptions, resolveSessionLimits, type SessionLimits, Sessions } from "./sessions.ts";
import type { ProtocolEra } from "./tool.ts";
import { ToolCalls } from "./tool-calls.ts";

const log = logger("serve", "mcp");

/** Options of {@link serveMCP}. */
export interface ServeMCPOptions extends ServeOptions, MCPServerDescription {
  /** Whether tools are listed one by one, or found by searching. @default "auto" */
  mode?: MCPListMode | undefined;
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

/** The parts that need the SDK. */
interface LoadedParts {
  readonly sdk: ServerSDK;
  /** Serves the generation of 2026-07-28, in which every request is independent. */
  readonly modern: McpHttpHandler;
  readonly sessions: Sessions;
}

class MCPServer implements FetchServer {
  readonly isUnauthenticated: boolean;
  readonly #options: ServeMCPOptions;
  readonly #limits: Readonly<Required<Limits>>;
  readonly #sessionLimits: SessionLimits;
  readonly #gate: Gate;
  readonly #visible: VisibleOperations;
  readonly #catalog: ToolCatalog;
  readonly #calls: ServerCalls;
  readonly #parts: Promise<LoadedParts>;
  /** The senders of the requests that the SDK handles. */
  readonly #callers = new WeakMap<Request, Caller>();
  readonly #stopListening: () => void;
  #closed: Promise<void> | undefined = undefined;

  constructor(registry: OperationRegistry, options: ServeMCPOptions) {
    this.#options = options;
    // First: it reports that options are missing.
    this.#gate = new Gate(options, {
      exposedHeaders: ["mcp-session-id", "mcp-protocol-version", "www-authenticate"],
      challengeParameters: (request, info) => toChallengeParameter(this.#gate, request, info),
    });
    this.#limits = resolveLimits(options.limits);
    this.#sessionLimits = resolveSessionLimits(options.sessions);
    this.isUnauthenticated = this.#gate.isUnauthenticated;
    this.#visible = new VisibleOperations(coreOf(registry), options);
    this.#catalog = new ToolCatalog(this.#visible, options.mode);
    this.#calls = new ServerCalls(registry, options);
    this.#parts = this.#load();
    this.#parts.catch((error) => log.error("serveMCP cannot respond: {message}", { message: mapError(error).message }));
    this.#stopListening = followChanges(registry, () => void this.#notify());
  }

  readonly fetch = async (request: Request, info?: FetchInfo): Promise<Response> => {
    try {
      const admission = await this.#gate.check(request, info);
      if (admission.kind === "preflight") return new Response(null, { status: 204, headers: admission.headers });
      if (admission.kind === "refusal") {
        const { status, error, headers } = admission;
        return protect(toRPCError(status, -32_000, error.message), headers);
      }
      return await passOn(await this.#respond(request, info, admission), admission.headers, info);
    } catch (error) {
      log.error("A request to the MCP server failed: {error}", { error });
      return protect(toRPCError(500, -32_603, "The server could not handle the request."), undefined);
    }
  };

  readonly wellKnown = (request: Request, info?: FetchInfo): Response | undefined =>
    toProtectedResource(this.#gate, request, info);

  close(options?: CloseOptions): Promise<void> {
    this.#closed ??= this.#close(options);
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #respond(request: Request, info: FetchInfo | undefined, caller: Caller): Promise<Response> {
    if (this.#closed !== undefined) return toRPCError(503, -32_000, "The server is shutting down.");
    if (!isEndpoint(request, info)) return toRPCError(404, -32_000, "Not found.");
    const body = request.method === "POST" ? await this.#readBody(request, info) : undefined;
    if (body instanceof Response) return body;
    if (this.#needsCredentials(body, caller)) return this.#challenge(request, info);
    const { sdk, modern, sessions } = await this.#parts;
    this.#callers.set(request, caller);
    if ((eraOf(info?.headers ?? request.headers, body) ?? (await classify(sdk, request, body))) === "legacy") {
      return sessions.handle(request, body, caller);
    }
    if (getOwn(body, "method") !== "subscriptions/listen") return modern.fetch(request, { parsedBody: body });
    return modern.fetch(this.#endWithCredentials(request, body, caller), { parsedBody: body });
  }

  /** Returns the parsed body, or the response to a request whose body cannot be read. */
  async #readBody(request: Request, info: FetchInfo | undefined): Promise<unknown> {
    try {
      const text = (await readJSONText(request, info, this.#limits)) ?? "";
      return parseJSONBody(text, this.#limits) ?? toRPCError(400, -32_600, "The body is not a message of JSON-RPC.");
    } catch (error) {
      if (error instanceof HTTPError) return toRPCError(error.status, -32_000, error.message);
      return toRPCError(400, -32_700, mapError(error).message);
    }
  }

  /**
   * Returns whether an anonymous caller has to authenticate first: there is nothing for it, or it calls an operation that
   * requires scopes. MCP clients obtain a token only after a response with 401.
   */
  #needsCredentials(body: unknown, { identity }: Caller): boolean {
    if (identity !== undefined || this.#options.authenticate === "none") return false;
    if (this.#visible.for(undefined).operations.length === 0) return true;
    if (getOwn(body, "method") !== "tools/call") return false;
    const params = getOwn(body, "params");
    const name = getOwn(params, "name");
    const target = getOwn(getOwn(params, "arguments"), "operation");
    const tool = typeof name === "string" ? this.#catalog.find(name) : undefined;
    const operation = tool ?? (typeof target === "string" ? this.#catalog.findOperation(target) : undefined);
    return operation !== undefined && checkScopes(operation.operation.access, undefined) !== true;
  }

  #challenge(request: Request, info: FetchInfo | undefined): Response {
    const headers = { "www-authenticate": this.#gate.challenge(request, info) };
    return toRPCError(401, -32_000, "Authentication is required.", headers);
  }

  /** Ends a stream of notifications when the credentials of its client expire or are removed. */
  #endWithCredentials(request: Request, body: unknown, caller: Caller): Request {
    const ended = new AbortController();
    const unwatch = this.#gate.watch(caller, () => ended.abort());
    request.signal.addEventListener("abort", unwatch, { once: true });
    const signal = AbortSignal.any([request.signal, ended.signal]);
    const { url, method, headers } = request;
    const watched = new Request(url, { method, headers, signal, body: JSON.stringify(body) });
    this.#callers.set(watched, caller);
    return watched;
  }

  async #load(): Promise<LoadedParts> {
    const sdk = await loadPeer(
      "@modelcontextprotocol/server",
      "serving operations over MCP",
      () => import("@modelcontextprotocol/server"),
    );
    const host: ProtocolHost = {
      sdk,
      info: this.#options,
      catalog: this.#catalog,
      calls: new ToolCalls(this.#catalog, this.#calls, this.#options.exposeErrors === true),
      identityOf: ({ http }) => (http?.req === undefined ? undefined : this.#callers.get(http.req)?.identity),
    };
    const onerror = (error: Error) => log.debug("A request of an MCP client failed: {error}", { error });
    const modern = sdk.createMcpHandler(() => createProtocolServer(host, "modern"), { legacy: "reject", onerror });
    return { sdk, modern, sessions: new Sessions(host, this.#gate, this.#sessionLimits) };
  }

  async #notify(): Promise<void> {
    const { modern, sessions } = await this.#parts;
    modern.notify.toolsChanged();
    sessions.notifyToolsChanged();
  }

  async #close(options?: CloseOptions): Promise<void> {
    this.#stopListening();
    await this.#calls.close(options);
    const parts = await this.#parts.catch(() => undefined);
    // The SDK writes the results of the last calls in promises that have settled after this turn.
    await new Promise<void>((resolve) => startTimer(resolve, 0));
    await Promise.all([parts?.modern.close(), parts?.sessions.close()]);
    this.#visible.close();
    this.#gate.close();
  }
}

/**
 * Returns the generation of a request whose headers and body agree; `undefined` for any other. The general test of the SDK
 * would be a large part of the cost of a call.
 */
function eraOf(headers: Pick<Headers, "get" | "has">, body: unknown): ProtocolEra | undefined {
  const version = headers.get("mcp-protocol-version");
  if (version === null || typeof getOwn(body, "method") !== "string") return undefined;
  const claim = getOwn(getOwn(getOwn(body, "params"), "_meta"), "io.modelcontextprotocol/protocolVersion");
  if (!/^202[45]-/.test(version)) return claim === version ? "modern" : undefined;
  return claim === undefined && headers.has("mcp-session-id") ? "legacy" : undefined;
}

async function classify(sdk: ServerSDK, request: Request, body: unknown): Promise<ProtocolEra> {
  return (await sdk.isLegacyRequest(request, body)) ? "legacy" : "modern";
}

/** A mounted server has one address. Without a mount, every path is that of the server. */
function isEndpoint({ url }: Request, info: FetchInfo | undefined): boolean {
  if (info?.basePath === undefined) return true;
  const rest = new URL(url).pathname.slice(info.basePath.replace(/\/+$/, "").length);
  return rest === "" || rest === "/";
}
