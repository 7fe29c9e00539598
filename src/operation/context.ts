import { number, type ObjectOf, optional, string } from "../internal/shape.ts";
import type { ResponseEnvelope } from "./envelope.ts";
import type { Identity } from "./identity.ts";
import type { InferInput, InferOutput } from "./infer.ts";
import type { AcceptsEmpty, RegisteredEnv, RegisteredOperations } from "./known.ts";

// The errors of every operation must fit one type. What `JSON.parse` returns is the loosest type there is.
type AnyErrors = ReturnType<typeof JSON.parse>;

/** Every field of a {@link Progress}. */
export const progressFields = {
  /** Rises with every report. */
  progress: number(),
  /** What `progress` reaches in the end, when that is known. */
  total: optional(number()),
  /** What the call is doing. */
  message: optional(string()),
};

/** How far a call has come. */
export interface Progress extends ObjectOf<typeof progressFields> {}

/** What a caller may say about a call besides its input. */
export interface CallOptions {
  /** Who calls. Checked against the operation's `accessControl`. */
  identity?: Identity | undefined;
  /** Aborts the call, which then fails with `ABORTED`. */
  signal?: AbortSignal | undefined;
  /** When the call fails with `TIMEOUT`, in milliseconds since the epoch. The earlier of this and `timeout` counts. @default none */
  deadline?: number | undefined;
  /** After how many milliseconds the call fails with `TIMEOUT`, counted from the call; `Infinity` for no limit. @default none */
  timeout?: number | undefined;
  /** Passed to the handler's context and to nested calls. */
  metadata?: Record<string, unknown> | undefined;
  /** Identifies the call in events and logs. @default a fresh id */
  requestId?: string | undefined;
  /** Receives what the handler reports with `context.progress()`. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** What a subscriber may say about a subscription besides its input. */
export interface SubscribeOptions extends CallOptions {
  /**
   * Maximum silence in ms, while a value is waited for, before the subscription fails with `TIMEOUT`. @default no limit
   */
  idleTimeout?: number | undefined;
  /** How many values a peer that serves the operation may be ahead of the consumer. Ignored in process. @default 64 */
  credit?: number | undefined;
  /** The same in bytes, roughly; `Infinity` for no limit. Ignored in process. @default 1 MiB */
  creditBytes?: number | undefined;
}

/** What a nested call may say. Identity and trust come from the context and cannot be given. */
export type NestedCallOptions = Omit<CallOptions, "identity" | "requestId">;

/** Calls a query or mutation by namespace and name: `env.task.create(input)`. Holds no subscriptions. */
export type OperationEnv = Record<
  string,
  Record<string, (input?: unknown, options?: NestedCallOptions) => Promise<ResponseEnvelope>>
>;

/** What `context.call` can call: the definition of a query or mutation. */
export interface CallableOperation {
  /** Namespace of the operation. */
  readonly namespace: string;
  /** Name of the operation in its namespace. */
  readonly name: string;
  /** A subscription cannot be called. */
  readonly type: "query" | "mutation";
  /** What the call takes. */
  readonly inputSchema: object;
  /** What the call returns. */
  readonly outputSchema: object;
}

/** What is known of a call's target: a definition by its schemas, an id by {@link Register}. */
type TargetOf<Operation> = Operation extends CallableOperation
  ? { input: InferInput<Operation["inputSchema"]>; output: InferOutput<Operation["outputSchema"]> }
  : Operation extends keyof RegisteredOperations
    ? { input: RegisteredOperations[Operation]["input"]; output: RegisteredOperations[Operation]["output"] }
    : { input: unknown; output: unknown };

/** The arguments of a nested call after its operation. The input may be left out where `undefined` or `{}` is one. */
export type NestedCallArguments<Input> =
  AcceptsEmpty<Input> extends true
    ? [input?: Input, options?: NestedCallOptions]
    : [input: Input, options?: NestedCallOptions];

/**
 * Calls a query or mutation inside a handler and returns its data: `call(create, { title })` by its definition, whose
 * schemas type the call, or `call("task.create", { title })` by its id. Throws a `CallError` on every failure, also for an
 * MCP result with `isError`. Trusted as `context.env` is. Where the compiler does not know an id, `call<T>(id, …)` sets the
 * type of the data.
 */
export type CallOperation = <T = never, const Operation extends string | CallableOperation = string>(
  operation: Operation,
  ...args: NestedCallArguments<TargetOf<Operation>["input"]>
) => Promise<[T] extends [never] ? TargetOf<Operation>["output"] : T>;

/** What a handler receives beside its input. Valid while the handler runs. */
export interface OperationContext<out Errors = AnyErrors> {
  /** Identifies this call. Made when first read. */
  readonly requestId: string;
  /** The call whose handler made this one. */
  readonly parentRequestId?: string | undefined;
  /** Who calls. */
  readonly identity?: Identity | undefined;
  /** When the call fails with `TIMEOUT`, in milliseconds since the epoch. */
  readonly deadline?: number | undefined;
  /** Fires when the call is aborted or out of time. Made when first read. */
  readonly signal: AbortSignal;
  /** `false` says that nothing can abort this call, so that a handler can spare itself the cost of the signal. */
  readonly abortable?: boolean;
  /**
   * `true` when this call, or one that it is nested in, came from outside this process. Its metadata are then a claim of a
   * caller elsewhere.
   */
  readonly remote?: boolean;
  /** What the caller passed; belongs to the caller. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Other operations of the registry, trusted while this handler runs. Made when first read. */
  readonly env: RegisteredEnv;
  /** Calls an operation of the registry and returns its data, trusted while this handler runs. Made when first read. */
  readonly call: CallOperation;
  /** Creates the errors that the operation declares: `throw errors.TITLE_TAKEN({ title })`. Made when first read. */
  readonly errors: Errors;
  /** Reports to the caller how far the call has come. */
  progress(progress: Progress): void;
}
