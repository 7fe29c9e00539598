import type { Server, ServerContext } from "@modelcontextprotocol/server";
import { logger, reportFailure } from "../../internal/log.ts";
import { startTimer, type Timer } from "../../internal/timers.ts";
import { type Identity, loadPeer, mapError } from "../../operation/inside.ts";
import type { OperationRegistry, OperationSelection } from "../../registry/index.ts";
import type { Exchange } from "../exchange.ts";
import type { Caller, Gate } from "../gate.ts";
import { CallRunner } from "../run.ts";
import type { CloseOptions, ServeOptions } from "../server.ts";
import { callTool } from "./call-tool.ts";
import { type MCPListMode, ToolCatalog } from "./catalog.ts";
import type { ProtocolEra } from "./tool.ts";

const log = logger("serve", "mcp");

/** The SDK, which is loaded when a server is created. */
export type ServerSDK = typeof import("@modelcontextprotocol/server");

/** Options of every MCP server. */
export interface MCPServerOptions
  extends OperationSelection,
    Pick<ServeOptions, "exposeErrors" | "defaultTimeout" | "maxTimeout" | "limits"> {
  /** Name of the server. @default "operations" */
  name?: string | undefined;
  /** Version of the server. @default "1.0.0" */
  version?: string | undefined;
  /** Display name of the server. */
  title?: string | undefined;
  /** Explains to models how to use the tools. */
  instructions?: string | undefined;
  /** Whether tools are listed one by one, or found by searching. @default "auto" */
  mode?: MCPListMode | undefined;
}

/** A request of a client, as the SDK passes it to the handlers of {@link ToolServer} in `extra` of its `authInfo`. */
export interface ToolRequest {
  readonly caller: Caller;
  /** The request over HTTP. */
  readonly exchange?: Pick<Exchange, "onClose">;
  /** Notes the size of a result that exists until it is sent. Throws `LIMIT_EXCEEDED` if it must not be kept. */
  hold(bytes: number): void;
  /** Resolves when the client has read what it was sent, where the SDK does not know. */
  whenRead?(): Promise<void>;
}

/** The `authInfo` of the SDK, which carries a request in `extra`. Its own fields are not used: the gate has authenticated the caller. */
export const emptyAuthInfo = { token: "", clientId: "", scopes: [] };

/** A client that is notified when the tools that it sees have changed. */
interface Follower {
  readonly identity: Identity | undefined;
  readonly notify: () => void;
  /** What its list of tools contained when it was last compared. */
  seen: readonly unknown[];
}

/** Time in ms in which changes of a registry are combined into one notification. */
const changeDelayMs = 50;

/** The tools of a registry, for clients over HTTP and over stdio. */
export class ToolServer {
  readonly catalog: ToolCatalog;
  readonly calls: CallRunner;
  readonly options: MCPServerOptions;
  /** Rejects if the SDK is not installed. */
  readonly sdk: Promise<ServerSDK>;
  readonly #followers = new Set<Follower>();
  readonly #stopListening: () => void;
  #notifying: Timer | undefined = undefined;

  /** @param gate - watches the credentials of callers. @default they do not end */
  constructor(registry: OperationRegistry, options: MCPServerOptions, gate?: Gate) {
    this.options = options;
    this.catalog = new ToolCatalog(registry, options);
    this.calls = new CallRunner(registry, options, "mcp", gate);
    const name = "@modelcontextprotocol/server";
    this.sdk = loadPeer(name, "serving operations over MCP", () => import("@modelcontextprotocol/server"));
    this.sdk.catch((error) => reportFailure(log, "The MCP server cannot respond: {error}", mapError(error).message));
    this.#stopListening = registry.on("change", () => {
      this.#notifying ??= startTimer(this.#notify, changeDelayMs, { keepsAlive: false });
    });
  }

  /**
   * Creates a server of the SDK for one request, session or connection. It is the low-level one, because that passes
   * schemas on unchanged, lets lists depend on the caller, and costs little to create.
   * @param local - the only client of a server without `authInfo`
   */
  createServer(sdk: ServerSDK, era: ProtocolEra, local?: ToolRequest): Server {
    const { name = "operations", version = "1.0.0", title, instructions } = this.options;
    const server = new sdk.Server(
      { name, version, ...(title !== undefined && { title }) },
      {
        capabilities: { tools: { listChanged: true } },
        ...(instructions !== undefined && { instructions }),
        cacheHints: { "tools/list": { ttlMs: 0, cacheScope: "private" } },
      },
    );
    const requestOf = ({ http }: ServerContext) => local ?? (http!.authInfo!.extra!["request"] as ToolRequest);

    server.setRequestHandler("tools/list", ({ params }, context) => {
      const page = this.catalog.list(requestOf(context).caller.identity, era, params?.cursor);
      if (page !== undefined) return page as never;
      throw new sdk.ProtocolError(-32_602, "Unknown cursor. Read the list from its beginning.");
    });
    server.setRequestHandler("tools/call", async ({ params }, context) => {
      const version = server.getNegotiatedProtocolVersion();
      return (await callTool(this, { sdk, era, version, params, context, request: requestOf(context) })) as never;
    });
    return server;
  }

  /**
   * Calls `notify` whenever the tools that an identity sees have changed, until the returned function is called. Changes of
   * operations that it does not see are not reported.
   */
  follow(identity: Identity | undefined, notify: () => void): () => void {
    const follower: Follower = { identity, notify, seen: this.catalog.contentFor(identity) };
    this.#followers.add(follower);
    return () => void this.#followers.delete(follower);
  }

  /** Lets running calls finish, and then ends the connections. It can be called more than once; the first options apply. */
  async close(options: CloseOptions | undefined, endConnections: () => Promise<unknown>): Promise<void> {
    this.#stopListening();
    this.#notifying?.stop();
    await this.calls.close(options);
    // The SDK writes the results of the last calls in promises that have settled after this turn.
    await new Promise<void>((resolve) => startTimer(resolve, 0));
    await endConnections();
    this.catalog.visible.close();
  }

  readonly #notify = (): void => {
    this.#notifying = undefined;
    for (const follower of this.#followers) {
      const { identity, seen, notify } = follower;
      follower.seen = this.catalog.contentFor(identity);
      const isSame = seen.length === follower.seen.length && seen.every((part, index) => part === follower.seen[index]);
      if (!isSame) notify();
    }
  };
}
