import { type CallRequestOptions, TransportCaller } from "../call/outgoing/index.ts";
import {
  CallError,
  type RemoteSubscribeOptions,
  type ResponseEnvelope,
  type SubscriptionIterator,
  withDeadline,
} from "../operation/index.ts";
import type { Transport } from "../transport/transport.ts";
import type { ConnectOptions } from "./connect.ts";
import { type Connection, LazySubscription, waitWithin } from "./connection.ts";

/** Calls operations over any transport of the call protocol. Closing it closes the transport. */
export class TransportConnection implements Connection {
  readonly #caller: TransportCaller;
  readonly #token: ConnectOptions["token"];
  readonly #base: Pick<CallRequestOptions, "identity">;

  constructor(transport: Transport, { token, identity, sign, trustedBus, limits }: ConnectOptions) {
    this.#caller = new TransportCaller(transport, { sign, trustedBus, limits });
    this.#token = token;
    this.#base = { identity };
  }

  call(id: string, input: unknown, options: RemoteSubscribeOptions): Promise<ResponseEnvelope> {
    const token = this.#token;
    if (typeof token !== "function") return this.#caller.call(id, input, { ...options, ...this.#base, token });
    const limited = withDeadline(options);
    return this.#readToken(id, token, limited).then((read) =>
      this.#caller.call(id, input, { ...limited, ...this.#base, token: read }),
    );
  }

  subscribe(id: string, input: unknown, options: RemoteSubscribeOptions): SubscriptionIterator<ResponseEnvelope> {
    const limited = withDeadline(options);
    return new LazySubscription(async () => {
      const token = this.#token;
      const read = typeof token === "function" ? await this.#readToken(id, token, limited) : token;
      const values = this.#caller.subscribe(id, input, { ...limited, ...this.#base, token: read });
      return values as SubscriptionIterator<ResponseEnvelope>;
    });
  }

  close(): Promise<void> {
    return this.#caller.close();
  }

  async #readToken(
    id: string,
    token: Extract<ConnectOptions["token"], (...args: never) => unknown>,
    options: RemoteSubscribeOptions,
  ): Promise<string | undefined> {
    const read = async () => {
      try {
        return await token();
      } catch (cause) {
        const message = `The token for ${this.#caller.transport.name} is not available.`;
        throw new CallError("UNAVAILABLE", message, undefined, { cause, retryable: true, mayHaveRun: false });
      }
    };
    return waitWithin(id, read, options);
  }
}
