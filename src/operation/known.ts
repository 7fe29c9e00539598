import type { NestedCallOptions, OperationEnv } from "./context.ts";
import type { ResponseEnvelope } from "./envelope.ts";
import type { OperationType } from "./spec.ts";

/** What the compiler knows of one operation. */
export interface KnownOperation {
  /** Whether it reads, changes something, or returns many values. */
  type: OperationType;
  /** What a caller passes. */
  input: unknown;
  /** The envelope's `data`; of each value for a subscription. */
  output: unknown;
  /** The details of the errors that it declares, by code. */
  errors?: object;
}

/** Known operations by id. Where any string is an id nothing is known, and every id is allowed. */
export type KnownOperations = { [operationId: string]: KnownOperation };

/** The known queries and mutations. */
export type CallsOf<Known extends KnownOperations> = {
  [Id in keyof Known as Known[Id]["type"] extends "subscription" ? never : Id]: Known[Id];
};

/** The known subscriptions. */
export type SubscriptionsOf<Known extends KnownOperations> = {
  [Id in keyof Known as Known[Id]["type"] extends "query" | "mutation" ? never : Id]: Known[Id];
};

/** The part of an id before its first dot. */
export type NamespaceOf<Id> = Id extends `${infer Namespace}.${string}` ? Namespace : Id;

/** The part of an id after its first dot. */
export type NameOf<Id> = Id extends `${string}.${infer Name}` ? Name : Id;

/** The data that a call gives: what is known of it, unless the caller states `T`. */
export type DataOf<T, Known extends KnownOperation> = [T] extends [never] ? Known["output"] : T;

/** Calls known queries and mutations by namespace and name: `env.task.create(input)`. */
export type KnownEnv<Known extends KnownOperations> = {
  // All ids of a namespace share one key, so `Ids` is the union of them.
  readonly [Ids in keyof CallsOf<Known> as NamespaceOf<Ids>]: {
    readonly [Id in Ids as NameOf<Id>]: EnvFunction<Known[Id]["input"], Known[Id]["output"]>;
  };
};

/** `true` where a call may leave out the input, because the operation accepts `undefined` or `{}`. */
export type AcceptsEmpty<Input> = undefined extends Input ? true : Record<never, never> extends Input ? true : false;

/** Calls one operation from inside a handler. The input may be left out where `undefined` or `{}` is one. */
export type EnvFunction<Input, Output> =
  AcceptsEmpty<Input> extends true
    ? (input?: Input, options?: NestedCallOptions) => Promise<ResponseEnvelope<Output>>
    : (input: Input, options?: NestedCallOptions) => Promise<ResponseEnvelope<Output>>;

/**
 * Declares to the compiler which registry the handlers of a program run in, so that `context.env` knows its operations:
 * `declare module "@alkdev/operations" { interface Register { registry: typeof registry } }`. A handler that returns
 * what it got from `context.env` then has to write down its return type.
 */
export interface Register {
  /** Never set. A program adds `registry` by declaring this interface again. */
  readonly "~registry"?: never;
}

/** What the compiler knows of the registry in {@link Register}; nothing without one. */
export type RegisteredOperations<Declared = Register> = Declared extends {
  registry: { readonly "~known"?: infer Known extends KnownOperations };
}
  ? Known
  : Record<never, KnownOperation>;

/** The type of `context.env`: that of the registry in {@link Register}, else the loose one. */
export type RegisteredEnv<Declared = Register> = Declared extends {
  registry: { readonly "~known"?: infer Known extends KnownOperations };
}
  ? KnownEnv<Known>
  : OperationEnv;
