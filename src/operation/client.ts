import type { CallArguments, CallOptions, OwnOptions, SubscribeOptions } from "./context.ts";
import type { DeclaredError } from "./declared-errors.ts";
import type { ResponseEnvelope } from "./envelope.ts";
import type { KnownOperation, KnownOperations, NameOf, NamespaceOf, OperationsByNamespace } from "./known.ts";

/** Calls operations by namespace and name and returns their data: `await client.task.create(input)`. */
export type Client<Known extends KnownOperations | OperationsByNamespace = KnownOperations> = OperationsOf<
  Known,
  "local"
>;

/** The operations of a remote registry, by namespace and name. */
export type RemoteOperations<Known extends KnownOperations | OperationsByNamespace = KnownOperations> = OperationsOf<
  Known,
  "remote"
>;

/** The operations of a client, by namespace and name. */
type OperationsOf<Known extends KnownOperations | OperationsByNamespace, Place extends "local" | "remote"> = [
  Known,
] extends [OperationsByNamespace]
  ? {
      readonly [Namespace in keyof Known]: {
        readonly [Name in keyof Known[Namespace]]: OperationAt<Place, Known[Namespace][Name]>;
      };
    }
  : [Known] extends [KnownOperations]
    ? {
        // All ids of a namespace share one key, so `Ids` is the union of them.
        readonly [Ids in keyof Known as NamespaceOf<Ids>]: {
          readonly [Id in Ids as NameOf<Id>]: OperationAt<Place, Known[Id]>;
        };
      }
    : never;

type OperationAt<Place, Known extends KnownOperation> = Place extends "local"
  ? ClientOperation<Known["type"], Known["input"], Known["output"], Known["errors"]>
  : RemoteOperation<Known["type"], Known["input"], Known["output"], Known["errors"]>;

/** One operation of a client. If its type is unknown at compile time, the result can be awaited or iterated. */
export type ClientOperation<Type, Input, Output, Errors = unknown> = [Type] extends ["subscription"]
  ? ClientSubscription<Input, Output, Errors>
  : [Type] extends ["query" | "mutation"]
    ? ClientCall<Input, Output, Errors>
    : ClientAny<Input, Output>;

/** One operation of a remote registry. If its type is unknown at compile time, the result can be awaited or iterated. */
export type RemoteOperation<Type, Input, Output, Errors = unknown> = [Type] extends ["subscription"]
  ? RemoteSubscription<Input, Output, Errors>
  : [Type] extends ["query" | "mutation"]
    ? RemoteCall<Input, Output, Errors>
    : RemoteAny<Input, Output>;

/** The test for declared errors that every operation of a client has. */
export interface ClientErrors<Errors> {
  /**
   * Returns whether an error has a code that the operation declares; `details` then has the declared type. At run time
   * only the code is compared.
   */
  isError<const Code extends keyof Errors & string>(
    error: unknown,
    code: Code,
  ): error is DeclaredError<Code, Errors[Code]>;
}

/** Calls a query or mutation. An MCP result with `isError` throws `EXECUTION_ERROR`. */
export interface RemoteCall<Input, Output, Errors = unknown, Options = OwnOptions<CallOptions>>
  extends ClientErrors<Errors> {
  (...args: CallArguments<Input, Options>): Promise<Output>;
  /** Returns the whole envelope. An MCP result with `isError` is returned, not thrown. */
  envelope(...args: CallArguments<Input, Options>): Promise<ResponseEnvelope<Output>>;
}

/** Subscribes. Leaving the loop ends the subscription. */
export interface RemoteSubscription<Input, Output, Errors = unknown, Options = OwnOptions<SubscribeOptions>>
  extends ClientErrors<Errors> {
  (...args: CallArguments<Input, Options>): AsyncIterableIterator<Output>;
  /** Yields the envelope of each value. */
  envelope(...args: CallArguments<Input, Options>): AsyncIterableIterator<ResponseEnvelope<Output>>;
}

/** Calls an operation whose type is unknown at compile time. */
export interface RemoteAny<Input, Output, Options = OwnOptions<SubscribeOptions>>
  extends ClientErrors<Record<string, unknown>> {
  (...args: CallArguments<Input, Options>): Promise<Output> & AsyncIterableIterator<Output>;
  /** Returns the whole envelope, or yields the envelope of each value. */
  envelope(
    ...args: CallArguments<Input, Options>
  ): Promise<ResponseEnvelope<Output>> & AsyncIterableIterator<ResponseEnvelope<Output>>;
}

/** Calls a query or mutation of a registry. An MCP result with `isError` throws `EXECUTION_ERROR`. */
export interface ClientCall<Input, Output, Errors = unknown> extends RemoteCall<Input, Output, Errors, CallOptions> {
  /** Yields every page of an operation that defines `nextPage`; any other operation yields one page. */
  pages(...args: CallArguments<Input>): AsyncIterableIterator<ResponseEnvelope<Output>>;
}

/** Subscribes to an operation of a registry. Leaving the loop ends the subscription. */
export interface ClientSubscription<Input, Output, Errors = unknown>
  extends RemoteSubscription<Input, Output, Errors, SubscribeOptions> {}

/** Calls an operation of a registry whose type is unknown at compile time. */
export interface ClientAny<Input, Output> extends RemoteAny<Input, Output, SubscribeOptions> {
  /** Yields every page. */
  pages(...args: CallArguments<Input>): AsyncIterableIterator<ResponseEnvelope<Output>>;
}

/** The arguments of a subscription. The input is optional where `undefined` or `{}` is valid. */
export type SubscribeArguments<Input> = CallArguments<Input, SubscribeOptions>;

/** Returns the data and drops the meta. */
export function unwrap<T>(envelope: ResponseEnvelope<T>): T {
  return envelope.data;
}

/** The iterator of a subscription. */
export interface SubscriptionIterator<T> extends AsyncDisposable {
  /** Returns the next value. The first call starts the subscription. */
  next(): Promise<IteratorResult<T, undefined>>;
  /** Ends the subscription. */
  return(): Promise<IteratorResult<T, undefined>>;
  /** Ends the subscription, and rejects with the error. */
  throw(error?: unknown): Promise<IteratorResult<T, undefined>>;
  /** Returns the iterator itself. */
  [Symbol.asyncIterator](): SubscriptionIterator<T>;
}

/** Yields the data of each value of a subscription. Leaving the loop ends the subscription immediately. */
export function toDataIterator(source: SubscriptionIterator<ResponseEnvelope>): SubscriptionIterator<unknown> {
  return {
    next: async () => {
      const { done, value } = await source.next();
      return done ? { done, value: undefined } : { done: false, value: value.data };
    },
    return: () => source.return(),
    throw: (error) => source.throw(error),
    [Symbol.asyncIterator]() {
      return this;
    },
    [Symbol.asyncDispose]: async () => source[Symbol.asyncDispose](),
  };
}
