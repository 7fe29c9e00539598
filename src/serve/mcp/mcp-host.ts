import type { Server, ServerContext } from "@modelcontextprotocol/server";
import { logger } from "../../internal/log.ts";
import { startTimer, type Timer } from "../../internal/timers.ts";
import { type Identity, loadPeer, mapError } from "../../operation/inside.ts";
import { coreOf, type OperationRegistry, type OperationSelection } from "../../registry/inside.ts";
import { ServerCalls } from "../calls.ts";
import { toPublicError } from "../outcome.ts";
import type { CloseOptions, ServeOptions } from "../server.ts";
import { VisibleOperations } from "../visible.ts";
import { type MCPListMode, ToolCatalog } from "./catalog.ts";
import { toErrorResult, toMeta } from "./result.ts";
import type { ProtocolEra } from "./tool.ts";
import { ToolCall } from "./tool-call.ts";

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

/** Returns the sender of a request. */
type IdentityOf = (context: ServerContext) => Identity | undefined;

/** A client that is notified when the tools that it sees have changed. */
interface Follower {
  readonly identityOf: () => Identity | undefined;
  readonly notify: () => void;
  /** What its list of tools contained when it was last compared. */
  seen: readonly unknown[];
}

/** Time in ms in which changes of a registry are combined into one notification. */
const changeDelayMs = 50;

/** Maximum time in ms that a response without data may take. Proxies wait for a minute or longer. */
const maxSilenceMs = 30_000;

/** The first version in which invalid arguments are a result, so that models can correct them. */
const firstWithInputErrors = "2025-11-25";

/** What serving a registry over HTTP and over stdio have in common. */
export class MCPHost {
  readonly catalog: ToolCatalog;
  readonly calls: ServerCalls;
  readonly options: MCPServerOptions;
  /** Whether calls may take so long that proxies close a response without data. Streams have heartbeats. */
  readonly usesStreams: boolean;
  /** Rejects if the SDK is not installed. */
  readonly sdk: Promise<ServerSDK>;
  readonly #identityOf: IdentityOf;
  readonly #followers = new Set<Follower>();
  readonly #stopListening: () => void;
  #notifying: Timer | undefined = undefined;

  constructor(registry: OperationRegistry, options: MCPServerOptions, identityOf: IdentityOf) {
    this.options = options;
    this.usesStreams = (options.defaultTimeout ?? 0) > maxSilenceMs;
    this.#identityOf = identityOf;
    this.catalog = new ToolCatalog(new VisibleOperations(coreOf(registry), options), options.mode);
    this.calls = new ServerCalls(registry, options, "mcp");
    const name = "@modelcontextprotocol/server";
    this.sdk = loadPeer(name, "serving operations over MCP", () => import("@modelcontextprotocol/server"));
    this.sdk.catch((error) => log.error("The MCP server cannot respond: {message}", { ...mapError(error).toJSON() }));
    this.#stopListening = registry.on("change", this.compareTools);
  }

  /**
   * Creates a server of the SDK for one request, session or connection. It is the low-level one, because that passes
   * schemas on unchanged, lets lists depend on the caller, and costs little to create.
   */
  createServer(sdk: ServerSDK, era: ProtocolEra): Server {
    const { name = "operations", version = "1.0.0", title, instructions } = this.options;
    const server = new sdk.Server(
      { name, version, ...(title !== undefined && { title }) },
      {
        capabilities: { tools: { listChanged: true } },
        ...(instructions !== undefined && { instructions }),
        cacheHints: { "tools/list": { ttlMs: 0, cacheScope: "private" } },
      },
    );
    const invalidParams = (message: string, data?: unknown) =>
      new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidParams, message, data);

    server.setRequestHandler("tools/list", ({ params }, context) => {
      const page = this.catalog.list(this.#identityOf(context), era, params?.cursor);
      if (page === undefined) throw invalidParams("Unknown cursor. Read the list from its beginning.");
      return page as never;
    });

    server.setRequestHandler("tools/call", async ({ params }, context) => {
      const call = new ToolCall(this, sdk, context, era, this.#identityOf(context));
      const result = await call.run(params.name, params.arguments ?? {}).catch((thrown) => {
        const error = toPublicError(mapError(thrown), call).toJSON();
        const isOlder = (server.getNegotiatedProtocolVersion() ?? firstWithInputErrors) < firstWithInputErrors;
        if (isOlder && error.code === "VALIDATION_ERROR") throw invalidParams(error.message, toMeta({ error }));
        return toErrorResult(error);
      });
      if (result === undefined) throw invalidParams(this.catalog.describeUnknown(params.name, call.identity));
      return result as never;
    });
    return server;
  }

  /**
   * Calls `notify` whenever the tools that a client sees have changed, until the returned function is called. Changes
   * of operations that the client does not see are not reported to it.
   */
  followTools(identityOf: () => Identity | undefined, notify: () => void): () => void {
    const follower: Follower = { identityOf, notify, seen: this.catalog.contentFor(identityOf()) };
    this.#followers.add(follower);
    return () => void this.#followers.delete(follower);
  }

  /** Soon notifies the clients whose tools have changed. Call it when a client may see other operations. */
  readonly compareTools = (): void => {
    this.#notifying ??= startTimer(this.#notify, changeDelayMs, { keepsAlive: false });
  };

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
      const { seen } = follower;
      follower.seen = this.catalog.contentFor(follower.identityOf());
      const isSame = seen.length === follower.seen.length && seen.every((part, index) => part === follower.seen[index]);
      if (!isSame) follower.notify();
    }
  };
}
