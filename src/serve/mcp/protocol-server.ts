import type { Server, ServerContext } from "@modelcontextprotocol/server";
import { isObject } from "../../internal/objects.ts";
import { startTimer, type Timer } from "../../internal/timers.ts";
import type { Identity, Progress } from "../../operation/index.ts";
import type { OperationRegistry } from "../../registry/index.ts";
import type { ToolCatalog } from "./catalog.ts";
import type { ToolResult } from "./result.ts";
import type { ProtocolEra } from "./tool.ts";
import type { ToolCalls, ToolRequest } from "./tool-calls.ts";

/** The SDK, which is loaded when a server is created. */
export type ServerSDK = typeof import("@modelcontextprotocol/server");

/** What a server tells clients about itself. */
export interface MCPServerDescription {
  /** Name of the server. @default "operations" */
  name?: string | undefined;
  /** Version of the server. @default "1.0.0" */
  version?: string | undefined;
  /** Display name of the server. */
  title?: string | undefined;
  /** Explains to models how to use the tools. */
  instructions?: string | undefined;
}

/** The parts that all protocol servers of one registry share. */
export interface ProtocolHost {
  readonly sdk: ServerSDK;
  readonly info: MCPServerDescription;
  readonly catalog: ToolCatalog;
  readonly calls: ToolCalls;
  /** Returns the sender of a request. */
  identityOf(context: ServerContext): Identity | undefined;
}

/** Time in ms in which changes of a registry are combined into one notification. */
const changeDelayMs = 50;

/** The first version in which invalid arguments are a result, so that models can correct them. */
const firstWithInputErrors = "2025-11-25";

/**
 * Creates a server of the SDK for one request, session or connection. It is the low-level one, because that passes
 * schemas on unchanged, lets lists depend on the caller, and costs little to create.
 */
export function createProtocolServer(host: ProtocolHost, era: ProtocolEra): Server {
  const { sdk, info, catalog, calls } = host;
  const { name = "operations", version = "1.0.0", title, instructions } = info;
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

  server.setRequestHandler("tools/list", (request, context) => {
    const page = catalog.list(host.identityOf(context), era, request.params?.cursor);
    if (page === undefined) throw invalidParams("Unknown cursor. Read the list from its beginning.");
    return page as never;
  });

  server.setRequestHandler("tools/call", async (request, context) => {
    const { name: tool, arguments: given } = request.params;
    const identity = host.identityOf(context);
    const result = await calls.call(tool, given, toToolRequest(context, era, identity));
    if (result === undefined) throw invalidParams(describeUnknown(tool, catalog.nearest(tool, identity)));
    const error = era === "legacy" ? inputErrorOf(result) : undefined;
    const protocol = server.getNegotiatedProtocolVersion();
    if (error !== undefined && protocol !== undefined && protocol < firstWithInputErrors) {
      throw invalidParams(error.message, error);
    }
    return result as never;
  });
  return server;
}

function describeUnknown(tool: string, nearest: string | undefined): string {
  const quoted = JSON.stringify(tool.slice(0, 200));
  return nearest === undefined ? `Unknown tool ${quoted}.` : `Unknown tool ${quoted}. Did you mean "${nearest}"?`;
}

/** Returns the error of a result whose arguments were invalid. */
function inputErrorOf({ isError, _meta }: ToolResult): { message: string } | undefined {
  if (isError !== true || _meta === undefined) return undefined;
  const { error } = Object.values(_meta)[0] as { error?: { code: string; message: string } };
  return error?.code === "VALIDATION_ERROR" ? error : undefined;
}

function toToolRequest(context: ServerContext, era: ProtocolEra, identity: Identity | undefined): ToolRequest {
  const { mcpReq, http } = context;
  const token = mcpReq._meta?.progressToken;
  return {
    era,
    identity,
    metadata: toMetadata(mcpReq._meta),
    get signal() {
      // The SDK aborts calls of an older session only if the client cancels them, and not when it disconnects.
      const disconnected = era === "legacy" ? http?.req?.signal : undefined;
      return disconnected === undefined ? mcpReq.signal : AbortSignal.any([mcpReq.signal, disconnected]);
    },
    ...(token !== undefined && { onProgress: createProgressSender(context, token) }),
  };
}

/** Passes on the trace of the caller, and no other metadata. */
function toMetadata(meta: unknown): Record<string, unknown> | undefined {
  if (!isObject(meta)) return undefined;
  const names = ["traceparent", "tracestate"].filter((name) => typeof meta[name] === "string");
  return names.length === 0 ? undefined : Object.fromEntries(names.map((name) => [name, meta[name]]));
}

function createProgressSender({ mcpReq }: ServerContext, progressToken: string | number) {
  let last = Number.NEGATIVE_INFINITY;
  return ({ progress, total, message }: Progress): void => {
    // The protocol requires progress that increases.
    if (!(progress > last)) return;
    last = progress;
    const params = {
      progressToken,
      progress,
      ...(total !== undefined && { total }),
      ...(message !== undefined && { message }),
    };
    mcpReq.notify({ method: "notifications/progress", params }).catch(() => {}); // The client has disconnected.
  };
}

/** Calls `notify` after changes of a registry, once for changes that follow each other closely. */
export function followChanges(registry: OperationRegistry, notify: () => void): () => void {
  let timer: Timer | undefined;
  const stop = registry.on("change", () => {
    timer ??= startTimer(
      () => {
        timer = undefined;
        notify();
      },
      changeDelayMs,
      { keepsAlive: false },
    );
  });
  return () => {
    stop();
    timer?.stop();
  };
}
