import type { Server } from "@modelcontextprotocol/server";
import { logger } from "../../internal/log.ts";
import { startTimer } from "../../internal/timers.ts";
import { type Identity, loadPeer, toIdentity } from "../../operation/index.ts";
import { coreOf, type OperationRegistry, type OperationSelection } from "../../registry/index.ts";
import { ServerCalls } from "../calls.ts";
import type { CloseOptions, ServeOptions } from "../server.ts";
import { VisibleOperations } from "../visible.ts";
import { type MCPListMode, ToolCatalog } from "./catalog.ts";
import {
  createProtocolServer,
  followChanges,
  type MCPServerDescription,
  type ProtocolHost,
} from "./protocol-server.ts";
import { ToolCalls } from "./tool-calls.ts";

const log = logger("serve", "mcp");

/** Options of {@link serveMCPStdio}. */
export interface ServeMCPStdioOptions
  extends OperationSelection,
    MCPServerDescription,
    Pick<ServeOptions, "exposeErrors" | "defaultTimeout" | "maxTimeout" | "limits"> {
  /** The identity of the client, because the user who starts the program is the caller. @default anonymous */
  identity?: Identity | undefined;
  /** Whether tools are listed one by one, or found by searching. @default "auto" */
  mode?: MCPListMode | undefined;
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
 * process. Requires the package `@modelcontextprotocol/server`. Until `close()` is called, `console.log` and
 * `process.stdout.write` write to stderr, because stdout carries only the protocol.
 * @example
 * await serveMCPStdio(registry, { identity: { id: "local", scopes: ["tasks"] } });
 */
export async function serveMCPStdio(
  registry: OperationRegistry,
  options: ServeMCPStdioOptions = {},
): Promise<ServedMCPStdio> {
  const identity = toIdentity(options.identity);
  if (options.identity !== undefined && identity === undefined) {
    throw new TypeError("The option identity is invalid. Pass an object with id and scopes.");
  }
  const output = await claimOutput();
  try {
    const name = "@modelcontextprotocol/server";
    const purpose = "serving operations over MCP";
    const sdk = await loadPeer(name, purpose, () => import("@modelcontextprotocol/server"));
    const stdio = await loadPeer(name, purpose, () => import("@modelcontextprotocol/server/stdio"));
    const visible = new VisibleOperations(coreOf(registry), options);
    const catalog = new ToolCatalog(visible, options.mode);
    const calls = new ServerCalls(registry, options);
    const toolCalls = new ToolCalls(catalog, calls, options.exposeErrors === true);
    const host: ProtocolHost = { sdk, info: options, catalog, calls: toolCalls, identityOf: () => identity };
    const servers = new Set<Server>();
    const handle = stdio.serveStdio(
      ({ era }) => {
        const server = createProtocolServer(host, era);
        servers.add(server);
        return server;
      },
      {
        transport: new stdio.StdioServerTransport(process.stdin, output.stream),
        onerror: (error) => log.debug("A message of the MCP client failed: {error}", { error }),
      },
    );
    const stopNotifying = followChanges(registry, () => {
      for (const server of servers) server.sendToolListChanged().catch(() => {}); // It may not have a client yet.
    });
    const stop = async () => {
      stopNotifying();
      await handle.close();
      visible.close();
    };
    return new StdioService(calls, stop, output.release);
  } catch (error) {
    output.release();
    throw error;
  }
}

class StdioService implements ServedMCPStdio {
  readonly closed: Promise<void>;
  readonly #calls: ServerCalls;
  readonly #stop: () => Promise<void>;
  readonly #releaseOutput: () => void;
  #ended: Promise<void> | undefined = undefined;
  #onClosed!: () => void;

  constructor(calls: ServerCalls, stop: () => Promise<void>, releaseOutput: () => void) {
    this.#calls = calls;
    this.#stop = stop;
    this.#releaseOutput = releaseOutput;
    this.closed = new Promise((resolve) => {
      this.#onClosed = resolve;
    });
    // The client has left, so nothing can be sent to it.
    for (const event of ["end", "close"]) process.stdin.once(event, () => void this.#end({ timeout: 0 }));
  }

  async close(options?: CloseOptions): Promise<void> {
    await this.#end(options);
    this.#releaseOutput();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #end(options?: CloseOptions): Promise<void> {
    this.#ended ??= this.#drain(options);
    return this.#ended;
  }

  async #drain(options?: CloseOptions): Promise<void> {
    await this.#calls.close(options);
    // The SDK writes the results of the last calls in promises that have settled after this turn.
    await new Promise<void>((resolve) => startTimer(resolve, 0));
    await this.#stop();
    this.#onClosed();
  }
}

/** Returns a stream that writes to stdout. Everything else that the process writes there goes to stderr. */
async function claimOutput() {
  const { Writable } = await import("node:stream");
  const { stdout, stderr } = process;
  const { write } = stdout;
  const stream = new Writable({
    decodeStrings: false,
    write: (chunk: string, encoding, done) => void write.call(stdout, chunk, encoding, done),
  });
  // A client that has closed the pipe also closes stdin, which ends the service.
  stdout.on("error", ignore);
  stdout.write = stderr.write.bind(stderr) as typeof stdout.write;
  const release = () => {
    stdout.write = write;
    stdout.off("error", ignore);
  };
  return { stream, release };
}

function ignore(): void {}
