import type { OperationSpec, ResponseEnvelope } from "../operation/index.ts";

/** Options of a call that a command makes. */
export interface TargetCallOptions {
  /** Ends the call. */
  signal?: AbortSignal | undefined;
  /** Time limit in ms. */
  timeout?: number | undefined;
}

/**
 * What a command works on: the hub of a configuration or one source, which run in this process, or a running hub. Specs
 * are those that callers see: without handler.
 */
export interface Target {
  /** Where the operations come from, for messages, such as `http://127.0.0.1:4000`. */
  readonly label: string;
  /** Finds operations, best match first. Without a query, all in the order of their sources. */
  list(query?: string): Promise<OperationSpec[]>;
  /** Finds an operation by its id. */
  find(id: string): Promise<OperationSpec | undefined>;
  /** Calls a query or mutation. */
  call(id: string, input: unknown, options?: TargetCallOptions): Promise<ResponseEnvelope>;
  /** Subscribes to an operation. */
  subscribe(id: string, input: unknown, options?: TargetCallOptions): AsyncIterable<ResponseEnvelope>;
  /** Ends everything that was started. */
  close(): Promise<void>;
}
