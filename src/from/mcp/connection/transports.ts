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

/** A transport of the SDK whose messages are filtered, with what a session needs to know about it. */
export interface MCPTransport {
  readonly sdkTransport: Transport;
  readonly kind: "stdio" | "http" | "sse" | "custom";
  /** Notifies the server that the session is over, where it expects that. Never rejects. */
  terminateSession?(): Promise<unknown>;
  /** How the program ended, where there is one and it has. */
  programEnd?(): ProgramEnd | undefined;
}

/** Creates a transport to a program. The program is started when the transport is. */
export function createStdioTransport(settings: ConnectionSettings): MCPTransport {
  const { config, stderr, timeouts, limits } = settings;
  const sdkTransport = new StdioTransport({
    command: config.command!,
    args: config.args ?? [],
    env: createEnvironment(process.env, config.inheritEnv, config.env),
    cwd: config.cwd,
    stderr,
    maxLineBytes: limits.lineBytes,
    maxQueuedBytes: limits.bufferedBytes,
    timeouts,
  });
  filterMessages(settings, sdkTransport);
  return { sdkTransport, kind: "stdio", programEnd: () => sdkTransport.programEnd };
}

/** Longest wait for the server to confirm that a session is over, in ms. */
const terminateTimeoutMs = 2_000;
/** A stream is opened again after at least this, in ms, even if the server requests less with `retry`. */
const minReconnectionDelayMs = 500;
const maxReconnectionDelayMs = 30_000;

/** Creates a transport to `url`. `onExpired` is called when the server does not know the session any more. */
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
    // The stream of notifications is opened again for as long as the connection lives.
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

/** Reconnects after the delay, varied at random by a fifth, so that clients do not return at the same time. */
function scheduleReconnection(reconnect: () => void, delay: number): () => void {
  const bounded = Math.min(Math.max(delay, minReconnectionDelayMs), maxReconnectionDelayMs);
  const timer = startTimer(reconnect, bounded * (0.8 + Math.random() * 0.4));
  return () => timer.stop();
}

/** Creates the transport that the configuration provides. */
export async function createCustomTransport(settings: ConnectionSettings): Promise<MCPTransport> {
  const { transport: create } = settings.config;
  if (typeof create !== "function") throw new CallError("VALIDATION_ERROR", "No transport is configured.");
  const sdkTransport = await create();
  filterMessages(settings, sdkTransport);
  return { sdkTransport, kind: "custom" };
}

function filterMessages(settings: ConnectionSettings, sdkTransport: Transport): MessageFilter {
  return new MessageFilter(sdkTransport, settings.limits.jsonDepth, () => {
    settings.ignoredResponses++;
  });
}
