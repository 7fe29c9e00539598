import { startTimer } from "../../../internal/timers.ts";
import { CallError } from "../../../operation/index.ts";
import { createAuthorisation } from "./auth.ts";
import { createEnvironment } from "./environment.ts";
import { createGuardedFetch } from "./guarded-fetch.ts";
import type { Wire } from "./link.ts";
import { MessageTap } from "./message-tap.ts";
import type { Setup } from "./setup.ts";
import { StdioTransport } from "./stdio-transport.ts";

/** Longest wait for a server to hear that its session is over. */
const leaveTimeout = 2_000;

/** A transport to a program that is not started yet. */
export function stdioWire(setup: Setup): Wire & { transport: StdioTransport } {
  const { config, lines, timeouts } = setup;
  const transport = new StdioTransport({
    command: config.command!,
    args: config.args ?? [],
    env: createEnvironment(process.env, config.inheritEnv, config.env),
    cwd: config.cwd,
    lines,
    maxLine: setup.limits.lineBytes,
    maxQueued: setup.limits.bufferedBytes,
    timeouts,
  });
  return { transport, tap: tapOf(setup, transport), kind: "stdio", ended: () => transport.ended };
}

/** A stream is opened again after at least this, in ms, even if the server asks for less with `retry`. */
const minReconnectionDelay = 500;
const maxReconnectionDelay = 30_000;

/** Waits before a stream is opened again, a fifth more or less by chance, so that clients do not return all at once. */
function scheduleReconnection(reconnect: () => void, delay: number): () => void {
  const bounded = Math.min(Math.max(delay, minReconnectionDelay), maxReconnectionDelay);
  const timer = startTimer(reconnect, bounded * (0.8 + Math.random() * 0.4));
  return () => timer.stop();
}

/** A transport to `url`. `onSessionLost` hears when the server has forgotten the session. */
export function httpWire(setup: Setup, kind: "http" | "sse", onSessionLost: () => void): Wire {
  const { sdk, config, secrets } = setup;
  const url = new URL(config.url!);
  setup.authorisation ??= createAuthorisation(sdk, url, config.auth, secrets);
  const { provider, guard } = setup.authorisation;
  let tap: MessageTap | undefined;
  const options = {
    authProvider: provider,
    fetch: createGuardedFetch({
      url,
      headers: config.headers,
      fetch: config.fetch ?? ((input, init) => fetch(input, init)),
      maxBytes: setup.limits.responseBytes,
      secrets,
      guard,
      tap: () => tap,
      onSessionLost,
    }),
  };
  if (kind === "sse") {
    const transport = new sdk.SSEClientTransport(url, options);
    tap = tapOf(setup, transport);
    return { transport, tap, kind };
  }
  const transport = new sdk.StreamableHTTPClientTransport(url, {
    ...options,
    // The stream that tells of changes is opened again for as long as the connection lives.
    reconnectionOptions: {
      initialReconnectionDelay: 1_000,
      maxReconnectionDelay,
      reconnectionDelayGrowFactor: 2,
      maxRetries: Number.MAX_SAFE_INTEGER,
    },
    reconnectionScheduler: scheduleReconnection,
  });
  tap = tapOf(setup, transport);
  return {
    transport,
    tap,
    kind,
    async leave() {
      if (transport.sessionId === undefined) return;
      let timer: ReturnType<typeof setTimeout> | undefined;
      const tooLong = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, leaveTimeout);
      });
      await Promise.race([transport.terminateSession(), tooLong]).finally(() => clearTimeout(timer));
    },
  };
}

/** A transport that the configuration makes. */
export async function customWire(setup: Setup): Promise<Wire> {
  const { transport: make } = setup.config;
  if (typeof make !== "function") throw new CallError("VALIDATION_ERROR", "No transport is configured.");
  const transport = await make();
  return { transport, tap: tapOf(setup, transport), kind: "custom" };
}

function tapOf(setup: Setup, transport: Wire["transport"]): MessageTap {
  return new MessageTap(transport, setup.limits.jsonDepth, () => {
    setup.ignoredResponses++;
  });
}
