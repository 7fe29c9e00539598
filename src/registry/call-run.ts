import {
  accessDenied,
  CallError,
  type CallOptions,
  checkResource,
  checkScopes,
  nearestOperation,
  notAnId,
  notServedNow,
  operationNotFound,
  type ResponseEnvelope,
  unavailable,
  wrongOperationType,
} from "../operation/index.ts";
import type { CallOrigin } from "./call-origin.ts";
import { CallState, stateOf } from "./call-state.ts";
import type { CompiledOperation } from "./compiled-operation.ts";
import type { RegistryCore } from "./core.ts";
import { markPipelineError, notStarted, toFailure } from "./failures.ts";
import { type CallOutcome, type Guard, RaceOutcome } from "./guard.ts";
import type { OperationEntry } from "./operation-entry.ts";
import { ObservedOutcome, observe, observeStart } from "./reports.ts";
import type { Middleware } from "./types.ts";

// One call from its start to its envelope, in the order of the steps: find, scopes, guard, validate, resource, run, wrap and
// normalise. Subscriptions share everything up to the handler. The functions that most calls run through are not async
// and create no closure: the caller's promise is the handler's promise with one reaction (decision 001).

/** A query or mutation that arrived from outside. It ignores an outcome that it receives after it has ended. */
export interface IncomingExecution
  extends CallOrigin,
    CallOutcome,
    Pick<CallOptions, "identity" | "deadline" | "metadata"> {
  /** Ends the call early. Absent until `openGuard()` was called. */
  readonly guard: Guard | undefined;
  openGuard(): Guard;
  /** Notified when the guard ends the call. Set while calls are observed. */
  observer: { onEarlyEnd(error: CallError): void } | undefined;
}

/**
 * Runs a query or mutation for a direct caller, or inside the call whose context is `parent`. A trusted call skips access
 * rules. A context instead of options makes it a nested call with the same identity, signal and deadline, but without trust.
 * Rejects with a `CallError` and never throws.
 */
export function execute(
  core: RegistryCore,
  id: string,
  input: unknown,
  options: CallOptions | undefined,
  parent?: CallState,
  trusted = false,
): Promise<ResponseEnvelope> {
  try {
    const outer = parent ?? stateOf(options);
    const own = outer === parent ? options : undefined;
    const limited = own?.timeout !== undefined || core.defaultTimeout !== undefined ? core.limit(own, outer) : own;
    const call = new CallState(core, id, limited, outer, undefined, trusted);
    if (core.calls.hasListeners) return startObserved(call, input, outer);
    return start(call, input, outer);
  } catch (error) {
    return Promise.reject(notStarted(id, error));
  }
}

/** Runs a query or mutation that arrived from outside, and reports its outcome to `incoming`. Never throws. */
export function executeIncoming(core: RegistryCore, id: string, input: unknown, incoming: IncomingExecution): void {
  try {
    const call = new CallState(core, id, incoming, undefined, incoming, false);
    if (core.calls.hasListeners) startIncomingObserved(call, input, incoming);
    else runInto(incoming, find(call, "execute"), call, input);
  } catch (error) {
    incoming.onError(notStarted(id, error));
  }
}

function start(call: CallState, input: unknown, parent: CallState | undefined): Promise<ResponseEnvelope> {
  const compiled = find(call, "execute");
  const guard = call.armGuard(parent);
  if (guard !== undefined) return race(guard, compiled, call, input);
  if (!isSynchronous(compiled, call)) return runAsync(compiled, call, input);
  return runSync(compiled, call, input, compiled.wrapResult, compiled.throwFailure);
}

/** A separate function, because a closure in `execute` would cost every call an allocation. */
function startObserved(call: CallState, input: unknown, parent: CallState | undefined): Promise<ResponseEnvelope> {
  return observe(observeStart(call), call.operationId, () => start(call, input, parent));
}

function startIncomingObserved(call: CallState, input: unknown, incoming: IncomingExecution): void {
  const outcome = new ObservedOutcome(call, incoming);
  try {
    runInto(outcome, find(call, "execute"), call, input);
  } catch (error) {
    outcome.onError(notStarted(call.operationId, error));
  }
}

/** Runs the steps find and scopes, before the input is read. Throws a `CallError`. */
export function find(call: CallState, used: "execute" | "subscribe"): CompiledOperation {
  const { core, operationId: id } = call;
  const entry = core.operations.get(id);
  if (entry === undefined || core.isClosed) throwIfNotFound(call, entry);
  if (entry.isSubscription !== (used === "subscribe")) throw wrongType(entry, used);
  if (entry.demandsScopes && !isExempt(entry, call)) {
    const decision = checkScopes(entry.access, call.context.identity);
    if (decision !== true) throw denied(id, decision);
  }
  // Only nested and incoming calls can exceed a limit.
  if (call.depth > 0 || call.incoming !== undefined) call.throwIfLimitExceeded();
  return entry.compiled ?? core.compile(entry);
}

function wrongType({ id, spec }: OperationEntry, used: "execute" | "subscribe"): CallError {
  return markPipelineError(id, wrongOperationType(id, spec.type, used));
}

function denied(id: string, decision: string): CallError {
  return markPipelineError(id, accessDenied(id, decision));
}

function throwIfNotFound(call: CallState, entry: OperationEntry | undefined): asserts entry is OperationEntry {
  const { core, operationId: id } = call;
  // Calls that are running when the registry is closed continue, and so do the calls that they make.
  const isRefused = core.isClosed && call.isOutermost;
  if (entry !== undefined && !isRefused) return;
  throw markPipelineError(id, notFound(call, isRefused));
}

function notFound({ core, operationId: id, context }: CallState, isRefused: boolean): CallError {
  if (isRefused) return unavailable("The registry is closed.", { mayHaveRun: false });
  if (typeof id !== "string") return notAnId(id);
  if (core.mayAppear(id)) return notServedNow(id);
  return operationNotFound(id, nearestOperation(id, core.specs(), context.identity));
}

/**
 * Returns whether the access rule of an operation is skipped: the call is trusted, or the peer that serves the operation
 * checks the rule. A call from a network is checked here as well, because the connection to the peer authenticates this process
 * and not the sender of that call.
 */
function isExempt(entry: OperationEntry, call: CallState): boolean {
  return call.isTrusted || (entry.isCheckedByPeer && !call.isRemote);
}

/** Returns whether all steps before the handler are synchronous. */
function isSynchronous(compiled: CompiledOperation, call: CallState): boolean {
  if (compiled.middleware.length > 0 || compiled.standardValidate !== undefined) return false;
  return !compiled.demandsResource || isExempt(compiled.entry, call);
}

/**
 * Validates the input and calls the handler synchronously. One of two functions settles the returned promise. Throws a
 * `CallError`. `then` is called here, where the engine knows the type of the promise: that is twice as fast.
 */
function runSync<T>(
  compiled: CompiledOperation,
  call: CallState,
  input: unknown,
  onResult: (value: unknown) => T,
  onError: (error: unknown) => T,
): Promise<T> {
  const validated = compiled.isForwarding ? input : compiled.validateSync(input);
  call.start();
  const { handler } = compiled;
  try {
    const result: unknown = handler(validated, call.context);
    const promise = isNativePromise(result) ? result : isThenable(result) ? adopt(result) : undefined;
    if (promise !== undefined) {
      call.handlerReturned(promise);
      return promise.then(onResult, onError);
    }
    call.finish();
    return Promise.resolve(result).then(onResult, onError);
  } catch (error) {
    call.finish();
    return compiled.throwFailure(error);
  }
}

/**
 * Returns whether a value is a native promise: calling its `then` runs no foreign code and returns another native promise.
 * A subclass instance, or a promise with an own `then`, is not.
 */
export function isNativePromise(value: unknown): value is Promise<unknown> {
  return value instanceof Promise && value.then === Promise.prototype.then && value.constructor === Promise;
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    value !== null &&
    (typeof value === "object" || typeof value === "function") &&
    typeof (value as { then?: unknown }).then === "function"
  );
}

/** Calls the `then` of a thenable inside a promise, where it may throw. `await` would ignore an own `then` of a promise. */
async function adopt(value: unknown): Promise<unknown> {
  return value;
}

/** Runs the same steps for a call with an asynchronous one: a resource rule, a Standard Schema or middleware. */
async function runAsync(compiled: CompiledOperation, call: CallState, input: unknown): Promise<ResponseEnvelope> {
  // Middleware that is added or removed later does not affect a running call.
  const { middleware } = compiled;
  call.openGuard();
  const validated = await validate(compiled, middleware, call, input);
  let result: unknown;
  try {
    result = await callHandler(compiled, middleware, call, validated);
  } catch (error) {
    return compiled.throwFailure(error);
  } finally {
    call.finish();
  }
  return middleware.length === 0 ? compiled.wrapResult(result) : compiled.wrapMiddlewareResult(result);
}

/** Runs the steps validate and resource. Returns the input for the handler; rejects with a `CallError`. */
export async function validate(
  compiled: CompiledOperation,
  middleware: readonly Middleware[],
  call: CallState,
  input: unknown,
): Promise<unknown> {
  const { entry, isForwarding } = compiled;
  const needsResource = compiled.demandsResource && !isExempt(entry, call);
  // The registry that the call is forwarded to validates the input. It is validated here only if a step here reads it.
  if (isForwarding && !needsResource && middleware.length === 0) return input;
  try {
    const validated = await compiled.validate(input);
    if (needsResource) await checkResourceRule(entry, call, validated);
    return isForwarding ? input : validated;
  } catch (error) {
    throw notStarted(entry.id, error);
  }
}

/** Runs the step resource on the validated input. Rejects with a `CallError`. */
async function checkResourceRule(entry: OperationEntry, call: CallState, input: unknown): Promise<void> {
  const { id, spec, access } = entry;
  const { identity, metadata } = call.context;
  const decision = checkResource(access, identity, input);
  if (decision !== true) throw markPipelineError(id, accessDenied(id, decision));
  const name = access.customAuth;
  if (name === undefined) return;
  const decide = call.core.customAuth(name);
  if (decide === undefined) throw markPipelineError(id, accessDenied(id, `the registry has no customAuth "${name}"`));
  let allowed: unknown;
  try {
    allowed = await decide({ identity, input, spec, metadata });
  } catch (cause) {
    const { code, message, details } = accessDenied(id, `customAuth "${name}" failed`);
    throw markPipelineError(id, new CallError(code, message, details, { cause, mayHaveRun: false }));
  }
  if (allowed !== true) throw markPipelineError(id, accessDenied(id, `customAuth "${name}" did not return true`));
}

/** Runs middleware, outermost first, then the handler. Throws when the call has ended before that. */
export function callHandler(
  compiled: CompiledOperation,
  middleware: readonly Middleware[],
  call: CallState,
  input: unknown,
): unknown {
  const { handler, entry } = compiled;
  const { context, guard } = call;
  if (guard?.ended !== undefined) throw guard.ended;
  if (middleware.length === 0) {
    guard?.start();
    return handler(input, context);
  }
  const run = async () => {
    guard?.start();
    if (call.isFinished) throw nextAfterEnd(entry.id);
    try {
      return await adopt(handler(input, context));
    } catch (error) {
      // Middleware receives the same error as the caller: `mayHaveRun: false` of a nested call does not apply to this one.
      throw toFailure(entry, error);
    }
  };
  const isNested = !call.isOutermost;
  const shown = Object.freeze({ operationId: entry.id, spec: entry.spec, input, context, isNested });
  const step = (index: number): unknown => {
    const wrap = middleware[index];
    return wrap === undefined ? run() : wrap(shown, async () => step(index + 1));
  };
  return step(0);
}

function nextAfterEnd(id: string): CallError {
  const message = `Middleware called next() after the call of "${id}" had ended. Call it before the promise that the middleware returns is settled.`;
  return new CallError("EXECUTION_ERROR", message);
}

/** Runs a call and reports its outcome to an object instead of a promise. Throws errors of the steps before the handler. */
function runInto(outcome: CallOutcome, compiled: CompiledOperation, call: CallState, input: unknown): void {
  if (isSynchronous(compiled, call)) {
    runSync(
      compiled,
      call,
      input,
      (result) => settle(outcome, compiled.wrapResult, result),
      (error) => settle(outcome, compiled.throwFailure, error),
    );
  } else {
    runAsync(compiled, call, input).then(
      (envelope) => outcome.onResult(envelope),
      (error) => outcome.onError(error),
    );
  }
}

function settle(outcome: CallOutcome, finish: (value: unknown) => ResponseEnvelope, value: unknown): void {
  let envelope: ResponseEnvelope;
  try {
    envelope = finish(value);
  } catch (error) {
    return outcome.onError(error);
  }
  outcome.onResult(envelope);
}

/** Races a call against its guard. A result that arrives after the end is dropped and logged. */
function race(guard: Guard, compiled: CompiledOperation, call: CallState, input: unknown): Promise<ResponseEnvelope> {
  if (guard.ended !== undefined) return Promise.reject(guard.ended);
  return new Promise((resolve, reject) => {
    const outcome = new RaceOutcome(guard, resolve, reject);
    guard.onEnd(reject);
    try {
      runInto(outcome, compiled, call, input);
    } catch (error) {
      outcome.onError(notStarted(guard.operationId, error));
    }
  });
}
