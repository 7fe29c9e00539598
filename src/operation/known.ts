import type { NestedCallArguments, OperationEnv } from "./context.ts";
import type { ResponseEnvelope } from "./envelope.ts";
import type { OperationType } from "./spec.ts";

/** The types of one operation. */
export interface KnownOperation {
  /** Whether it reads, changes something, or returns many values. */
  type: OperationType;
  /** The input that callers pass. */
  input: unknown;
  /** The envelope's `data`; of each value for a subscription. */
  output: unknown;
  /** The details of the errors that it declares, by code. */
  errors?: object;
}

/** Known operations by id. With an index signature, every id is allowed and nothing is typed. */
export type KnownOperations = { [operationId: string]: KnownOperation };

/**
 * Known operations by namespace and name. Files that `operations types` writes have this form, because clients then show
 * the documentation of operations in editors.
 */
export type OperationsByNamespace = { [namespace: string]: { [name: string]: KnownOperation } };

/** The operations of {@link OperationsByNamespace} by id. */
type ById<Operations> = {
  [Id in { [N in keyof Operations & string]: `${N}.${keyof Operations[N] & string}` }[keyof Operations & string]]: At<
    At<Operations, NamespaceOf<Id>>,
    NameOf<Id>
  >;
};

type At<T, Key> = Key extends keyof T ? T[Key] : never;

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

/** The data that a call returns: the known output, unless the caller sets `T`. */
export type DataOf<T, Known extends KnownOperation> = [T] extends [never] ? Known["output"] : T;

/** Calls known queries and mutations by namespace and name: `env.task.create(input)`. */
export type KnownEnv<Known extends KnownOperations> = {
  // All ids of a namespace share one key, so `Ids` is the union of them.
  readonly [Ids in keyof CallsOf<Known> as NamespaceOf<Ids>]: {
    readonly [Id in Ids as NameOf<Id>]: EnvFunction<Known[Id]["input"], Known[Id]["output"]>;
  };
};

/** `true` where the input is optional, because the operation accepts `undefined` or `{}`. */
export type AcceptsEmpty<Input> = undefined extends Input ? true : Record<never, never> extends Input ? true : false;

/** Calls one operation from inside a handler. The input is optional where `undefined` or `{}` is valid. */
export type EnvFunction<Input, Output> = (...args: NestedCallArguments<Input>) => Promise<ResponseEnvelope<Output>>;

/**
 * Declares the operations that handlers can call, so that `context.env` and the ids of `context.call` are typed:
 * - `registry`: the type of a registry, `declare module "@alkdev/operations" { interface Register { registry: typeof registry } }`.
 *   A handler that returns a result of `context.env`, or of `context.call` with an id, then needs an explicit return type.
 * - `operations`: operations by namespace and name. Files that `operations types` writes set it.
 */
export interface Register {
  /** Never set. A program adds `registry` or `operations` by augmenting this interface. */
  readonly "~registry"?: never;
}

type OfRegistry<Declared> = Declared extends { registry: { readonly "~known"?: infer Known extends KnownOperations } }
  ? Known
  : Record<never, KnownOperation>;

type OfTypes<Declared> = Declared extends { operations: infer Operations extends OperationsByNamespace }
  ? ById<Operations> extends infer Known extends KnownOperations
    ? Known
    : never
  : Record<never, KnownOperation>;

/** The operations in {@link Register}; untyped without any. */
export type RegisteredOperations<Declared = Register> = OfRegistry<Declared> & OfTypes<Declared>;

/** The type of `context.env`: the operations in {@link Register}, otherwise the untyped one. */
export type RegisteredEnv<Declared = Register> = [keyof RegisteredOperations<Declared>] extends [never]
  ? OperationEnv
  : KnownEnv<RegisteredOperations<Declared>>;
