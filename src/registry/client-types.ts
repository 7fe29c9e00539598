import type {
  CallOptions,
  KnownOperations,
  NameOf,
  NamespaceOf,
  ResponseEnvelope,
  SubscribeOptions,
} from "../operation/index.ts";

/** What holds for every call of a client; a call's own options come on top. */
export type ClientOptions = Pick<CallOptions, "identity" | "signal" | "deadline" | "metadata">;

/** Calls operations by namespace and name and gives their data: `await client.task.create(input)`. */
export type Client<Known extends KnownOperations = KnownOperations> = {
  // All ids of a namespace share one key, so `Ids` is the union of them.
  readonly [Ids in keyof Known as NamespaceOf<Ids>]: {
    readonly [Id in Ids as NameOf<Id>]: ClientOperation<Known[Id]["type"], Known[Id]["input"], Known[Id]["output"]>;
  };
};

/** One operation of a client. Where its type is not known the answer can be awaited or iterated, as fits. */
export type ClientOperation<Type, Input, Output> = [Type] extends ["subscription"]
  ? ClientSubscription<Input, Output>
  : [Type] extends ["query" | "mutation"]
    ? ClientCall<Input, Output>
    : ClientAny<Input, Output>;

/** Calls a query or mutation. An MCP result with `isError` throws `EXECUTION_ERROR`. */
export interface ClientCall<Input, Output> {
  (...args: CallArguments<Input>): Promise<Output>;
  /** Gives the whole envelope, and an MCP `isError` result as it is. */
  envelope(...args: CallArguments<Input>): Promise<ResponseEnvelope<Output>>;
  /** Gives page after page, for operations that know their next page; others give one. */
  pages(...args: CallArguments<Input>): AsyncIterableIterator<ResponseEnvelope<Output>>;
}

/** Subscribes. Leaving the loop ends the subscription. */
export interface ClientSubscription<Input, Output> {
  (...args: SubscribeArguments<Input>): AsyncIterableIterator<Output>;
  /** Gives the envelope of each value. */
  envelope(...args: SubscribeArguments<Input>): AsyncIterableIterator<ResponseEnvelope<Output>>;
}

/** Calls an operation of which the compiler does not know the type. */
export interface ClientAny<Input, Output> {
  (...args: SubscribeArguments<Input>): Promise<Output> & AsyncIterableIterator<Output>;
  /** Gives the whole envelope, or the envelope of each value. */
  envelope(
    ...args: SubscribeArguments<Input>
  ): Promise<ResponseEnvelope<Output>> & AsyncIterableIterator<ResponseEnvelope<Output>>;
  /** Gives page after page. */
  pages(...args: CallArguments<Input>): AsyncIterableIterator<ResponseEnvelope<Output>>;
}

/** The input may be left out where `undefined` is one. */
export type CallArguments<Input> = undefined extends Input
  ? [input?: Input, options?: CallOptions]
  : [input: Input, options?: CallOptions];

/** The same for subscriptions. */
export type SubscribeArguments<Input> = undefined extends Input
  ? [input?: Input, options?: SubscribeOptions]
  : [input: Input, options?: SubscribeOptions];
