import type { ResponseEnvelope } from "./envelope.ts";
import type { Identity } from "./identity.ts";
import type { InferInput, InferOutput } from "./infer.ts";
import type { AcceptsEmpty, CallsOf, RegisteredEnv, RegisteredOperations } from "./known.ts";
import type { RequestFields } from "./request-fields.ts";

// The errors of every operation must be assignable to one type. The return type of `JSON.parse` is the loosest one.
type AnyErrors = ReturnType<typeof JSON.parse>;

/** The progress of a call. */
export interface Progress {
  /** Increases with every report. */
  progress: number;
  /** The final value of `progress`, if it is known. */
  total?: number;
  /** A description of the current step. */
  message?: string;
}

/** Options of a call. */
export interface CallOptions extends RequestFields {
  /** The caller. Checked against the operation's `accessControl`. */
  identity?: Identity | undefined;
  /** Aborts the call, which then fails with `ABORTED`. */
  signal?: AbortSignal | undefined;
  /** Time at which the call fails with `TIMEOUT`, in ms since the epoch. The earlier of it and `timeout` applies. @default none */
  deadline?: number | undefined;
  /** Milliseconds after which the call fails with `TIMEOUT`, counted from the call; `Infinity` for no limit. @default none */
  timeout?: number | undefined;
  /** Identifies the call in events and logs. Over a transport, each request has an id of its own. @default a new id */
  requestId?: string | undefined;
  /** Id of the call that causes this one, for events and logs. Nested calls have that of their handler's call. */
  parentRequestId?: string | undefined;
  /**
   * Over a transport: passed to `authenticate` of the server. A string, or a function that returns it. @default that of the
   * client, or the result of `sign` for a call with an identity
   */
  token?: string | (() => string | undefined | Promise<string | undefined>) | undefined;
  /** Receives the progress that the handler reports with `context.progress()`. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** Options of a subscription. */
export interface SubscribeOptions extends CallOptions {
  /**
   * Maximum time in ms to wait for the next value before the subscription fails with `TIMEOUT`. @default no limit
   */
  idleTimeout?: number | undefined;
}

/** Options without those that a client, or the call of a handler, has already set. */
export type OwnOptions<Options extends CallOptions> = Omit<
  Options,
  "identity" | "requestId" | "parentRequestId" | "token"
>;

/** What a call that is forwarded to a peer inherits from the call whose handler forwards it. */
export interface ForwardedCall extends SubscribeOptions {
  /** Number of calls that it is nested in. */
  depth?: number | undefined;
  /** Whether it, or a call that it is nested in, arrived from outside this process. */
  isRemote?: boolean | undefined;
}

/** Calls a query or mutation by namespace and name: `env.task.create(input)`. Does not contain subscriptions. */
export type OperationEnv = Record<
  string,
  Record<string, (input?: unknown, options?: OwnOptions<CallOptions>) => Promise<ResponseEnvelope>>
>;

/** An operation that `context.call` can call: the definition of a query or mutation. */
export interface CallableOperation {
  /** Namespace of the operation. */
  readonly namespace: string;
  /** Name of the operation in its namespace. */
  readonly name: string;
  /** A subscription cannot be called. */
  readonly type: "query" | "mutation";
  /** Schema of the input. */
  readonly inputSchema: object;
  /** Schema of the data that the call returns. */
  readonly outputSchema: object;
}

/** Input and output of a nested call: from the schemas of a definition, or from {@link Register} for an id. */
type TargetOf<Operation> = Operation extends CallableOperation
  ? { input: InferInput<Operation["inputSchema"]>; output: InferOutput<Operation["outputSchema"]> }
  : Operation extends keyof RegisteredOperations
    ? RegisteredOperations[Operation] extends { type: "subscription" }
      ? { input: never; output: never }
      : { input: RegisteredOperations[Operation]["input"]; output: RegisteredOperations[Operation]["output"] }
    : { input: unknown; output: unknown };

/** The ids in {@link Register}, which editors suggest, and any other id. */
type CallableId = (keyof CallsOf<RegisteredOperations> & string) | (string & Record<never, never>);

/** The arguments of a call. The input is optional where `undefined` or `{}` is valid. */
export type CallArguments<Input, Options = CallOptions> =
  AcceptsEmpty<Input> extends true ? [input?: Input, options?: Options] : [input: Input, options?: Options];

/** The arguments of a nested call after its operation. The input is optional where `undefined` or `{}` is valid. */
export type NestedCallArguments<Input> = CallArguments<Input, OwnOptions<CallOptions>>;

/**
 * Calls a query or mutation inside a handler and returns its data: `call(create, { title })` by its definition, whose
 * schemas type the call, or `call("task.create", { title })` by its id. Throws a `CallError` on every failure, including
 * an MCP result with `isError`. Trusted like `context.env`. For an id that is unknown at compile time, `call<T>(id, …)` sets
 * the type of the data.
 */
export type CallOperation = <T = never, const Operation extends CallableId | CallableOperation = CallableId>(
  operation: Operation,
  ...args: NestedCallArguments<TargetOf<Operation>["input"]>
) => Promise<[T] extends [never] ? TargetOf<Operation>["output"] : T>;

/** The second argument of a handler. Valid while the handler runs. */
export interface OperationContext<out Errors = AnyErrors> extends Readonly<RequestFields> {
  /** Identifies this call. Created when first read. */
  readonly requestId: string;
  /** The `requestId` of the call whose handler made this call. */
  readonly parentRequestId?: string | undefined;
  /** The caller. */
  readonly identity?: Identity | undefined;
  /** Time at which the call fails with `TIMEOUT`, in milliseconds since the epoch. */
  readonly deadline?: number | undefined;
  /** Fires when the call is aborted or its deadline passes. Created when first read. */
  readonly signal: AbortSignal;
  /** `false` when nothing can abort this call, so that a handler can avoid the cost of the signal. */
  readonly abortable?: boolean;
  /**
   * `true` when this call, or one that it is nested in, arrived from outside this process. Its metadata is then
   * provided by a remote caller and must not be trusted.
   */
  readonly remote?: boolean;
  /** The metadata that the caller passed. Do not change it. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Other operations of the registry, trusted while this handler runs. Created when first read. */
  readonly env: RegisteredEnv;
  /** Calls an operation of the registry and returns its data, trusted while this handler runs. Created when first read. */
  readonly call: CallOperation;
  /** Creates the errors that the operation declares: `throw errors.TITLE_TAKEN({ title })`. Created when first read. */
  readonly errors: Errors;
  /** Reports progress to the caller. */
  progress(progress: Progress): void;
}
