import { number, type ObjectOf, optional, string } from "../internal/shape.ts";
import type { ResponseEnvelope } from "./envelope.ts";
import type { Identity } from "./identity.ts";
import type { RegisteredEnv } from "./known.ts";

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
  /** @default a fresh id */
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

/** What a handler gets beside its input. Valid while the handler runs. */
export interface OperationContext {
  /** Made when first read. */
  readonly requestId: string;
  readonly parentRequestId?: string | undefined;
  readonly identity?: Identity | undefined;
  /** When the call is given up, in milliseconds since the epoch. */
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
  /** Reports to the caller how far the call has come. */
  progress(progress: Progress): void;
}
