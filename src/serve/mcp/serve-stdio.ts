import { logger } from "../../internal/log.ts";
import { type Identity, resolveLimits, toIdentity } from "../../operation/inside.ts";
import type { OperationRegistry } from "../../registry/index.ts";
import { holdBytes } from "../byte-budget.ts";
import type { CloseOptions } from "../server.ts";
import { claimOutput } from "./standard-output.ts";
import type { ProtocolEra } from "./tool.ts";
import { type MCPServerOptions, type ToolRequest, ToolServer } from "./tool-server.ts";

const log = logger("serve", "mcp");

/** Number of bytes that the input may have beyond a request of the maximum size: what is read together with it. */
const readAhead = 64 * 1024;

/** Options of {@link serveMCPStdio}. */
export interface ServeMCPStdioOptions extends MCPServerOptions {
  /** The identity of the client, because the user who starts the program is the caller. @default anonymous */
  identity?: Identity | undefined;
}

/** A registry that is served over the standard streams of this process. */
export interface ServedMCPStdio extends AsyncDisposable {
  /** Resolves when the client has closed the input of this process, or after `close()`. */
  readonly closed: Promise<void>;
  /** Lets running calls finish, and stops serving. It can be called more than once; the options of the first call apply. */
  close(options?: CloseOptions): Promise<void>;
}

/**
 * Serves the operations of a registry as tools of an MCP server over stdin and stdout, for clients that start this
 * process. Requires the package `@modelcontextprotocol/server`. Until `close()` is called, everything that is written to
 * `process.stdout` goes to stderr, because stdout carries only the protocol.
 * @example
 * await serveMCPStdio(registry, { identity: { id: "local", scopes: ["tasks"] } });
 */
export async function serveMCPStdio(
  registry: OperationRegistry,
  options: ServeMCPStdioOptions = {},
): Promise<ServedMCPStdio> {
  const tools = new ToolServer(registry, options);
  const { requestBytes } = resolveLimits(options.limits);
  const identity = toIdentity(options.identity);
  const caller = {
    kind: "caller",
    identity,
    owner: "stdio",
    expiresAt: Number.POSITIVE_INFINITY,
    credentials: { headers: new Headers() },
  } as const;
  // The client is on this machine, and the SDK does not report what it has read: only single results are limited.
  const hold = (bytes: number) => holdBytes(caller.owner, bytes)();
  const request: ToolRequest = { caller, hold };
  const output = await claimOutput();
  try {
    const sdk = await tools.sdk;
    const { StdioServerTransport, serveStdio } = await import("@modelcontextprotocol/server/stdio");
    const createServer = ({ era }: { era: ProtocolEra }) => {
      const server = tools.createServer(sdk, era, request);
      // A server that does not have a client yet notifies none.
      server.onclose = tools.follow(identity, () => void server.sendToolListChanged().catch(() => {}));
      return server;
    };
    const maxBufferSize = requestBytes + readAhead;
    const transport = new StdioServerTransport(process.stdin, output.stream, { maxBufferSize });
    const onerror = (error: Error) => log.warn("A message of the MCP client failed: {error}", { error });
    const connection = serveStdio(createServer, { transport, onerror });
    let end = (_options?: CloseOptions) => Promise.resolve();
    const closed = new Promise<void>((resolve) => {
      end = (options) => tools.close(options, () => connection.close()).then(resolve);
    });
    const { onclose } = transport;
    transport.onclose = () => {
      onclose?.();
      void end({ timeout: 0 }); // The client has left, so running calls end without a response.
    };
    const close = (options?: CloseOptions) => end(options).then(output.release);
    return { closed, close, [Symbol.asyncDispose]: () => close() };
  } catch (error) {
    output.release();
    throw error;
  }
}
