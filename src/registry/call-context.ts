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
import type { CallOrigin, ForwardedCall } from "./call-origin.ts";
import type { RegistryCore } from "./core.ts";
import { markPipelineError } from "./failures.ts";
import { Guard } from "./guard.ts";

/** The signal of a client or an env, where `signal` is the one of a single call. Either ends the call. */
export const baseSignal = Symbol("base signal");

/** The options of a call on top of those of its client or env. */
export interface MergedOptions extends SubscribeOptions {
  readonly [baseSignal]?: AbortSignal | undefined;
}

const noMetadata: Readonly<Record<string, unknown>> = Object.freeze({});

/**
 * The context of one call, and what the registry knows about that call. Private fields make it unforgeable, and everything
 * that costs is made when it is first read: most handlers read none of it.
 */
export class CallContext implements OperationContext {
  // Not defined as class fields, which would store each of them twice.
  declare readonly identity: Identity | undefined;
  declare readonly deadline: number | undefined;
  declare readonly metadata: Readonly<Record<string, unknown>>;
  declare readonly parentRequestId: string | undefined;

  readonly #core: RegistryCore;
  readonly #operationId: string;
  readonly #options: MergedOptions | undefined;
  readonly #depth: number;
  readonly #incoming: CallOrigin | undefined;
  readonly #isTrusted: boolean;
  #requestId: string | undefined = undefined;
  #guard: Guard | undefined = undefined;
  #env: OperationEnv | undefined = undefined;
  /** What the handler returned, once it has returned a promise. */
  #handlerResult: PromiseLike<unknown> | undefined = undefined;
  /** Whether the end of the handler is noticed when it comes. Listening costs, so it starts when the end first matters. */
  #observesEnd = false;
  #isFinished = false;

  constructor(
    core: RegistryCore,
    operationId: string,
    options: MergedOptions | undefined,
    parent: CallContext | undefined,
    incoming: CallOrigin | undefined,
    trusted: boolean,
  ) {
    this.#core = core;
    this.#operationId = operationId;
    this.#options = options;
    this.#isTrusted = trusted;
    // Progress that is reported after the end is dropped, so the end must be noticed.
    if (options?.onProgress !== undefined) this.#observesEnd = true;
    if (parent === undefined) {
      const identity: unknown = options?.identity;
      this.identity = identity === undefined ? undefined : toIdentity(identity);
      this.deadline = options?.deadline;
      this.metadata = options?.metadata ?? noMetadata;
      this.parentRequestId = incoming?.parentRequestId;
      this.#depth = incoming === undefined ? 0 : incoming.depth;
      this.#incoming = incoming;
      if (incoming !== undefined) this.#guard = incoming.guard;
    } else {
      this.identity = parent.identity;
      this.deadline = earlier(parent.deadline, options?.deadline);
      this.metadata = options?.metadata ?? parent.metadata;
      this.parentRequestId = parent.requestId;
      this.#depth = parent.#depth + 1;
      this.#incoming = parent.#incoming;
      if (this.#incoming !== undefined) this.#incoming.openBudget().callsLeft -= 1;
    }
  }

  get requestId(): string {
    if (this.#requestId === undefined) {
      // A nested call always has an id of its own.
      const given: unknown = this.#isOutermost ? (this.#incoming ?? this.#options)?.requestId : undefined;
      this.#requestId = typeof given === "string" ? given : nextRequestId();
    }
    return this.#requestId;
  }

  get signal(): AbortSignal {
    this.#guard = CallContext.openGuard(this) ?? new Guard(this.#operationId);
    return this.#guard.signal;
  }

  get abortable(): boolean {
    return this.#guard !== undefined || (this.#isOutermost && this.#incoming?.openGuard !== undefined);
  }

  get remote(): boolean {
    return this.#incoming?.isRemote === true;
  }

  get env(): RegisteredEnv {
    this.#env ??= this.#core.createEnv(this);
    return this.#env as RegisteredEnv;
  }

  get call(): CallOperation {
    return this.#core.createCall(this);
  }

  get errors(): DeclaredErrors<Record<string, object>> {
    return createDeclaredErrors(this.#operationId, this.#core.operations.get(this.#operationId)?.spec.errorSchemas);
  }

  /** A function of its own each time, so that a handler may destructure its context. */
  get progress(): (progress: Progress) => void {
    return (progress) => this.#report(progress);
  }

  /** Whether no other call of this process made this one. */
  get #isOutermost(): boolean {
    return this.#depth === (this.#incoming === undefined ? 0 : this.#incoming.depth);
  }

  #report(progress: Progress): void {
    if (this.#isFinished || this.#guard?.ended !== undefined) return;
    this.#core.reportProgress(this, this.#operationId, progress);
    if (this.#isOutermost) this.#incoming?.reportProgress(progress);
    const options = this.#options;
    if (options?.onProgress !== undefined) notify(() => options.onProgress?.(progress), this.#core.onProgressError);
  }

  /** The nearest request id of this call and those around it that anything can have seen: a new one would link to nothing. */
  get #knownRequestId(): string | undefined {
    const isGiven = this.#isOutermost && (this.#incoming ?? this.#options)?.requestId !== undefined;
    return this.#requestId !== undefined || isGiven ? this.requestId : this.parentRequestId;
  }

  #listenForEnd(result: PromiseLike<unknown>): void {
    const finish = () => CallContext.finish(this);
    result.then(finish, finish);
  }

  // Static, because what is on the object is visible to the handler.

  /** Whether a value is a context that some registry made. */
  static is(value: unknown): value is CallContext {
    return typeof value === "object" && value !== null && #core in value;
  }

  /** Whether a value is a context that `core` made; no property and no prototype can claim that. */
  static isOf(core: RegistryCore, value: unknown): value is CallContext {
    return CallContext.is(value) && value.#core === core;
  }

  static coreOf(context: CallContext): RegistryCore {
    return context.#core;
  }

  /** Whether the call skips access rules. */
  static isTrusted(context: CallContext): boolean {
    return context.#isTrusted;
  }

  static isOutermost(context: CallContext): boolean {
    return context.#isOutermost;
  }

  /** The error of a call that is nested too deep, or whose incoming call has led to too many calls. */
  static findExceededLimit(context: CallContext): CallError | undefined {
    const { callDepth } = context.#core.limits;
    const id = context.#operationId;
    if (context.#depth > callDepth) return limitExceeded(`Calls nest too deep at "${id}"`, "callDepth", callDepth);
    const budget = context.#incoming?.budget;
    if (budget === undefined || budget.callsLeft >= 0) return undefined;
    return limitExceeded(`One call caused too many others, at "${id}"`, "callsPerRoot", budget.allowed);
  }

  /** The guard of a call, if it has one by now. */
  static guardOf(context: CallContext): Guard | undefined {
    return context.#guard;
  }

  /** The guard of a call that can end early, created now if need be. */
  static openGuard(context: CallContext): Guard | undefined {
    if (context.#guard === undefined && context.#isOutermost) context.#guard = context.#incoming?.openGuard?.();
    return context.#guard;
  }

  /**
   * Creates the guard of a call that has a signal or a deadline, or is nested in a call with a guard; all others have none.
   * It may have ended already. Throws a `CallError` for options that are invalid.
   */
  static armGuard(context: CallContext, parent: CallContext | undefined): Guard | undefined {
    const options = context.#options;
    const signal = options?.signal;
    const deadline = options?.deadline;
    const timeout = options?.timeout;
    const outer = parent === undefined ? undefined : CallContext.openGuard(parent);
    if (signal === undefined && deadline === undefined && timeout === undefined && outer === undefined)
      return undefined;
    const id = context.#operationId;
    const base = options?.[baseSignal];
    throwIfInvalid(id, checkCallOptions(id, deadline, signal, timeout));
    if (base !== undefined) throwIfInvalid(id, checkCallOptions(id, undefined, base));
    const guard = new Guard(id);
    guard.arm(signal, deadline, outer);
    if (guard.ended !== undefined && deadline !== undefined) throwIfInvalid(id, checkPastDeadline(id, deadline));
    if (base !== undefined && guard.ended === undefined) guard.alsoListenTo(base);
    context.#guard = guard;
    return guard;
  }

  static attachGuard(context: CallContext, guard: Guard): void {
    context.#guard = guard;
  }

  /** What a call that is forwarded to a peer carries. In one literal, because it is a good part of what forwarding costs. */
  static describe(context: CallContext): ForwardedCall {
    const options = context.#options;
    return {
      parentRequestId: context.#knownRequestId,
      rootRequestId: context.#incoming?.shareBudget(),
      depth: context.#depth + 1,
      credit: options?.credit,
      creditBytes: options?.creditBytes,
      isRemote: context.remote,
      deadline: context.deadline,
      identity: context.identity,
      metadata: context.metadata === noMetadata ? undefined : context.metadata,
      signal: context.abortable ? context.signal : undefined,
      onProgress: context.progress,
      token: undefined,
    };
  }

  /** Notices the end of a handler that has not been called yet. */
  static observeEnd(context: CallContext): void {
    context.#observesEnd = true;
  }

  /** The handler's function has returned a promise; the handler runs until that settles. */
  static handlerReturned(context: CallContext, result: PromiseLike<unknown>): void {
    context.#handlerResult = result;
    if (context.#observesEnd) context.#listenForEnd(result);
  }

  /** The handler has ended: from now on no call in its name is trusted. */
  static finish(context: CallContext): void {
    context.#isFinished = true;
    context.#handlerResult = undefined;
  }

  static isFinished(context: CallContext): boolean {
    return context.#isFinished;
  }

  /**
   * Whether the handler of this context is running. The first question makes the context listen for the end, so that
   * handlers which call nothing pay nothing. Once the handler's function has returned, the result takes a microtask: if the
   * handler ended before, its reaction is in the queue ahead of that one.
   */
  static isRunning(context: CallContext): boolean | Promise<boolean> {
    if (context.#isFinished) return false;
    const result = context.#handlerResult;
    const isFirst = !context.#observesEnd;
    context.#observesEnd = true;
    if (result === undefined) return true;
    if (isFirst) context.#listenForEnd(result);
    return Promise.resolve().then(() => !context.#isFinished);
  }
}

/** What a call that is forwarded to a peer carries of the call whose handler got `context`, and of those around it. */
export function describeForwarded(context: OperationContext): ForwardedCall {
  if (CallContext.is(context)) return CallContext.describe(context);
  const { parentRequestId, deadline, identity, metadata, remote: isRemote = false, progress: onProgress } = context;
  const signal = context.abortable === false ? undefined : context.signal;
  const own = { deadline, identity, metadata, signal, isRemote, onProgress, parentRequestId };
  const unknown = { rootRequestId: undefined, depth: undefined, credit: undefined, creditBytes: undefined };
  return { ...own, ...unknown, token: undefined };
}

function throwIfInvalid(id: string, error: CallError | undefined): void {
  if (error !== undefined) throw markPipelineError(id, error);
}

/** The earlier of two deadlines that may both be absent. */
export function earlier(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined) return b;
  return b === undefined ? a : Math.min(a, b);
}
