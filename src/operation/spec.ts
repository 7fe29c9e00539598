import type { TSchema } from "typebox";
import type { AccessControl } from "./access.ts";
import type { OperationContext } from "./context.ts";
import type { ResponseEnvelope } from "./envelope.ts";

/** The three kinds of operation. */
export const OperationType = { QUERY: "query", MUTATION: "mutation", SUBSCRIPTION: "subscription" } as const;
/** `query` reads, `mutation` changes something, `subscription` answers many times. */
export type OperationType = (typeof OperationType)[keyof typeof OperationType];

/** What `cast` (default), `check` and `strict` do with data that does not fit: repair it, report it, refuse it. */
export type OutputPolicy = "cast" | "check" | "strict";

/** An error that an operation is known to throw. */
export interface ErrorDefinition {
  code: string;
  description?: string;
  /** Shape of the error's `details`. */
  schema: TSchema;
  httpStatus?: number;
}

/** Everything about an operation but its code. JSON: parsed from text it registers and behaves the same. */
export interface OperationSpec {
  /** 1 to 64 characters, no dot, no control character. */
  namespace: string;
  /** 1 to 256 characters, no control character. The id is `namespace.name`. */
  name: string;
  version: string;
  type: OperationType;
  title?: string;
  description: string;
  tags?: string[];
  /** A TypeBox type, a JSON Schema, or a Standard Schema that can tell its JSON Schema. */
  inputSchema: TSchema;
  /** Shape of the envelope's `data`; of each value for a subscription. */
  outputSchema: TSchema;
  errorSchemas?: ErrorDefinition[];
  accessControl: AccessControl;
  /** Whether calling twice has the effect of calling once. */
  idempotent?: boolean;
  /** @default the registry's */
  outputPolicy?: OutputPolicy;
  _meta?: Record<string, unknown>;
}

// Handlers of every input and output must fit one type, and `never`/`unknown` would leave `input` useless in
// `satisfies IOperationDefinition`. What `JSON.parse` returns is the loosest type there is.
type Loose = ReturnType<typeof JSON.parse>;

/** Runs a query or mutation. What it returns is wrapped in an envelope unless it already is one. */
export type OperationHandler<TInput = Loose, TOutput = Loose> = (
  input: TInput,
  context: OperationContext,
) => TOutput | ResponseEnvelope<TOutput> | Promise<TOutput | ResponseEnvelope<TOutput>>;

/** Runs a subscription: an async generator function, or anything that gives an async iterable. */
export type SubscriptionHandler<TInput = Loose, TOutput = Loose> = (
  input: TInput,
  context: OperationContext,
) => AsyncIterable<TOutput | ResponseEnvelope<TOutput>> | Promise<AsyncIterable<TOutput | ResponseEnvelope<TOutput>>>;

/** An operation that can be registered: its spec and the code that runs it. */
export interface IOperationDefinition<TInput = Loose, TOutput = Loose> extends OperationSpec {
  handler: OperationHandler<TInput, TOutput> | SubscriptionHandler<TInput, TOutput>;
  /** Whether declared defaults are filled into the input before it is checked. Sources switch it off. @default true */
  fillDefaults?: boolean;
  /** Tells the input of the page after `envelope`, or `undefined` on the last page. Makes `client.ns.op.pages()` work. */
  nextPage?: (input: TInput, envelope: ResponseEnvelope<TOutput>) => TInput | undefined;
}
