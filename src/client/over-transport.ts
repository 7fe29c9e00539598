import { type CallingTransport, TransportCaller } from "../call/outgoing/index.ts";
import { waitFor } from "../internal/wait.ts";
import { aborted, checkCallOptions, checkPastDeadline, type SubscribeOptions, timedOut } from "../operation/inside.ts";
import type { ConnectOptions } from "./connect.ts";
import { type Connection, clientClosed } from "./lazy-caller.ts";

/**
 * Calls over a transport. When opening it fails, the calls that waited for it fail, and the next call opens it again. The
 * time spent waiting for it counts towards the timeout of a call.
 */
export class TransportConnection implements Connection {
  readonly #options: ConnectOptions;
  readonly #connect: (signal: AbortSignal) => Promise<CallingTransport>;
  #opening: Promise<TransportCaller> | undefined = undefined;
  readonly #closing = new AbortController();

  /** @param connect opens the transport; its signal is aborted when the client is closed meanwhile */
  constructor(options: ConnectOptions, connect: (signal: AbortSignal) => Promise<CallingTransport>) {
    this.#options = options;
    this.#connect = connect;
  }

  async open(id: string, options: SubscribeOptions): Promise<TransportCaller> {
    const { deadline, signal } = options;
    const invalid = checkCallOptions(id, options);
    if (invalid !== undefined) throw invalid;
    if (signal?.aborted) throw aborted(id, signal.reason, false);
    const left = (deadline ?? Number.POSITIVE_INFINITY) - Date.now();
    if (left <= 0) throw checkPastDeadline(id, deadline!) ?? timedOut(id, false);
    this.#opening ??= this.#start();
    const opening = waitFor(this.#opening, { timeout: left, signal }, (failure) =>
      failure === "TIMEOUT" ? timedOut(id, false) : aborted(id, signal?.reason, false),
    );
    return waitFor(opening, { signal: this.#closing.signal }, () => clientClosed());
  }

  async close(): Promise<void> {
    this.#closing.abort();
    const opened = await this.#opening?.catch(() => undefined);
    await opened?.close();
  }

  async #start(): Promise<TransportCaller> {
    try {
      return new TransportCaller(await this.#connect(this.#closing.signal), this.#options);
    } catch (error) {
      this.#opening = undefined;
      throw error;
    }
  }
}
