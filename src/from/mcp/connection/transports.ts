import type { Transport } from "@modelcontextprotocol/client";
import { startTimer } from "../../../internal/timers.ts";
import { settlesWithin } from "../../../internal/wait.ts";
import { CallError } from "../../../operation/index.ts";
import { createAuthorisation } from "./auth.ts";
import { createEnvironment } from "./environment.ts";
import { createGuardedFetch } from "./guarded-fetch.ts";
import { MessageFilter } from "./message-filter.ts";
import type { ProgramEnd } from "./program-output.ts";
import type { ConnectionSettings } from "./settings.ts";
import { StdioTransport } from "./stdio-transport.ts";

/** A transport of the SDK whose messages are filtered, with the functions that a session needs. */
export interface MCPTransport {
  readonly sdkTransport: Transport;
  readonly kind: "stdio" | "http" | "sse" | "custom";
  /** Notifies the server that the session has ended, if the transport supports it. Never rejects. */
  terminateSession?(): Promise<unknown>;
  /** Returns how the program ended, or `undefined` if there is no program or it is still running. */
  programEnd?(): ProgramEnd | undefined;
}

/** Creates a transport to a program. Starting the transport starts the program. */
export function createStdioTransport(settings: ConnectionSettings): MCPTransport {
  const { config, stderr, timeouts, limits } = settings;
  const sdkTransport = new StdioTransport({
    command: config.command!,
    args: config.args ?? [],
    env: createEnvironment(process.env, config.inheritEnv, config.env),
    cwd: config.cwd,
    stderr,
    maxLineBytes: limits.lineBytes,
    timeouts,
  });
  filterMessages(settings, sdkTransport);
  return { sdkTransport, kind: "stdio", programEnd: () => sdkTransport.programEnd };
}

/** Maximum wait for the server to confirm the end of a session, in ms. */
const terminateTimeoutMs = 2_000;
/** Minimum delay before a stream is reopened, in ms, even if the server requests less with `retry`. */
const minReconnectionDelayMs = 500;
/** Maximum delay for a server that does not request one, in ms. */
const maxReconnectionDelayMs = 30_000;

/** Creates a transport to `url`. `onExpired` is called when the server no longer has the session. */
export function createHTTPTransport(
  settings: ConnectionSettings,
  kind: "http" | "sse",
  onExpired: () => void,
): MCPTransport {
  const { sdk, config, secrets, limits } = settings;
  const url = new URL(config.url!);
  settings.authorisation ??= createAuthorisation(sdk, url, config.auth, secrets);
  const { provider, guard } = settings.authorisation;
  let filter: MessageFilter | undefined;
  const options = {
    authProvider: provider,
    fetch: createGuardedFetch({
      url,
      headers: config.headers,
      fetch: config.fetch ?? ((input, init) => fetch(input, init)),
      maxBytes: limits.responseBytes,
      secrets,
      guard,
      failRequest: (id, error) => filter?.fail(id, error),
      onExpired,
    }),
  };
  if (kind === "sse") {
    const sdkTransport = new sdk.SSEClientTransport(url, options);
    filter = filterMessages(settings, sdkTransport);
    return { sdkTransport, kind };
  }
  const sdkTransport = new sdk.StreamableHTTPClientTransport(url, {
    ...options,
    // The notification stream is reopened until the connection is closed.
    reconnectionOptions: {
      initialReconnectionDelay: 1_000,
      maxReconnectionDelay: maxReconnectionDelayMs,
      reconnectionDelayGrowFactor: 2,
      maxRetries: Number.MAX_SAFE_INTEGER,
    },
    reconnectionScheduler: scheduleReconnection,
  });
  filter = filterMessages(settings, sdkTransport);
  return {
    sdkTransport,
    kind,
    terminateSession: async () =>
      sdkTransport.sessionId !== undefined && settlesWithin(terminateTimeoutMs, sdkTransport.terminateSession()),
  };
}

/** Reconnects after the delay and up to a fifth more at random, so that clients do not reconnect at the same time. */
function scheduleReconnection(reconnect: () => void, delay: number): () => void {
  const timer = startTimer(reconnect, Math.max(delay, minReconnectionDelayMs) * (1 + Math.random() / 5));
  return () => timer.stop();
}

/** Creates the transport that the configuration provides. */
export async function createCustomTransport(settings: ConnectionSettings): Promise<MCPTransport> {
  const { transport: create } = settings.config;
  if (typeof create !== "function")
    throw new CallError("VALIDATION_ERROR", 'The configured "transport" is not a function.');
  const sdkTransport = await create();
  filterMessages(settings, sdkTransport);
  return { sdkTransport, kind: "custom" };
}

function filterMessages(settings: ConnectionSettings, sdkTransport: Transport): MessageFilter {
  return new MessageFilter(sdkTransport, settings.limits.jsonDepth, () => {
    settings.ignoredResponses++;
  });
}
