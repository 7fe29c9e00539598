import type { CallError, Progress, ResponseEnvelope } from "../operation/inside.ts";

/** The request of another process, or of a peer in this one, that a call runs for. */
export interface CallOrigin {
  /** The request id of the caller. */
  readonly requestId: string;
  /** The call of the caller whose handler made this one. */
  readonly parentRequestId?: string | undefined;
  /** Number of calls of the caller that it is nested in. */
  readonly depth: number;
  /** Whether it, or a call that it is nested in, arrived from outside this process. */
  readonly isRemote: boolean;
  /** How it arrived, such as `http`. */
  readonly via: string;
  /** Receives the progress that the handler reports. */
  reportProgress(progress: Progress): void;
}

/** A call for a request from outside. */
export interface IncomingExecution {
  /** Runs the call, once. Rejects with a `CallError`. */
  run(input: unknown): Promise<ResponseEnvelope>;
  /** Ends the call early with `ABORTED`. */
  abort(reason: unknown): void;
  /** Ends the call early with this error. */
  end(error: CallError): void;
}
