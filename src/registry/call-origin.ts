import type { Identity, OperationContext, Progress } from "../operation/index.ts";
import { noMetadata, stateOf } from "./call-state.ts";
import type { Guard } from "./guard.ts";

/** The number of calls that one incoming call may cause, at any depth. */
export interface CallBudget {
  readonly allowed: number;
  /** Negative when the limit is exceeded. */
  callsLeft: number;
}

/** The origin of a call or subscription that arrived by a transport. Its nested calls share its budget. */
export interface CallOrigin {
  /** The request id of the caller. */
  readonly requestId: string;
  /** Number of calls of other processes that it is nested in. */
  readonly depth: number;
  /** Absent until a call uses it. */
  readonly budget: CallBudget | undefined;
  /** Returns the budget, created on first use. */
  openBudget(): CallBudget;
  /** Registers the budget for calls that return from peers, and returns the id to find it by. */
  shareBudget(): string;
  /** Whether it, or a call that it is nested in, arrived from outside this process. */
  readonly isRemote: boolean;
  /** The call of the caller whose handler made this one. */
  readonly parentRequestId?: string | undefined;
  /** Receives the progress that the handler reports, also after the call has ended. */
  reportProgress(progress: Progress): void;
  /** Called when the handler of a subscription was called. Its first value may take any time. */
  onOpen?(): void;
  /** Ends the call early. Absent until `openGuard()` was called. */
  readonly guard?: Guard | undefined;
  /** Whether the handler was called. A guard that is created later needs to know. */
  hasStarted?: boolean;
  /** Returns the guard, created on first use. Missing for subscriptions, which have their own guard. */
  openGuard?(): Guard;
}

/** The properties that a call forwarded to a peer inherits from the call whose handler forwards it. */
export interface ForwardedCall {
  parentRequestId: string | undefined;
  rootRequestId: string | undefined;
  depth: number | undefined;
  /** For a subscription: the number of values that the peer may send ahead. */
  credit: number | undefined;
  /** For a subscription: the number of bytes that the peer may send ahead. */
  creditBytes: number | undefined;
  /** For a subscription: the id of the last event that the caller received. */
  lastEventId: string | undefined;
  /** Whether this call, or one that it is nested in, arrived from outside this process. */
  isRemote: boolean;
  deadline: number | undefined;
  identity: Identity | undefined;
  metadata: Readonly<Record<string, unknown>> | undefined;
  signal: AbortSignal | undefined;
  onProgress: (progress: Progress) => void;
  token: string | undefined;
}

/** Returns the properties that a call forwarded to a peer inherits from the call with this context and its parents. */
export function describeForwarded(context: OperationContext): ForwardedCall {
  const { deadline, identity, metadata, progress: onProgress } = context;
  const state = stateOf(context);
  if (state === undefined) {
    const { parentRequestId, remote: isRemote = false } = context;
    const signal = context.abortable === false ? undefined : context.signal;
    const own = { deadline, identity, metadata, signal, isRemote, onProgress, parentRequestId };
    const unknown = { rootRequestId: undefined, depth: undefined, credit: undefined, creditBytes: undefined };
    return { ...own, ...unknown, lastEventId: context.lastEventId, token: undefined };
  }
  // One literal, because creating this object is a large part of the cost of forwarding.
  return {
    parentRequestId: state.knownRequestId,
    rootRequestId: state.incoming?.shareBudget(),
    depth: state.depth + 1,
    credit: state.options?.credit,
    creditBytes: state.options?.creditBytes,
    lastEventId: state.options?.lastEventId,
    isRemote: state.isRemote,
    deadline,
    identity,
    metadata: metadata === noMetadata ? undefined : metadata,
    signal: state.isAbortable ? state.openSignal() : undefined,
    onProgress,
    token: undefined,
  };
}
