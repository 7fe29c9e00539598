import type { NestedCallOptions } from "./context.ts";
import type { ResponseEnvelope } from "./envelope.ts";
import type { OperationType } from "./spec.ts";

/** What the compiler knows of one operation. */
export interface KnownOperation {
  type: OperationType;
  /** What a caller passes. */
  input: unknown;
  /** The envelope's `data`; of each value for a subscription. */
  output: unknown;
}

/** Known operations by id. With any string as id it means: nothing is known, every id is allowed. */
export type KnownOperations = { [operationId: string]: KnownOperation };

/** The ids that can be executed: queries and mutations. */
export type CallId<Known extends KnownOperations> = {
  [Id in keyof Known]: Known[Id]["type"] extends "subscription" ? never : Id;
}[keyof Known] &
  string;

/** The ids that can be subscribed to. */
export type SubscriptionId<Known extends KnownOperations> = {
  [Id in keyof Known]: Known[Id]["type"] extends "query" | "mutation" ? never : Id;
}[keyof Known] &
  string;

/** The part of an id before its first dot. */
export type NamespaceOf<Id> = Id extends `${infer Namespace}.${string}` ? Namespace : Id;

/** The part of an id after its first dot when it is in `Namespace`, else `never`. */
export type NameIn<Namespace, Id> = Id extends `${infer Head}.${infer Name}`
  ? Head extends Namespace
    ? Name
    : never
  : Id;

/** Calls known queries and mutations by namespace and name: `env.task.create(input)`. */
export type KnownEnv<Known extends KnownOperations> = {
  readonly [Namespace in NamespaceOf<CallId<Known>>]: {
    readonly [Id in CallId<Known> as NameIn<Namespace, Id>]: EnvFunction<Known[Id]["input"], Known[Id]["output"]>;
  };
};

/** Calls one operation from inside a handler. The input may be left out where `undefined` is one. */
export type EnvFunction<Input, Output> = undefined extends Input
  ? (input?: Input, options?: NestedCallOptions) => Promise<ResponseEnvelope<Output>>
  : (input: Input, options?: NestedCallOptions) => Promise<ResponseEnvelope<Output>>;

/**
 * Tells the compiler which registry the handlers of this program run in, so that `context.env` knows its operations:
 * `declare module "@alkdev/operations" { interface Register { registry: typeof registry } }`.
 */
export interface Register {
  /** Never set. A program adds `registry` by declaring this interface again. */
  readonly "~registry"?: never;
}
