import { notify } from "../internal/emitter.ts";
import { nextRequestId } from "../internal/request-id.ts";
import {
  type CallError,
  type CallOperation,
  checkCallOptions,
  checkPastDeadline,
  createDeclaredErrors,
  type DeclaredErrors,
  type Identity,
  limitExceeded,
  type OperationContext,
  type OperationEnv,
  type Progress,
  type RegisteredEnv,
  type SubscribeOptions,
  toIdentity,
} from "../operation/index.ts";
import type { CallOrigin } from "./call-origin.ts";
import type { RegistryCore } from "./core.ts";
import { markPipelineError } from "./failures.ts";
import { Guard } from "./guard.ts";

/** The signal of a client or an env, besides the `signal` of a single call. Either one ends the call. */
export const baseSignal = Symbol("base signal");

/** The options of a call, merged with those of its client or env. */
export interface MergedOptions extends SubscribeOptions {
  readonly [baseSignal]?: AbortSignal | undefined;
}

/** The metadata of a call without metadata. */
export const noMetadata: Readonly<Record<string, unknown>> = Object.freeze({});

/**
 * The state of one call. Its handler receives only the context, which holds the state in a private field. The properties
 * are assigned in the constructor instead of defined as class fields, because that is faster and there is one for each
 * call.
 */
export class CallState {
  declare readonly core: RegistryCore;
  declare readonly operationId: string;
  declare readonly options: MergedOptions | undefined;
  /** The origin of the outermost call, if it arrived by a transport. */
  declare readonly incoming: CallOrigin | undefined;
  /** Number of calls that it is nested in, including those of other processes. */
  declare readonly depth: number;
  /** Whether the call skips access rules. */
  declare readonly isTrusted: boolean;
  /** The context that the handler receives. */
  declare readonly context: CallContext;
  /** Ends the call early. Absent until a guard is needed. */
  declare guard: Guard | undefined;
  /** Whether the handler has ended. */
  declare isFinished: boolean;
  /** The promise that the handler returned. */
  declare private handlerResult: PromiseLike<unknown> | undefined;
  /** Whether the call listens for the end of the handler. Listening has a cost, so it starts when the end first matters. */
  declare private observesEnd: boolean;
  declare private requestId: string | undefined;
  declare private env: OperationEnv | undefined;

  constructor(
    core: RegistryCore,
    operationId: string,
    options: MergedOptions | undefined,
    parent: CallState | undefined,
    incoming: CallOrigin | undefined,
    trusted: boolean,
  ) {
    this.core = core;
    this.operationId = operationId;
    this.options = options;
    this.isTrusted = trusted;
    this.isFinished = false;
    this.handlerResult = undefined;
    // Progress that is reported after the end is dropped, so the call must listen for the end.
    this.observesEnd = options?.onProgress !== undefined;
    this.requestId = undefined;
    this.env = undefined;
    if (parent !== undefined) {
      this.guard = undefined;
      this.incoming = parent.incoming;
      this.depth = parent.depth + 1;
      this.context = nestedContext(this, options, parent);
    } else {
      this.guard = incoming?.guard;
      this.incoming = incoming;
      this.depth = incoming === undefined ? 0 : incoming.depth;
      const metadata = options?.metadata ?? noMetadata;
      const identity = toIdentity(options?.identity);
      this.context = new CallContext(this, identity, options?.deadline, metadata, incoming?.parentRequestId);
    }
  }

  /** Whether this call is not nested in another call of this process. */
  get isOutermost(): boolean {
    return this.depth === (this.incoming === undefined ? 0 : this.incoming.depth);
  }

  /** Whether it, or a call that it is nested in, arrived from outside this process. */
  get isRemote(): boolean {
    return this.incoming?.isRemote === true;
  }

  /** Whether the call can end early. */
  get isAbortable(): boolean {
    return this.guard !== undefined || (this.isOutermost && this.incoming?.openGuard !== undefined);
  }

  /** Returns the request id, created on first use. A nested call never shares the id of its parent. */
  openRequestId(): string {
    if (this.requestId === undefined) {
      const given: unknown = this.isOutermost ? (this.incoming ?? this.options)?.requestId : undefined;
      this.requestId = typeof given === "string" ? given : nextRequestId();
    }
    return this.requestId;
  }

  /** The nearest request id of this call and its parents that was already used. A new id would not match any event. */
  get knownRequestId(): string | undefined {
    const isGiven = this.isOutermost && (this.incoming ?? this.options)?.requestId !== undefined;
    return this.requestId !== undefined || isGiven ? this.openRequestId() : this.context.parentRequestId;
  }

  openEnv(): OperationEnv {
    this.env ??= this.core.createEnv(this);
    return this.env;
  }

  openSignal(): AbortSignal {
    this.guard = this.openGuard() ?? new Guard(this.operationId);
    return this.guard.signal;
  }

  /** Returns the guard of a call that can end early, created on first use. */
  openGuard(): Guard | undefined {
    if (this.guard === undefined && this.isOutermost) this.guard = this.incoming?.openGuard?.();
    return this.guard;
  }

  /**
   * Creates the guard of a call that has a signal or a deadline, or is nested in a call with a guard. Other calls have no
   * guard. The guard may have ended already. Throws a `CallError` for invalid options.
   */
  armGuard(parent: CallState | undefined): Guard | undefined {
    const { options } = this;
    const outer = parent?.openGuard();
    const signal = options?.signal;
    const deadline = options?.deadline;
    const timeout = options?.timeout;
    const isUnlimited = signal === undefined && deadline === undefined && timeout === undefined && outer === undefined;
    return isUnlimited ? undefined : this.#createGuard(outer);
  }

  #createGuard(outer: Guard | undefined): Guard {
    const { operationId: id, options } = this;
    const signal = options?.signal;
    const deadline = options?.deadline;
    const base = options?.[baseSignal];
    throwIfInvalid(id, checkCallOptions(id, deadline, signal, options?.timeout));
    if (base !== undefined) throwIfInvalid(id, checkCallOptions(id, undefined, base));
    const guard = new Guard(id);
    guard.arm(signal, deadline, outer);
    if (guard.ended !== undefined && deadline !== undefined) throwIfInvalid(id, checkPastDeadline(id, deadline));
    if (base !== undefined && guard.ended === undefined) guard.alsoListenTo(base);
    this.guard = guard;
    return guard;
  }

  /** Throws if the call is nested too deeply, or if its incoming call has caused too many calls. */
  throwIfLimitExceeded(): void {
    const { callDepth } = this.core.limits;
    const id = this.operationId;
    if (this.depth > callDepth) {
      throw markPipelineError(id, limitExceeded(`Calls are nested too deeply at "${id}"`, "callDepth", callDepth));
    }
    const budget = this.incoming?.budget;
    if (budget === undefined || budget.callsLeft >= 0) return;
    const problem = `One incoming call caused too many other calls, the last of "${id}"`;
    throw markPipelineError(id, limitExceeded(problem, "callsPerRoot", budget.allowed));
  }

  reportProgress(progress: Progress): void {
    const guard = this.guard ?? this.incoming?.guard;
    if (this.isFinished || guard?.ended !== undefined) return;
    this.core.reportProgress(this, progress);
    if (this.isOutermost) this.incoming?.reportProgress(progress);
    const { options } = this;
    if (options?.onProgress !== undefined) notify(() => options.onProgress?.(progress), this.core.onProgressError);
  }

  /** Records that the handler is called. Throws if the call has ended, or if its deadline has passed. */
  start(): void {
    const { incoming, context } = this;
    if (this.guard === undefined && incoming !== undefined) {
      const isInTime = context.deadline === undefined || context.deadline > Date.now();
      // A listener to events may have ended the call.
      if (isInTime && incoming.guard === undefined) incoming.hasStarted = true;
      else this.openGuard();
    }
    this.guard?.start();
  }

  /** Makes the call listen for the end of a handler that has not been called yet. */
  observeEnd(): void {
    this.observesEnd = true;
  }

  /** Records that the handler returned a promise. The handler runs until the promise settles. */
  handlerReturned(result: PromiseLike<unknown>): void {
    this.handlerResult = result;
    if (this.observesEnd) this.#listenForEnd(result);
  }

  /** Records that the handler has ended: its calls are no longer trusted. */
  finish(): void {
    this.isFinished = true;
    this.handlerResult = undefined;
  }

  /**
   * Returns whether the handler of this call is running. The first use makes the call listen for the end, so that handlers
   * without nested calls do not pay for it. After the handler has returned a promise, the result is delayed by a microtask:
   * if the handler has ended, the reaction to its end is ahead in the queue.
   */
  isRunning(): boolean | Promise<boolean> {
    if (this.isFinished) return false;
    const result = this.handlerResult;
    const isFirst = !this.observesEnd;
    this.observesEnd = true;
    if (result === undefined) return true;
    if (isFirst) this.#listenForEnd(result);
    return Promise.resolve().then(() => !this.isFinished);
  }

  #listenForEnd(result: PromiseLike<unknown>): void {
    const finish = () => this.finish();
    result.then(finish, finish);
  }
}

function nestedContext(state: CallState, options: MergedOptions | undefined, parent: CallState): CallContext {
  if (parent.incoming !== undefined) parent.incoming.openBudget().callsLeft -= 1;
  const { identity, deadline, metadata } = parent.context;
  return new CallContext(
    state,
    identity,
    earlier(deadline, options?.deadline),
    options?.metadata ?? metadata,
    parent.openRequestId(),
  );
}

function throwIfInvalid(id: string, error: CallError | undefined): void {
  if (error !== undefined) throw markPipelineError(id, error);
}

/** Returns the earlier of two deadlines, either of which may be absent. */
export function earlier(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined) return b;
  return b === undefined ? a : Math.min(a, b);
}

/** Returns the state of the call that a context was created for; `undefined` for any other value. */
export let stateOf: (value: unknown) => CallState | undefined;

/**
 * The context of one call, as its handler receives it. Its private field cannot be forged (decision 004). Expensive
 * members are created when they are first read, because most handlers read none of them.
 */
export class CallContext implements OperationContext {
  // Declared only: class fields would store each of them twice.
  declare readonly identity: Identity | undefined;
  declare readonly deadline: number | undefined;
  declare readonly metadata: Readonly<Record<string, unknown>>;
  declare readonly parentRequestId: string | undefined;
  readonly #state: CallState;

  static {
    stateOf = (value) =>
      typeof value === "object" && value !== null && #state in value ? (value as CallContext).#state : undefined;
  }

  constructor(
    state: CallState,
    identity: Identity | undefined,
    deadline: number | undefined,
    metadata: Readonly<Record<string, unknown>>,
    parentRequestId: string | undefined,
  ) {
    this.#state = state;
    this.identity = identity;
    this.deadline = deadline;
    this.metadata = metadata;
    this.parentRequestId = parentRequestId;
  }

  get requestId(): string {
    return this.#state.openRequestId();
  }

  get signal(): AbortSignal {
    return this.#state.openSignal();
  }

  get abortable(): boolean {
    return this.#state.isAbortable;
  }

  get remote(): boolean {
    return this.#state.isRemote;
  }

  get lastEventId(): string | undefined {
    return this.#state.options?.lastEventId;
  }

  get env(): RegisteredEnv {
    return this.#state.openEnv() as RegisteredEnv;
  }

  get call(): CallOperation {
    return this.#state.core.createCall(this.#state);
  }

  get errors(): DeclaredErrors<Record<string, object>> {
    const { core, operationId } = this.#state;
    return createDeclaredErrors(operationId, core.operations.get(operationId)?.spec.errorSchemas);
  }

  /** Returns a bound function, so that a handler may destructure its context. */
  get progress(): (progress: Progress) => void {
    return (progress) => this.#state.reportProgress(progress);
  }
}
