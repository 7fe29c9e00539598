import type { Identity, OperationContext, Progress } from "../operation/index.ts";
import { noMetadata, stateOf } from "./call-state.ts";
import type { Guard } from "./guard.ts";

/** How many calls one incoming call may lead to, at any depth. */
export interface CallBudget {
  readonly allowed: number;
  /** Below 0 when there were too many. */
  callsLeft: number;
}

/** Where a call or subscription came from that arrived by a transport. The calls inside it share its budget. */
export interface CallOrigin {
  /** The id that the caller chose. */
  readonly requestId: string;
  /** How many calls of other processes it is nested in. */
  readonly depth: number;
  /** Absent as long as no call counts on it. */
  readonly budget: CallBudget | undefined;
  /** Returns the budget, created on first use. */
  openBudget(): CallBudget;
  /** Registers the budget for calls that leave for peers and come back, and returns the id to find it by. */
  shareBudget(): string;
  /** Whether it, or a call that it is nested in, came from outside this process. */
  readonly isRemote: boolean;
  /** The caller's own call whose handler made this one. */
  readonly parentRequestId?: string | undefined;
  /** Receives what the handler reports, also after the call has ended. */
  reportProgress(progress: Progress): void;
  /** What ends the call. Absent until `openGuard()` was called. */
  readonly guard?: Guard | undefined;
  /** Returns the guard, created on first use. Subscriptions have their own and no such method. */
  openGuard?(): Guard;
}

/** What a call that is forwarded to a peer carries of the call whose handler forwards it. */
export interface ForwardedCall {
  parentRequestId: string | undefined;
  rootRequestId: string | undefined;
  depth: number | undefined;
  /** Of a subscription: how many values the peer may be ahead. */
  credit: number | undefined;
  /** The same in bytes. */
  creditBytes: number | undefined;
  /** Whether this call, or one that it is nested in, came from outside this process. */
  isRemote: boolean;
  deadline: number | undefined;
  identity: Identity | undefined;
  metadata: Readonly<Record<string, unknown>> | undefined;
  signal: AbortSignal | undefined;
  onProgress: (progress: Progress) => void;
  token: string | undefined;
}

/** What a call that is forwarded to a peer carries of the call whose handler got `context`, and of those around it. */
export function describeForwarded(context: OperationContext): ForwardedCall {
  const { deadline, identity, metadata, progress: onProgress } = context;
  const state = stateOf(context);
  if (state === undefined) {
    const { parentRequestId, remote: isRemote = false } = context;
    const signal = context.abortable === false ? undefined : context.signal;
    const own = { deadline, identity, metadata, signal, isRemote, onProgress, parentRequestId };
    const unknown = { rootRequestId: undefined, depth: undefined, credit: undefined, creditBytes: undefined };
    return { ...own, ...unknown, token: undefined };
  }
  // In one literal, because it is a good part of what forwarding costs.
  return {
    parentRequestId: state.knownRequestId,
    rootRequestId: state.incoming?.shareBudget(),
    depth: state.depth + 1,
    credit: state.options?.credit,
    creditBytes: state.options?.creditBytes,
    isRemote: state.isRemote,
    deadline,
    identity,
    metadata: metadata === noMetadata ? undefined : metadata,
    signal: state.isAbortable ? state.openSignal() : undefined,
    onProgress,
    token: undefined,
  };
}
