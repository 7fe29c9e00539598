import { notify } from "../internal/emitter.ts";
import { nextRequestId } from "../internal/request-id.ts";
import { describeValue } from "../internal/text.ts";
import {
  accessDenied,
  type CallableOperation,
  type CallError,
  type CallOperation,
  type CallOptions,
  checkCallOptions,
  checkPastDeadline,
  checkResource,
  checkScopes,
  createDeclaredErrors,
  type DeclaredErrors,
  type ForwardedCall,
  type Identity,
  limitExceeded,
  nearestOperation,
  nextAfterEnd,
  notAnId,
  notServedNow,
  type OperationContext,
  type OperationEnv,
  operationIdOf,
  operationNotFound,
  type Progress,
  type RegisteredEnv,
  type RequestFields,
  type ResponseEnvelope,
  requestFields,
  toIdentity,
  unavailable,
  writeRequestFields,
  wrongOperationType,
} from "../operation/inside.ts";
import type { MergedOptions } from "./client.ts";
import type { CompiledOperation } from "./compiled-operation.ts";
import type { RegistryCore } from "./core.ts";
import { createEnv } from "./env.ts";
import { dataOf, markPipelineError, notStarted, toFailure } from "./failures.ts";
import { Lifetime } from "./lifetime.ts";
import type { OperationEntry } from "./operation-entry.ts";
import { emitCall, emitOutcome, reportListener, via } from "./reports.ts";
import type { Middleware, NestedMode } from "./types.ts";

// One call from its start to its envelope. The steps, in this order: find, scopes, limits, validate, resource, run, wrap.

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

const checkedSteps = ["find", "scopes", "validate", "resource"] as const;

/** A step of a call before its handler, and what it decided. */
export interface CheckedStep {
  readonly step: (typeof checkedSteps)[number];
  /** `unknown` where only the call itself can decide, `skipped` after a step that failed. */
  readonly outcome: "ok" | "failed" | "unknown" | "skipped";
  /** The error of a step that failed. */
  readonly error?: CallError | undefined;
}

/** The metadata of a call without metadata. */
const noMetadata: Readonly<Record<string, unknown>> = Object.freeze({});

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
  /** Whether the call skips access rules. */
  readonly #isTrusted: boolean;
  #state: "waiting" | "running" | "finished" = "waiting";
  /** Absent if nothing can end the call early. */
  #lifetime: Lifetime | undefined = undefined;
  #requestId: string | undefined = undefined;
  #env: OperationEnv | undefined = undefined;

  /** `isOwned`: whether the consumer of a subscription, or the sender of a request, may end the call. */
  constructor(
    core: RegistryCore,
    operationId: string,
    options: MergedOptions | undefined,
    parent: Call | undefined,
    origin: CallOrigin | undefined,
    isTrusted: boolean,
    isOwned: boolean,
  ) {
    this.#core = core;
    this.#operationId = operationId;
    this.#options = options;
    this.#parent = parent;
    this.#origin = origin;
    this.#isTrusted = isTrusted;
    if (parent === undefined) {
      this.identity = options?.identity === undefined ? undefined : toIdentity(options.identity);
      this.deadline = deadlineOf(options, isOwned ? undefined : core.defaultTimeout);
      this.metadata = options?.metadata ?? noMetadata;
      this.parentRequestId = (origin ?? options)?.parentRequestId;
    } else {
      this.identity = parent.identity;
      this.deadline = earlier(parent.deadline, deadlineOf(options));
      this.metadata = options?.metadata ?? parent.metadata;
      this.parentRequestId = parent.requestId;
    }
    const isLimited = isOwned || this.deadline !== undefined || parent?.abortable === true;
    if (isLimited || options?.signal !== undefined || options?.timeout !== undefined) {
      const outer = parent === undefined ? undefined : parent.#lifetime;
      this.#lifetime = createLifetime(operationId, this.deadline, options, outer);
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
      // Options are rarely a context. Looking for the private field of one is slow: the bench `execute` needs this.
      const mayBeContext = (options as Partial<OperationContext> | undefined)?.abortable !== undefined;
      const outer = parent ?? (mayBeContext ? Call.of(options) : undefined);
      const own = outer === parent ? options : undefined;
      const call = new Call(core, id, own, outer, undefined, isTrusted, false);
      if (call.#lifetime !== undefined || core.calls.hasListeners) return call.#runWatched(input);
      return call.#run(call.#find("execute"), input);
    } catch (error) {
      return Promise.reject(notStarted(id, error));
    }
  }

  /**
   * Returns what the steps before the handler decide about a call, without running code of the program: `customAuth` and the
   * validator of a Standard Schema stay `unknown`.
   */
  static check(core: RegistryCore, id: string, input: unknown, identity: Identity | undefined): CheckedStep[] {
    const call = new Call(core, id, { identity }, undefined, undefined, false, false);
    const entry = core.operations.get(id);
    const steps: CheckedStep[] = [];
    const add = (outcome: CheckedStep["outcome"], error?: CallError) =>
      steps.push({ step: checkedSteps[steps.length]!, outcome, ...(error !== undefined && { error }) });
    try {
      const operation = call.#find(entry?.isSubscription ? "subscribe" : "execute");
      add("ok"); // find
      add("ok"); // scopes
      const validated = operation.validate(input);
      const { access, demandsResource, validate } = operation.entry;
      add(validate === undefined ? "ok" : "unknown");
      const isChecked = demandsResource && !call.#isExempt(operation.entry);
      const decision = isChecked ? checkResource(access, call.identity, validated) : true;
      if (decision !== true) throw accessDenied(id, decision);
      add(isChecked && access.customAuth !== undefined ? "unknown" : "ok");
    } catch (thrown) {
      const error = notStarted(id, thrown);
      if (steps.length === 0 && entry !== undefined && error.code === "ACCESS_DENIED") add("ok"); // It was found.
      add("failed", error);
    }
    while (steps.length < checkedSteps.length) add("skipped");
    return steps;
  }

  /** Creates the call of a query or mutation for a request from outside. */
  static incoming(core: RegistryCore, id: string, options: CallOptions, origin: CallOrigin): IncomingExecution {
    const call = new Call(core, id, options, undefined, origin, false, true);
    const lifetime = call.#lifetime!;
    return {
      run: (input) => call.#runWatched(input),
      abort: (reason) => lifetime.abort(reason),
      end: (error) => lifetime.end(error),
    };
  }

  /** Returns the lifetime of a call that has an owner. */
  static lifetimeOf(call: Call): Lifetime {
    return call.#lifetime!;
  }

  /** Returns the call that a context was created for, in this registry if it is given; `undefined` for any other value. */
  static of(value: unknown, core?: RegistryCore): Call | undefined {
    const isCall = typeof value === "object" && value !== null && #core in value;
    return isCall && (core === undefined || value.#core === core) ? value : undefined;
  }

  /** Runs a call that the handler of `call` makes. It is trusted while that handler runs. */
  static nested(
    call: Call,
    mode: NestedMode,
    id: string,
    input: unknown,
    options: CallOptions | undefined,
  ): Promise<ResponseEnvelope> {
    call.#lifetime?.watch();
    return Call.execute(call.#core, id, input, options, call, mode === "trust" && call.#state === "running");
  }

  /** Runs the steps of a subscription up to its handler, and returns what the handler returned. */
  static async open(call: Call, input: unknown): Promise<{ operation: CompiledOperation; result: unknown }> {
    let operation: CompiledOperation;
    try {
      operation = call.#findWithin("subscribe");
    } catch (error) {
      throw notStarted(call.#operationId, error);
    }
    return { operation, result: await call.#runSteps(operation, input) };
  }

  /** Records that the handler of a subscription has ended. */
  static finish(call: Call): void {
    call.#finish();
  }

  /** Runs a call that can end early, or whose events are emitted. */
  #runWatched(input: unknown): Promise<ResponseEnvelope> {
    const core = this.#core;
    const id = this.#operationId;
    const startedAt = core.calls.hasListeners ? performance.now() : undefined;
    const result = new Promise<ResponseEnvelope>((resolve, reject) => {
      const lifetime = this.#lifetime;
      if (lifetime !== undefined) lifetime.onEnd = reject;
      try {
        if (startedAt !== undefined) emitCall(core, this, id, { kind: "started" });
        this.#run(this.#findWithin("execute"), input).then(resolve, reject);
        // The reaction of a handler that has settled already is ahead in the queue: its call needs no timer and no listeners.
        if (lifetime !== undefined) queueMicrotask(() => lifetime.watch());
      } catch (error) {
        this.#finish();
        reject(notStarted(id, error));
      }
    });
    return startedAt === undefined ? result : emitOutcome(core, this, id, startedAt, result);
  }

  /** Runs the steps find and scopes. Then throws if the options are invalid, or if a limit of the call has been reached. */
  #findWithin(used: "execute" | "subscribe"): CompiledOperation {
    const operation = this.#find(used);
    // The options of a request from another process were created by its server.
    if (this.#options !== undefined && this.#origin?.isRemote !== true) {
      const id = this.#operationId;
      const { baseSignal: signal, deadline } = this.#options;
      const invalid =
        checkCallOptions(id, this.#options) ?? checkCallOptions(id, { signal }) ?? checkPastDeadline(id, deadline);
      if (invalid !== undefined) throw invalid;
    }
    this.#lifetime?.check();
    return operation;
  }

  /** Runs the steps find and scopes, before the input is read. Throws a `CallError`. */
  #find(used: "execute" | "subscribe"): CompiledOperation {
    const core = this.#core;
    const entry = core.operations.get(this.#operationId);
    if (entry === undefined || core.isClosed) this.#throwIfNotFound(entry);
    if (this.#parent !== undefined || (this.#origin?.depth ?? 0) > 0) this.#checkNesting(entry);
    if (entry.isSubscription !== (used === "subscribe")) throw wrongOperationType(entry.id, entry.spec.type, used);
    const { identity } = this;
    // Rules and copies of identities are frozen, so an allowed identity stays allowed: the bench `execute` needs this.
    if (entry.demandsScopes && (identity === undefined || identity !== entry.allowed) && !this.#isExempt(entry)) {
      const decision = checkScopes(entry.access, identity);
      if (decision !== true) throw accessDenied(entry.id, decision);
      entry.allowed = identity;
    }
    return entry.compiled ?? core.compile(entry);
  }

  /** Throws if the handler that makes this call must not reach the operation, or if calls are nested too deeply. */
  #checkNesting(entry: OperationEntry): void {
    const { limits, operations, ownership } = this.#core;
    if (this.#parent !== undefined && entry.owner?.isForeign) {
      ownership.checkNested(entry, operations.get(this.#parent.#operationId));
    }
    if (this.#depth <= limits.callDepth) return;
    throw limitExceeded(`Calls are nested too deeply at "${entry.id}"`, "callDepth", limits.callDepth);
  }

  #throwIfNotFound(entry: OperationEntry | undefined): asserts entry is OperationEntry {
    const core = this.#core;
    const id = this.#operationId;
    // Calls that are running when the registry is closed continue, and so do the calls that they make.
    if (core.isClosed && this.#parent === undefined) {
      throw unavailable("The registry is closed.", { mayHaveRun: false });
    }
    if (entry !== undefined) return;
    if (typeof id !== "string") throw notAnId(id);
    if (core.mayAppear(id)) throw notServedNow(id);
    throw operationNotFound(id, nearestOperation(id, core.specs(), this.identity));
  }

  /**
   * Returns whether the access rule of an operation is skipped: the call is trusted, or the peer that serves the operation
   * checks the rule. A call from a network is checked here as well, because the connection to the peer authenticates this
   * process and not the sender of that call.
   */
  #isExempt(entry: OperationEntry): boolean {
    return this.#isTrusted || (entry.isCheckedByPeer && !this.remote);
  }

  /**
   * Runs the steps from validate on. If none of them has to wait, everything up to the handler is synchronous: the bench
   * `execute` needs it. Throws or rejects with a `CallError`.
   */
  #run(operation: CompiledOperation, input: unknown): Promise<ResponseEnvelope> {
    if (operation.hasAsyncStep || (operation.demandsResource && !this.#isExempt(operation.entry))) {
      const wrap = operation.middleware.length === 0 ? operation.wrap : operation.wrapAny;
      return this.#runSteps(operation, input)
        .finally(() => this.#finish())
        .then(wrap);
    }
    const validated = operation.isForwarding ? input : operation.validate(input);
    this.#start();
    let result: unknown;
    try {
      result = operation.handler(validated, this);
    } catch (error) {
      result = Promise.reject(error);
    }
    if (typeof (result as Partial<PromiseLike<unknown>> | undefined)?.then !== "function") this.#finish();
    return Promise.resolve(result).then(
      (value) => {
        this.#finish();
        return operation.wrap(value);
      },
      (error) => {
        this.#finish();
        throw operation.toFailure(error);
      },
    );
  }

  /** Runs the steps validate, resource and run, if one of them may have to wait. Rejects with a `CallError`. */
  async #runSteps(operation: CompiledOperation, input: unknown): Promise<unknown> {
    // Middleware that is added or removed later does not affect a running call.
    const { middleware } = operation;
    this.#lifetime?.watch();
    const validated = await this.#validate(operation, input, middleware.length > 0);
    try {
      return await this.#invoke(operation, middleware, validated);
    } catch (error) {
      const ended = this.#lifetime?.error;
      throw ended !== undefined && error === ended ? ended : operation.toFailure(error);
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
    if (decision !== true) throw accessDenied(id, decision);
    const name = access.customAuth;
    if (name === undefined) return;
    const { customAuth } = this.#core;
    const decide = Object.hasOwn(customAuth, name) ? customAuth[name] : undefined;
    if (decide === undefined) throw accessDenied(id, `the registry has no customAuth "${name}"`);
    let allowed: unknown;
    try {
      allowed = await decide({ identity, input, spec, metadata });
    } catch (cause) {
      throw accessDenied(id, `customAuth "${name}" failed`, cause);
    }
    if (allowed !== true) throw accessDenied(id, `customAuth "${name}" did not return true`);
  }

  /** Runs middleware, outermost first, then the handler. Throws when the call has ended before that. */
  #invoke({ entry, handler }: CompiledOperation, middleware: readonly Middleware[], input: unknown): unknown {
    this.#lifetime?.check();
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

  /** Records that the handler is called. Throws if the call has ended. */
  #start(): void {
    if (this.#lifetime !== undefined) {
      this.#lifetime.check();
      this.#lifetime.hasStarted = true;
    }
    this.#state = "running";
  }

  /** Records that the handler has ended: its calls are no longer trusted, and nothing ends the call early any more. */
  #finish(): void {
    if (this.#state === "finished") return;
    this.#state = "finished";
    this.#lifetime?.finish();
  }

  /** Number of calls that it is nested in, here and at the sender of a request. */
  get #depth(): number {
    return this.#parent === undefined ? (this.#origin?.depth ?? 0) : this.#parent.#depth + 1;
  }

  // The members of the context that are created when they are read.

  get requestId(): string {
    if (this.#requestId === undefined) {
      const given: unknown = this.#origin?.requestId ?? (this.#parent ? undefined : this.#options?.requestId);
      this.#requestId = typeof given === "string" ? given : nextRequestId();
    }
    return this.#requestId;
  }

  get signal(): AbortSignal {
    this.#lifetime ??= new Lifetime(this.#operationId);
    return this.#lifetime.signal;
  }

  get abortable(): boolean {
    return this.#lifetime?.limits !== undefined;
  }

  get remote(): boolean {
    return this.#parent === undefined ? this.#origin?.isRemote === true : this.#parent.remote;
  }

  /** How the call, or the one that it is nested in, arrived, such as `http`; `undefined` for a call of this process. */
  get [via](): string | undefined {
    return this.#parent === undefined ? this.#origin?.via : this.#parent[via];
  }

  get env(): RegisteredEnv {
    this.#env ??= createEnv(this.#core, undefined, (id, input, options) =>
      Call.nested(this, "trust", id, input, options),
    );
    return this.#env as RegisteredEnv;
  }

  get call(): CallOperation {
    const run = (operation: string | CallableOperation, input?: unknown, options?: CallOptions) => {
      const id = operationIdOf(operation);
      if (id === undefined) {
        const given = describeValue(operation);
        return Promise.reject(new TypeError(`call() takes a definition or the id of an operation, not ${given}.`));
      }
      const entry = this.#core.operations.get(id);
      if (entry?.isSubscription) {
        return Promise.reject(markPipelineError(id, wrongOperationType(id, entry.spec.type, "call")));
      }
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
      if (this.#state === "finished" || this.#lifetime?.error !== undefined) return;
      if (this.#core.calls.hasListeners)
        emitCall(this.#core, this, this.#operationId, { kind: "progressed", progress });
      this.#origin?.reportProgress(progress);
      const listener = this.#options?.onProgress;
      if (listener !== undefined) {
        notify(
          () => listener(progress),
          (error) => reportListener("progress", error),
        );
      }
    };
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
      if (call.metadata === noMetadata) forwarded.metadata = undefined;
    }
    return forwarded;
  }
}

/** Returns the deadline that the options of a call set, with the timeout counted from now. Invalid ones are reported later. */
function deadlineOf(options: CallOptions | undefined, defaultTimeout?: number): number | undefined {
  const deadline = options?.deadline;
  const timeout = options?.timeout ?? (deadline === undefined ? defaultTimeout : undefined);
  if (timeout === undefined) return deadline;
  return typeof timeout === "number" ? earlier(deadline, Date.now() + timeout) : deadline;
}

/** A separate function, because most calls have no lifetime: the bench `execute` is faster without these lines in it. */
function createLifetime(
  id: string,
  deadline: number | undefined,
  options: MergedOptions = {},
  outer?: Lifetime,
): Lifetime {
  return new Lifetime(id, { deadline, signal: options.signal, baseSignal: options.baseSignal }, outer);
}

/** Returns the earlier of two deadlines, either of which may be absent. */
export function earlier(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined) return b;
  return b === undefined ? a : Math.min(a, b);
}
