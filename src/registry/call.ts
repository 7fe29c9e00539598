import { notify } from "../internal/emitter.ts";
import { nextRequestId } from "../internal/request-id.ts";
import { describeValue } from "../internal/text.ts";
import { startTimer } from "../internal/timers.ts";
import { onAbort } from "../internal/wait.ts";
import {
  aborted,
  accessDenied,
  type CallableOperation,
  CallError,
  type CallOperation,
  type CallOptions,
  checkCallOptions,
  checkPastDeadline,
  checkResource,
  checkScopes,
  createDeclaredErrors,
  type DeclaredErrors,
  type ForwardedCall,
  formatOperationId,
  type Identity,
  limitExceeded,
  nearestOperation,
  notAnId,
  notServedNow,
  type OperationContext,
  type OperationEnv,
  operationNotFound,
  type Progress,
  type RegisteredEnv,
  type RequestFields,
  type ResponseEnvelope,
  requestFields,
  type SubscribeOptions,
  timedOut,
  toIdentity,
  unavailable,
  writeRequestFields,
  wrongOperationType,
} from "../operation/inside.ts";
import type { CompiledOperation } from "./compiled-operation.ts";
import type { RegistryCore } from "./core.ts";
import { createEnv } from "./env.ts";
import { dataOf, markPipelineError, notStarted, toFailure } from "./failures.ts";
import type { OperationEntry } from "./operation-entry.ts";
import { emitCall, reportLateResult } from "./reports.ts";
import type { Middleware } from "./types.ts";

// One call from its start to its envelope. The steps, in this order: find, scopes, limits, validate, resource, run, wrap.

/** The signal of a client or an env, besides the `signal` of a single call. Either one ends the call. */
export const baseSignal = Symbol("base signal");

/** The options of a call, merged with those of its client or env. */
export interface MergedOptions extends SubscribeOptions {
  readonly [baseSignal]?: AbortSignal | undefined;
}

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

/** How nested calls are checked: `trust` skips access rules, `attenuate` checks them against the scopes of the caller. */
export type NestedMode = "trust" | "attenuate";

/** The metadata of a call without metadata. */
export const noMetadata: Readonly<Record<string, unknown>> = Object.freeze({});

/**
 * One call of an operation, and the context that its handler receives. Everything beyond `OperationContext` is private,
 * so that a handler cannot claim trust that it does not have (decision 004): a copy of a context, or another object
 * that looks like one, is not a call. Members that most handlers do not read are created when they are read.
 */
export class Call implements OperationContext {
  readonly identity: Identity | undefined;
  readonly deadline: number | undefined;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly parentRequestId: string | undefined;
  declare readonly lastEventId: string | undefined;
  readonly #core: RegistryCore;
  readonly #operationId: string;
  readonly #options: MergedOptions | undefined;
  readonly #parent: Call | undefined;
  readonly #origin: CallOrigin | undefined;
  readonly #depth: number;
  readonly #isRemote: boolean;
  /** Whether the call skips access rules. */
  readonly #isTrusted: boolean;
  /** Whether something can end the call early. */
  readonly #isAbortable: boolean;
  #state: "waiting" | "running" | "finished" = "waiting";
  /** The error that ended the call early. */
  #ended: CallError | undefined = undefined;
  /** Whether its deadline ended the call. */
  #hasExpired = false;
  /** Whether the call notices when its handler ends, which matters for trust, progress, and calls that can end early. */
  #tracksEnd: boolean;
  /** The promise of the handler, while the call does not track its end. */
  #result: Promise<unknown> | undefined = undefined;
  #onEnd: ((error: CallError) => void) | undefined = undefined;
  /** Removes the timer and the listeners of the call. */
  #stopWatching: (() => void) | undefined = undefined;
  #children: Set<Call> | undefined = undefined;
  #controller: AbortController | undefined = undefined;
  #requestId: string | undefined = undefined;
  #env: OperationEnv | undefined = undefined;

  constructor(
    core: RegistryCore,
    operationId: string,
    options: MergedOptions | undefined,
    parent: Call | undefined,
    origin: CallOrigin | undefined,
    isTrusted: boolean,
    isSubscription: boolean,
  ) {
    this.#core = core;
    this.#operationId = operationId;
    this.#options = options;
    this.#parent = parent;
    this.#origin = origin;
    this.#isTrusted = isTrusted;
    // Progress that is reported after the end is dropped.
    this.#tracksEnd = options?.onProgress !== undefined;
    // The consumer of a subscription may leave at any time.
    const hasSignal = options?.signal !== undefined || options?.[baseSignal] !== undefined;
    const canEnd = isSubscription || hasSignal || options?.timeout !== undefined;
    if (parent === undefined) {
      this.identity = options?.identity === undefined ? undefined : toIdentity(options.identity);
      const isDirectCall = origin === undefined && !isSubscription;
      this.deadline = deadlineOf(options, isDirectCall ? core.defaultTimeout : undefined);
      this.metadata = options?.metadata ?? noMetadata;
      this.parentRequestId = (origin ?? options)?.parentRequestId;
      this.#depth = origin === undefined ? 0 : origin.depth;
      this.#isRemote = origin?.isRemote === true;
      this.#isAbortable = canEnd || origin !== undefined || this.deadline !== undefined;
    } else {
      this.identity = parent.identity;
      this.deadline = earlier(parent.deadline, deadlineOf(options, undefined));
      this.metadata = options?.metadata ?? parent.metadata;
      this.parentRequestId = parent.requestId;
      this.#depth = parent.#depth + 1;
      this.#isRemote = parent.#isRemote;
      this.#isAbortable = canEnd || parent.#isAbortable || this.deadline !== undefined;
    }
  }

  static {
    // `metadata` is a property, because every call has it.
    const { metadata: _, ...others } = requestFields;
    for (const [name, { isInherited }] of Object.entries(others)) {
      const get = function (this: Call): unknown {
        const own = this.#options?.[name as keyof RequestFields];
        return own === undefined && isInherited ? this.#parent?.[name as keyof RequestFields] : own;
      };
      Object.defineProperty(Call.prototype, name, { get, configurable: true });
    }
  }

  /**
   * Runs a query or mutation for a direct caller, or inside `parent`. A trusted call skips access rules. A context instead
   * of options makes it a nested call with the same identity, signal and deadline, but without trust. Rejects with a
   * `CallError` and never throws.
   */
  static execute(
    core: RegistryCore,
    id: string,
    input: unknown,
    options: CallOptions | undefined,
    parent?: Call,
    isTrusted = false,
  ): Promise<ResponseEnvelope> {
    try {
      const outer = parent ?? Call.of(options);
      const own = outer === parent ? options : undefined;
      const call = new Call(core, id, own, outer, undefined, isTrusted, false);
      if (call.#isAbortable || core.calls.hasListeners) return call.#runWatched(input);
      return call.#run(call.#find("execute"), input);
    } catch (error) {
      return Promise.reject(notStarted(id, error));
    }
  }

  /** Creates the call of a query or mutation for a request from outside. */
  static incoming(core: RegistryCore, id: string, options: CallOptions, origin: CallOrigin): IncomingExecution {
    const call = new Call(core, id, options, undefined, origin, false, false);
    return {
      run: (input) => call.#runWatched(input),
      abort: (reason) => call.#end(aborted(id, reason, call.#hasStarted)),
      end: (error) => call.#end(error),
    };
  }

  /** Returns the call that a context was created for; `undefined` for any other value. */
  static of(value: unknown): Call | undefined {
    return typeof value === "object" && value !== null && #core in value ? value : undefined;
  }

  /** Returns whether a call belongs to a registry. */
  static isOf(core: RegistryCore, call: Call): boolean {
    return call.#core === core;
  }

  /** Runs a call that the handler of `call` makes. It is trusted while that handler runs. */
  static nested(
    call: Call,
    mode: NestedMode,
    id: string,
    input: unknown,
    options: CallOptions | undefined,
  ): Promise<ResponseEnvelope> {
    if (call.#isAbortable) call.#watch();
    const run = () => Call.execute(call.#core, id, input, options, call, mode === "trust" && call.#state === "running");
    if (call.#tracksEnd) return run();
    call.#tracksEnd = true;
    if (call.#result === undefined) return run();
    // If the handler has ended, the reaction to its end is ahead in the queue.
    const finish = () => call.#finish();
    call.#result.then(finish, finish);
    return Promise.resolve().then(run);
  }

  /**
   * Runs the steps of a subscription up to its handler, and returns what the handler returned. `onEnd` is called when the
   * call ends early.
   */
  static async open(
    call: Call,
    input: unknown,
    onEnd: (error: CallError) => void,
  ): Promise<{ operation: CompiledOperation; result: unknown }> {
    const operation = call.#find("subscribe");
    const { middleware } = operation;
    call.#onEnd = onEnd;
    call.#checkLimits();
    call.#watch();
    const validated = await call.#validate(operation, input, middleware.length > 0);
    try {
      return { operation, result: await call.#invoke(operation, middleware, validated) };
    } catch (error) {
      throw error === call.#ended ? error : operation.toFailure(error);
    }
  }

  /** Ends a subscription's call early. Has no effect on a call that has ended. */
  static end(call: Call, error: CallError): void {
    call.#end(error);
  }

  /** Records that the handler of a subscription has ended. */
  static finish(call: Call): void {
    call.#finish();
  }

  /** Whether the handler of a call was called. */
  static hasStarted(call: Call): boolean {
    return call.#hasStarted;
  }

  /** Returns what a call that is forwarded to a peer inherits from the call with this context. */
  static forward(context: OperationContext): ForwardedCall {
    const { deadline, identity, progress: onProgress } = context;
    const call = Call.of(context);
    const forwarded: ForwardedCall = { deadline, identity, onProgress, isRemote: context.remote === true };
    writeRequestFields(forwarded, context);
    if (context.abortable !== false) forwarded.signal = context.signal;
    if (call === undefined) forwarded.parentRequestId = context.parentRequestId;
    else {
      forwarded.parentRequestId = call.requestId;
      forwarded.depth = call.#depth + 1;
      forwarded.credit = call.#options?.credit;
      forwarded.creditBytes = call.#options?.creditBytes;
      if (call.metadata === noMetadata) forwarded.metadata = undefined;
    }
    return forwarded;
  }

  get requestId(): string {
    if (this.#requestId === undefined) {
      const given: unknown = this.#origin?.requestId ?? (this.#parent ? undefined : this.#options?.requestId);
      this.#requestId = typeof given === "string" ? given : nextRequestId();
    }
    return this.#requestId;
  }

  get signal(): AbortSignal {
    if (this.#isAbortable) this.#watch();
    this.#controller ??= new AbortController();
    if (this.#ended !== undefined) this.#controller.abort(this.#ended);
    return this.#controller.signal;
  }

  get abortable(): boolean {
    return this.#isAbortable;
  }

  get remote(): boolean {
    return this.#isRemote;
  }

  get env(): RegisteredEnv {
    this.#env ??= createEnv(this.#core, undefined, (id, input, options) =>
      Call.nested(this, "trust", id, input, options),
    );
    return this.#env as RegisteredEnv;
  }

  get call(): CallOperation {
    const run = (operation: string | CallableOperation, input?: unknown, options?: CallOptions) => {
      const id = idOf(operation);
      if (id === undefined) {
        const given = describeValue(operation);
        return Promise.reject(new TypeError(`call() takes a definition or the id of an operation, not ${given}.`));
      }
      const entry = this.#core.operations.get(id);
      if (entry?.isSubscription) return Promise.reject(wrongType(entry, "call"));
      return Call.nested(this, "trust", id, input, options).then((envelope) => dataOf(id, envelope));
    };
    return run as never;
  }

  get errors(): DeclaredErrors<Record<string, object>> {
    return createDeclaredErrors(this.#operationId, this.#core.operations.get(this.#operationId)?.spec.errorSchemas);
  }

  /** Returns a bound function, so that a handler may destructure its context. */
  get progress(): (progress: Progress) => void {
    return (progress) => {
      if (this.#state === "finished" || this.#ended !== undefined) return;
      if (this.#core.calls.hasListeners) emitCall(this.#core, this, this.#operationId, "progressed", { progress });
      this.#origin?.reportProgress(progress);
      const listener = this.#options?.onProgress;
      if (listener !== undefined) notify(() => listener(progress), this.#core.onProgressError);
    };
  }

  get #hasStarted(): boolean {
    return this.#state !== "waiting";
  }

  /** Runs the steps find and scopes, before the input is read. Throws a `CallError`. */
  #find(used: "execute" | "subscribe"): CompiledOperation {
    const core = this.#core;
    const entry = core.operations.get(this.#operationId);
    if (entry === undefined || core.isClosed) this.#throwIfNotFound(entry);
    const refusal = this.#parent && core.refuseNested(entry, this.#parent.#operationId);
    if (refusal !== undefined) throw markPipelineError(entry.id, refusal);
    if (entry.isSubscription !== (used === "subscribe")) throw wrongType(entry, used);
    const { identity } = this;
    // Rules and copies of identities are frozen, so an allowed identity stays allowed: the bench `execute` needs this.
    if (entry.demandsScopes && (identity === undefined || identity !== entry.allowed) && !this.#isExempt(entry)) {
      const decision = checkScopes(entry.access, identity);
      if (decision !== true) throw denied(entry.id, decision);
      entry.allowed = identity;
    }
    const { callDepth } = core.limits;
    if (this.#depth > callDepth) {
      const problem = `Calls are nested too deeply at "${entry.id}"`;
      throw markPipelineError(entry.id, limitExceeded(problem, "callDepth", callDepth));
    }
    return entry.compiled ?? core.compile(entry);
  }

  #throwIfNotFound(entry: OperationEntry | undefined): asserts entry is OperationEntry {
    const core = this.#core;
    const id = this.#operationId;
    // Calls that are running when the registry is closed continue, and so do the calls that they make.
    if (core.isClosed && this.#parent === undefined) {
      throw markPipelineError(id, unavailable("The registry is closed.", { mayHaveRun: false }));
    }
    if (entry !== undefined) return;
    if (typeof id !== "string") throw markPipelineError(id, notAnId(id));
    if (core.mayAppear(id)) throw markPipelineError(id, notServedNow(id));
    throw markPipelineError(id, operationNotFound(id, nearestOperation(id, core.specs(), this.identity)));
  }

  /**
   * Returns whether the access rule of an operation is skipped: the call is trusted, or the peer that serves the operation
   * checks the rule. A call from a network is checked here as well, because the connection to the peer authenticates this
   * process and not the sender of that call.
   */
  #isExempt(entry: OperationEntry): boolean {
    return this.#isTrusted || (entry.isCheckedByPeer && !this.#isRemote);
  }

  /** Runs a call that can end early, or whose events are emitted. */
  #runWatched(input: unknown): Promise<ResponseEnvelope> {
    const core = this.#core;
    const id = this.#operationId;
    const startedAt = core.calls.hasListeners ? performance.now() : undefined;
    this.#tracksEnd = true;
    const result = new Promise<ResponseEnvelope>((resolve, reject) => {
      this.#onEnd = reject;
      try {
        if (startedAt !== undefined) emitCall(core, this, id, "started", {});
        if (this.#ended !== undefined) return; // A listener ended the call.
        const operation = this.#find("execute");
        this.#checkLimits();
        this.#run(operation, input).then(resolve, reject);
      } catch (error) {
        this.#finish();
        reject(notStarted(id, error));
      }
    });
    return startedAt === undefined ? result : this.#observe(startedAt, result);
  }

  /** Emits the outcome of a call when its caller receives it. */
  async #observe(startedAt: number, result: Promise<ResponseEnvelope>): Promise<ResponseEnvelope> {
    const core = this.#core;
    const id = this.#operationId;
    try {
      const envelope = await result;
      emitCall(core, this, id, "succeeded", { duration: performance.now() - startedAt, envelope });
      return envelope;
    } catch (error) {
      emitCall(core, this, id, "failed", { duration: performance.now() - startedAt, error: error as CallError });
      throw error;
    }
  }

  /**
   * Runs the steps from validate on. If none of them has to wait, everything up to the handler is synchronous, and a call
   * that does not need to know when its handler ends creates no closure: the bench `execute` needs both. Throws or rejects
   * with a `CallError`.
   */
  #run(operation: CompiledOperation, input: unknown): Promise<ResponseEnvelope> {
    if (operation.hasAsyncStep || (operation.demandsResource && !this.#isExempt(operation.entry))) {
      return this.#runSteps(operation, input);
    }
    const validated = operation.isForwarding ? input : operation.validate(input);
    this.#start();
    let result: unknown;
    try {
      result = operation.handler(validated, this);
    } catch (error) {
      this.#finish();
      return Promise.reject(operation.toFailure(error));
    }
    if (typeof (result as Partial<PromiseLike<unknown>> | undefined)?.then !== "function") this.#finish();
    const promise = Promise.resolve(result);
    if (this.#tracksEnd) return this.#settle(operation, promise);
    this.#result = promise;
    return promise.then(operation.wrap, operation.throwFailure);
  }

  /** Wraps the result of a handler whose end the call notices. */
  #settle(operation: CompiledOperation, result: Promise<unknown>): Promise<ResponseEnvelope> {
    const envelope = result.then(
      (value) => {
        this.#finish();
        return operation.wrap(value);
      },
      (error) => {
        this.#finish();
        return operation.throwFailure(error);
      },
    );
    // The reaction of a handler that has settled already is ahead in the queue: its call needs no timer and no listeners.
    if (this.#isAbortable) queueMicrotask(() => this.#watch());
    return envelope;
  }

  /** Runs the same steps if one of them may have to wait: a resource rule, a Standard Schema or middleware. */
  async #runSteps(operation: CompiledOperation, input: unknown): Promise<ResponseEnvelope> {
    // Middleware that is added or removed later does not affect a running call.
    const { middleware } = operation;
    if (this.#isAbortable) this.#watch();
    try {
      const validated = await this.#validate(operation, input, middleware.length > 0);
      let result: unknown;
      try {
        result = await this.#invoke(operation, middleware, validated);
      } catch (error) {
        throw error === this.#ended ? error : operation.toFailure(error);
      }
      return middleware.length === 0 ? operation.wrap(result) : operation.wrapAny(result);
    } finally {
      this.#finish();
    }
  }

  /** Runs the steps validate and resource. Returns the input for the handler; rejects with a `CallError`. */
  async #validate(operation: CompiledOperation, input: unknown, isRead: boolean): Promise<unknown> {
    const { entry, isForwarding } = operation;
    const needsResource = operation.demandsResource && !this.#isExempt(entry);
    // The registry that the call is forwarded to validates the input. It is validated here only if a step here reads it.
    if (isForwarding && !needsResource && !isRead) return input;
    try {
      const validated = await operation.validateFully(input);
      if (needsResource) await this.#checkResourceRule(entry, validated);
      return isForwarding ? input : validated;
    } catch (error) {
      throw notStarted(entry.id, error);
    }
  }

  /** Runs the step resource on the validated input. Rejects with a `CallError`. */
  async #checkResourceRule({ id, spec, access }: OperationEntry, input: unknown): Promise<void> {
    const { identity, metadata } = this;
    const decision = checkResource(access, identity, input);
    if (decision !== true) throw denied(id, decision);
    const name = access.customAuth;
    if (name === undefined) return;
    const decide = this.#core.customAuth(name);
    if (decide === undefined) throw denied(id, `the registry has no customAuth "${name}"`);
    let allowed: unknown;
    try {
      allowed = await decide({ identity, input, spec, metadata });
    } catch (cause) {
      const { code, message, details } = accessDenied(id, `customAuth "${name}" failed`);
      throw markPipelineError(id, new CallError(code, message, details, { cause, mayHaveRun: false }));
    }
    if (allowed !== true) throw denied(id, `customAuth "${name}" did not return true`);
  }

  /** Runs middleware, outermost first, then the handler. Throws when the call has ended before that. */
  #invoke({ entry, handler }: CompiledOperation, middleware: readonly Middleware[], input: unknown): unknown {
    if (this.#ended !== undefined) throw this.#ended;
    if (middleware.length === 0) {
      this.#start();
      return handler(input, this);
    }
    const run = async () => {
      if (this.#state === "finished") throw nextAfterEnd(entry.id);
      this.#start();
      try {
        return await handler(input, this);
      } catch (error) {
        // Middleware receives the same error as the caller: `mayHaveRun: false` of a nested call does not apply to this one.
        throw toFailure(entry, error);
      }
    };
    const isNested = this.#parent !== undefined;
    const shown = Object.freeze({ operationId: entry.id, spec: entry.spec, input, context: this, isNested });
    const step = (index: number): unknown => {
      const wrap = middleware[index];
      return wrap === undefined ? run() : wrap(shown, async () => step(index + 1));
    };
    return step(0);
  }

  /** Records that the handler is called. Throws if the call has ended, or if its deadline has passed. */
  #start(): void {
    if (this.#ended === undefined && this.deadline !== undefined && this.deadline <= Date.now()) this.#expire();
    if (this.#ended !== undefined) throw this.#ended;
    this.#state = "running";
  }

  /** Records that the handler has ended: its calls are no longer trusted, and nothing ends the call early any more. */
  #finish(): void {
    if (this.#ended !== undefined && this.#state === "running") reportLateResult(this.#operationId);
    this.#state = "finished";
    this.#stopWatching?.();
  }

  /** Throws if the options are invalid, or if the deadline, a signal or the parent call has already ended this call. */
  #checkLimits(): void {
    const id = this.#operationId;
    const { deadline } = this;
    const options = this.#options;
    const parent = this.#parent;
    const own = options?.signal;
    const base = options?.[baseSignal];
    const invalid =
      checkCallOptions(id, options?.deadline, own, options?.timeout) ?? checkCallOptions(id, undefined, base);
    if (invalid !== undefined) throw markPipelineError(id, invalid);
    if (parent !== undefined && parent.#ended !== undefined) throw this.#toOwn(parent.#ended, parent.#hasExpired);
    for (const signal of [own, base]) if (signal?.aborted) throw this.#toOwn(aborted(id, signal.reason, false), false);
    if (deadline === undefined || deadline > Date.now()) return;
    const mistake = options?.deadline === undefined ? undefined : checkPastDeadline(id, options.deadline);
    throw mistake === undefined ? this.#toOwn(undefined, true) : markPipelineError(id, mistake);
  }

  /** Makes the deadline, the signals and the parent call end this call, from now on until it has finished. */
  #watch(): void {
    if (this.#stopWatching !== undefined || this.#state === "finished" || this.#ended !== undefined) return;
    const parent = this.#parent;
    const own = this.#options?.signal;
    const base = this.#options?.[baseSignal];
    const abort = (reason: unknown) => this.#end(aborted(this.#operationId, reason, this.#hasStarted));
    const left = this.deadline === undefined ? Number.POSITIVE_INFINITY : this.deadline - Date.now();
    if (left <= 0) return this.#expire();
    const stopOwn = own && onAbort(own, abort);
    const stopBase = base && onAbort(base, abort);
    const timer = startTimer(() => this.#expire(), left);
    if (parent !== undefined) parent.#children ??= new Set();
    const siblings = parent === undefined ? undefined : parent.#children;
    siblings?.add(this);
    this.#stopWatching = () => {
      timer.stop();
      stopOwn?.();
      stopBase?.();
      siblings?.delete(this);
    };
    for (const signal of [own, base]) if (signal?.aborted) abort(signal.reason);
    if (parent !== undefined && parent.#ended !== undefined) this.#endLike(parent);
  }

  #expire(): void {
    this.#end(timedOut(this.#operationId, this.#hasStarted), true);
  }

  /** Ends the call early: notifies its caller, the handler's signal, and the calls that the handler has made. */
  #end(error: CallError, hasExpired = false): void {
    if (this.#state === "finished" || this.#ended !== undefined) return;
    this.#ended = markPipelineError(this.#operationId, error);
    this.#hasExpired = hasExpired;
    this.#stopWatching?.();
    this.#onEnd?.(error);
    this.#controller?.abort(error);
    for (const child of this.#children ?? []) child.#endLike(this);
  }

  /** Ends this call for the reason that ended its parent. */
  #endLike(parent: Call): void {
    this.#end(this.#toOwn(parent.#ended, parent.#hasExpired), parent.#hasExpired);
  }

  /** Converts the error that ended the parent call to the error of this call. */
  #toOwn(error: CallError | undefined, hasExpired: boolean): CallError {
    const id = this.#operationId;
    if (hasExpired) return markPipelineError(id, timedOut(id, this.#hasStarted));
    const reason = error?.code === "ABORTED" ? error.cause : error;
    return markPipelineError(id, aborted(id, reason, this.#hasStarted));
  }
}

/** Returns the deadline that the options of a call set, with the timeout counted from now. Invalid ones are reported later. */
function deadlineOf(options: CallOptions | undefined, defaultTimeout: number | undefined): number | undefined {
  const deadline = options?.deadline;
  const timeout = options?.timeout ?? (deadline === undefined ? defaultTimeout : undefined);
  return typeof timeout === "number" ? earlier(deadline, Date.now() + timeout) : deadline;
}

/** Returns the earlier of two deadlines, either of which may be absent. */
export function earlier(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined) return b;
  return b === undefined ? a : Math.min(a, b);
}

/** Returns the id of an operation, if the argument has one. It may be any value, because handlers can pass on their input. */
function idOf(operation: unknown): string | undefined {
  if (typeof operation === "string") return operation;
  const { namespace, name } = (operation ?? {}) as Partial<CallableOperation>;
  const hasNames = typeof namespace === "string" && typeof name === "string";
  return hasNames ? formatOperationId(namespace, name) : undefined;
}

function wrongType({ id, spec }: OperationEntry, used: "execute" | "subscribe" | "call"): CallError {
  return markPipelineError(id, wrongOperationType(id, spec.type, used));
}

function denied(id: string, decision: string): CallError {
  return markPipelineError(id, accessDenied(id, decision));
}

function nextAfterEnd(id: string): CallError {
  const message = `Middleware called next() after the call of "${id}" had ended. Call it before the promise that the middleware returns is settled.`;
  return new CallError("EXECUTION_ERROR", message);
}
