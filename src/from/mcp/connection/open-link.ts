import { CallError, isCallError } from "../../../operation/index.ts";
import { Link, type LinkListener, type Negotiation, type Wire } from "./link.ts";
import { type LinkErrorContext, toConnectError } from "./link-error.ts";
import { customWire, httpWire, stdioWire } from "./open-wire.ts";
import { describeEnd, detailsOfEnd, type ProgramEnd, withStderr } from "./program-end.ts";
import type { Setup } from "./setup.ts";

const modern: Negotiation = { pin: "2026-07-28" };

/** Starts or reaches the server once. Rejects with a `CallError`, whose details hold the last lines of stderr. */
export async function openLink(setup: Setup, listener: LinkListener, signal: AbortSignal): Promise<Link> {
  const timeout = setup.timeouts.connect;
  const limited = new AbortController();
  const abort = () => limited.abort(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  const timer = setTimeout(() => limited.abort(timedOut), timeout);
  try {
    return await connect(setup, listener, { signal: limited.signal, timeout });
  } catch (error) {
    throw explain(error, setup, limited.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}

const timedOut = Symbol("connect timeout");

type Options = { signal: AbortSignal; timeout: number };

function connect(setup: Setup, listener: LinkListener, options: Options): Promise<Link> {
  const { config } = setup;
  if (typeof config.transport === "function") return connectCustom(setup, listener, options);
  return config.command === undefined ? connectHTTP(setup, listener, options) : connectStdio(setup, listener, options);
}

async function connectCustom(setup: Setup, listener: LinkListener, options: Options): Promise<Link> {
  return open(setup, await customWire(setup), modeOf(setup.config.protocol ?? "legacy"), listener, options);
}

/** The handshake first, because asking for the version would start the program twice. */
async function connectStdio(setup: Setup, listener: LinkListener, options: Options): Promise<Link> {
  const { protocol = "auto" } = setup.config;
  if (protocol === "2026-07-28" || setup.known?.modern) return openStdio(setup, modern, listener, options);
  try {
    return await openStdio(setup, "legacy", listener, options);
  } catch (error) {
    if (protocol === "legacy" || !isRefusal(error, setup)) throw error;
    const link = await openStdio(setup, modern, listener, options).catch((second) => {
      throw options.signal.aborted ? second : error; // what it said to the handshake is more to the point
    });
    setup.known = { modern: true };
    return link;
  }
}

async function openStdio(setup: Setup, mode: Negotiation, listener: LinkListener, options: Options): Promise<Link> {
  const wire = stdioWire(setup);
  try {
    return await open(setup, wire, mode, listener, options);
  } catch (error) {
    // A program that refused the handshake was ended by us.
    const isAnswer = isCallError(error) || isRefusal(error, setup);
    const { ended } = wire.transport;
    throw isAnswer || options.signal.aborted || ended === undefined ? error : endedEarly(ended);
  }
}

/** The server is there and answered, but not to the handshake as it was asked. */
function isRefusal(error: unknown, { sdk }: Setup): boolean {
  return error instanceof sdk.ProtocolError || (error instanceof Error && error.message.includes("protocol version"));
}

async function connectHTTP(setup: Setup, listener: LinkListener, options: Options): Promise<Link> {
  const { config, known } = setup;
  const chosen = typeof config.transport === "string" ? config.transport : known?.transport;
  if (chosen === "sse") return openHTTP(setup, "sse", "legacy", listener, options);
  const mode = modeOf(config.protocol ?? "auto");
  try {
    return await openHTTP(setup, "http", mode, listener, options);
  } catch (error) {
    if (chosen === "http" || mode === modern || !isOldServer(error, setup)) throw error;
    const link = await openHTTP(setup, "sse", "legacy", listener, options).catch(() => {
      throw error; // what the server said to the transport of today is more to the point
    });
    setup.known = { transport: "sse" };
    return link;
  }
}

function isOldServer(error: unknown, { sdk }: Setup): boolean {
  return error instanceof sdk.SdkHttpError && [400, 404, 405].includes(error.status ?? 0);
}

async function openHTTP(
  setup: Setup,
  kind: "http" | "sse",
  mode: Negotiation,
  listener: LinkListener,
  options: Options,
): Promise<Link> {
  let link: Link | undefined;
  const wire = httpWire(setup, kind, () => link?.forget());
  // The stream of the older transport is the session: without it no answer can come.
  if (kind === "sse") {
    wire.transport.onerror = (error) => {
      if (error instanceof setup.sdk.SseError) void link?.client.close();
    };
  }
  link = await open(setup, wire, mode, listener, options);
  return link;
}

function open(setup: Setup, wire: Wire, mode: Negotiation, listener: LinkListener, options: Options): Promise<Link> {
  return Link.open(setup.sdk, setup.name, setup.config, wire, mode, listener, options);
}

function modeOf(protocol: "auto" | "legacy" | "2026-07-28"): Negotiation {
  return protocol === "2026-07-28" ? modern : protocol;
}

function endedEarly(ended: ProgramEnd): CallError {
  const message = `${describeEnd(ended)} before it was ready.`;
  return new CallError("UNAVAILABLE", message, detailsOfEnd(ended), { retryable: true, mayHaveRun: false });
}

function explain(error: unknown, setup: Setup, signal: AbortSignal): CallError {
  const { sdk, name, secrets, lines, timeouts } = setup;
  const context: LinkErrorContext = { sdk, name, what: "the handshake", secrets, timeout: timeouts.connect };
  const reason =
    signal.reason === timedOut
      ? new CallError("TIMEOUT", `It was not ready within ${timeouts.connect} ms.`, undefined, {
          retryable: true,
          mayHaveRun: false,
        })
      : signal.aborted
        ? new CallError("ABORTED", "It was closed while it was starting.", undefined, { mayHaveRun: false })
        : error;
  return withStderr(toConnectError(reason, context), lines.lines);
}
