import type { Identity, Progress } from "../operation/index.ts";

/** What a caller may say about a call that travels. */
export interface CallRequestOptions {
  /** When the call fails with `TIMEOUT`, in milliseconds since the epoch. The wire carries what is left. */
  deadline?: number | undefined;
  /** Shown to `authenticate` of the serving side. */
  token?: string | undefined;
  /**
   * For whom the call is made. Believed in process; elsewhere it is turned into a token by the map's `sign`, or is a
   * claim where both ends say `trustedBus`, or is not sent.
   */
  identity?: Identity | undefined;
  metadata?: Readonly<Record<string, unknown>> | undefined;
  /** Aborts the call, which then fails with `ABORTED`; the serving side is told. */
  signal?: AbortSignal | undefined;
  /** The call whose handler makes this one. */
  parentRequestId?: string | undefined;
  /** Hears what the handler reports with `context.progress()`. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** What imported operations say beside that of the call that they pass on. */
export interface PassedOnOptions extends CallRequestOptions {
  rootRequestId?: string | undefined;
  depth?: number | undefined;
  credit?: number | undefined;
  creditBytes?: number | undefined;
  isRemote?: boolean | undefined;
}

/** What a caller may say about a subscription that travels. */
export interface SubscribeRequestOptions extends CallRequestOptions {
  /** Longest wait for a value, in ms, before the subscription fails with `TIMEOUT`; `Infinity` for no limit. @default no limit */
  idleTimeout?: number | undefined;
  /** How many values the producer may be ahead of the consumer, at least 1; at most 1,000 are held. @default 64 */
  credit?: number | undefined;
  /**
   * How many bytes of values, roughly, the producer may be ahead of the consumer, at least 1; `Infinity` for no limit. One
   * value may go beyond it, so that large ones pass one at a time. @default 1 MiB
   */
  creditBytes?: number | undefined;
}
