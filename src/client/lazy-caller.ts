import { toReason } from "../internal/text.ts";
import { ValueIterator } from "../internal/value-iterator.ts";
import {
  CallError,
  type ResponseEnvelope,
  type SubscribeOptions,
  type SubscriptionIterator,
  unavailable,
} from "../operation/inside.ts";

/** Makes calls over an open connection. */
export interface Caller {
  /** Calls a query or mutation. Rejects with a `CallError`. */
  call(id: string, input: unknown, options: SubscribeOptions): Promise<ResponseEnvelope>;
  /** Creates a subscription. The request is sent with the first `next()`. */
  subscribe(id: string, input: unknown, options: SubscribeOptions): AsyncIterableIterator<ResponseEnvelope>;
}

/** Opens the connection of a client. */
export interface Connection {
  /** Resolves when the connection is open. Rejects when the call with these options ends before. */
  open(id: string, options: SubscribeOptions): Promise<Caller>;
  /** Ends all calls and subscriptions. May be called twice. */
  close(): Promise<void>;
}

/** Makes the calls of a client. The code of its protocol is loaded with the first one. */
export class LazyCaller {
  readonly #load: () => Promise<Connection>;
  #connection: Promise<Connection> | undefined = undefined;
  #isClosed = false;

  constructor(load: () => Promise<Connection>) {
    this.#load = load;
  }

  /** Calls a query or mutation. */
  async call(id: string, input: unknown, options: SubscribeOptions): Promise<ResponseEnvelope> {
    return (await this.#open(id, options)).call(id, input, options);
  }

  /** Creates a subscription that yields what `select` returns. The request is sent with the first `next()`. */
  subscribe<T>(
    id: string,
    input: unknown,
    options: SubscribeOptions,
    select: (envelope: ResponseEnvelope) => T,
  ): SubscriptionIterator<T> {
    let subscription: AsyncIterator<ResponseEnvelope> | undefined;
    const pull = async () => {
      try {
        subscription ??= (await this.#open(id, options)).subscribe(id, input, options);
        if (values.isClosed) return; // The consumer has left meanwhile.
        const { done, value } = await subscription.next();
        done ? values.end() : values.push(select(value));
      } catch (error) {
        values.end({ error });
      }
    };
    const values = new ValueIterator<T>({ pull, leave: async () => void (await subscription?.return?.()) });
    return values;
  }

  /** Ends all calls and subscriptions, and closes the connection. May be called twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await (await this.#connection?.catch(() => undefined))?.close();
  }

  async #open(id: string, options: SubscribeOptions): Promise<Caller> {
    if (this.#isClosed) throw clientClosed();
    this.#connection ??= this.#load().catch((cause) => {
      this.#connection = undefined;
      // A bundler has split the code into a file of its own, and loading it failed.
      throw unavailable(`The connection could not be opened: ${toReason(cause)}.`, { cause, mayHaveRun: false });
    });
    return (await this.#connection).open(id, options);
  }
}

/** `UNAVAILABLE`: the client was closed. */
export function clientClosed(mayHaveRun = false): CallError {
  const message = "The client is closed. Connect again to make further calls.";
  return new CallError("UNAVAILABLE", message, undefined, { mayHaveRun });
}
