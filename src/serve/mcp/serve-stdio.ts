import { logger } from "../../internal/log.ts";
import { type Identity, resolveLimits, toIdentity } from "../../operation/inside.ts";
import type { OperationRegistry } from "../../registry/index.ts";
import type { CloseOptions } from "../server.ts";
import { MCPHost, type MCPServerOptions } from "./mcp-host.ts";
import { claimOutput, StandardStreams } from "./standard-streams.ts";
import type { ProtocolEra } from "./tool.ts";

const log = logger("serve", "mcp");

/** Options of {@link serveMCPStdio}. */
export interface ServeMCPStdioOptions extends MCPServerOptions {
  /**
   * The identity of the client, because the user who starts the program is the caller. A function is called for every
   * request and whenever operations change. @default anonymous
   */
  identity?: Identity | (() => Identity | undefined) | undefined;
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
  const { identity: given } = options;
  const identity = typeof given === "function" ? undefined : toIdentity(given);
  const identityOf = () => (typeof given === "function" ? toIdentity(given()) : identity);
  const host = new MCPHost(registry, options, identityOf);
  const limits = resolveLimits(options.limits);
  const output = claimOutput();
  try {
    const sdk = await host.sdk;
    const { serveStdio } = await import("@modelcontextprotocol/server/stdio");
    const createServer = ({ era }: { era: ProtocolEra }) => {
      const server = host.createServer(sdk, era);
      // A server that does not have a client yet notifies none.
      const notify = () => server.sendToolListChanged().catch(() => {});
      server.onclose = host.followTools(identityOf, notify);
      return server;
    };
    const streams = new StandardStreams(sdk, limits, output);
    const connection = serveStdio(createServer, {
      transport: streams,
      onerror: (error) => log.debug("A message of the MCP client failed: {error}", { error }),
    });
    let end = (_options?: CloseOptions) => Promise.resolve();
    const closed = new Promise<void>((resolve) => {
      end = (options) => host.close(options, () => connection.close()).then(resolve);
    });
    streams.onEnd = () => void end({ timeout: 0 });
    const close = (options?: CloseOptions) => end(options).then(output.release);
    return { closed, close, [Symbol.asyncDispose]: () => close() };
  } catch (error) {
    output.release();
    throw error;
  }
}
