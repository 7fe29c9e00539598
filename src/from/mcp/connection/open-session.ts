import { onAbort } from "../../../internal/wait.ts";
import { CallError, isCallError } from "../../../operation/index.ts";
import type { MCPProtocol } from "../config.ts";
import { handshake, toConnectError } from "./connection-errors.ts";
import { describeEnd, toEndDetails, withStderr } from "./program-output.ts";
import { MCPSession, type Negotiation, type OpenOptions, type SessionListener } from "./session.ts";
import type { ConnectionSettings } from "./settings.ts";
import { createCustomTransport, createHTTPTransport, createStdioTransport, type MCPTransport } from "./transports.ts";

const modern: Negotiation = { pin: "2026-07-28" };
const timedOut = Symbol("connect timeout");

/**
 * Starts the server or connects to it once. Rejects with a `CallError` whose details contain the last lines of stderr.
 */
export async function openSession(
  settings: ConnectionSettings,
  listener: SessionListener,
  signal: AbortSignal,
): Promise<MCPSession> {
  const timeout = settings.timeouts.connect;
  const limited = new AbortController();
  if (signal.aborted) limited.abort(signal.reason);
  const stopListening = onAbort(signal, (reason) => limited.abort(reason));
  const timer = setTimeout(() => limited.abort(timedOut), timeout);
  try {
    return await new SessionOpener(settings, listener, { signal: limited.signal, timeout }).open();
  } catch (error) {
    throw explain(error, settings, limited.signal);
  } finally {
    clearTimeout(timer);
    stopListening();
  }
}

/** Chooses the transport and the protocol version of one session. */
class SessionOpener {
  readonly #settings: ConnectionSettings;
  readonly #listener: SessionListener;
  readonly #options: OpenOptions;

  constructor(settings: ConnectionSettings, listener: SessionListener, options: OpenOptions) {
    this.#settings = settings;
    this.#listener = listener;
    this.#options = options;
  }

  async open(): Promise<MCPSession> {
    const { config } = this.#settings;
    if (typeof config.transport === "function") {
      const transport = await createCustomTransport(this.#settings);
      return this.#connect(transport, toNegotiation(config.protocol ?? "legacy"));
    }
    return config.command === undefined ? this.#openHTTP() : this.#openStdio();
  }

  /** Tries the older handshake first, because discovering the version would start the program twice. */
  async #openStdio(): Promise<MCPSession> {
    const settings = this.#settings;
    const { protocol = "auto" } = settings.config;
    if (protocol === "2026-07-28" || settings.known?.modern) return this.#startProgram(modern);
    try {
      return await this.#startProgram("legacy");
    } catch (error) {
      if (protocol === "legacy" || !isRefusal(error, settings)) throw error;
      const session = await this.#startProgram(modern).catch((second) => {
        throw this.#options.signal.aborted ? second : error; // The first error is more specific.
      });
      settings.known = { modern: true };
      return session;
    }
  }

  async #startProgram(mode: Negotiation): Promise<MCPSession> {
    const transport = createStdioTransport(this.#settings);
    try {
      return await this.#connect(transport, mode);
    } catch (error) {
      const programEnd = transport.programEnd?.();
      // This client ended a program that refused the handshake.
      const isResponse = isCallError(error) || isRefusal(error, this.#settings);
      if (isResponse || this.#options.signal.aborted || programEnd === undefined) throw error;
      const message = `${describeEnd(programEnd)} before it was ready.`;
      const options = { retryable: true, mayHaveRun: false };
      throw new CallError("UNAVAILABLE", message, toEndDetails(programEnd), options);
    }
  }

  async #openHTTP(): Promise<MCPSession> {
    const settings = this.#settings;
    const { config, known } = settings;
    const chosen = typeof config.transport === "string" ? config.transport : known?.transport;
    if (chosen === "sse") return this.#reach("sse", "legacy");
    const mode = toNegotiation(config.protocol ?? "auto");
    try {
      return await this.#reach("http", mode);
    } catch (error) {
      if (chosen === "http" || mode === modern || !isFromOldServer(error, settings)) throw error;
      const session = await this.#reach("sse", "legacy").catch(() => {
        throw error; // The response to the current transport is more specific.
      });
      settings.known = { transport: "sse" };
      return session;
    }
  }

  async #reach(kind: "http" | "sse", mode: Negotiation): Promise<MCPSession> {
    const { sdk } = this.#settings;
    let session: MCPSession | undefined;
    const transport = createHTTPTransport(this.#settings, kind, () => session?.expire());
    // The stream of the older transport is the session. Without it, no response can arrive.
    if (kind === "sse") {
      transport.sdkTransport.onerror = (error) => {
        if (error instanceof sdk.SseError) void session?.client.close();
      };
    }
    session = await this.#connect(transport, mode);
    return session;
  }

  #connect(transport: MCPTransport, mode: Negotiation): Promise<MCPSession> {
    return MCPSession.open(this.#settings, transport, mode, this.#listener, this.#options);
  }
}

/** Whether the server responded, but refused the handshake as it was sent. */
function isRefusal(error: unknown, { sdk }: ConnectionSettings): boolean {
  return error instanceof sdk.ProtocolError || (error instanceof Error && error.message.includes("protocol version"));
}

function isFromOldServer(error: unknown, { sdk }: ConnectionSettings): boolean {
  return error instanceof sdk.SdkHttpError && [400, 404, 405].includes(error.status ?? 0);
}

function toNegotiation(protocol: MCPProtocol): Negotiation {
  return protocol === "2026-07-28" ? modern : protocol;
}

function explain(error: unknown, settings: ConnectionSettings, signal: AbortSignal): CallError {
  const { sdk, name, secrets, stderr, timeouts, config } = settings;
  let reason = error;
  if (signal.reason === timedOut) {
    const message = `The server was not ready within ${timeouts.connect} ms. Raise "timeouts.connect" if it needs longer to start.`;
    reason = new CallError("TIMEOUT", message, undefined, { retryable: true, mayHaveRun: false });
  } else if (signal.aborted) {
    reason = new CallError("ABORTED", "The server was closed while it was starting.", undefined, { mayHaveRun: false });
  }
  const context = { sdk, name, url: config.url, what: handshake, secrets, timeout: timeouts.connect };
  return withStderr(toConnectError(reason, context), stderr.lines);
}
