import {
  accessDenied,
  CallError,
  type CallOptions,
  checkResource,
  checkScopes,
  nearestOperation,
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
import { observe, observeStart } from "./reports.ts";
import type { Middleware } from "./types.ts";

// One call from its start to its envelope, in the order of the steps: find, scopes, guard, validate, resource, run, wrap and
// normalise. Subscriptions share everything up to the handler. None of the functions that most calls run through is async,
// and none makes a closure: the promise of the caller is the handler's own with one reaction on it (decision 001).

/** A query or mutation that arrived from outside. It receives the outcome also when it has ended before, and ignores it. */
export interface IncomingExecution
  extends CallOrigin,
    CallOutcome,
    Pick<CallOptions, "identity" | "deadline" | "metadata"> {
  /** What ends the call. Absent until `openGuard()` was called. */
  readonly guard: Guard | undefined;
  openGuard(): Guard;
}

/**
 * Runs a query or mutation for a direct caller, or inside the call whose context is `parent`. A trusted call skips access
 * rules. A context in the place of options makes it a nested call, with the same identity, signal and deadline, but without
 * trust. Rejects with a `CallError` and never throws.
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

/** A function of its own: a closure in `execute` would cost every call an allocation. */
function startObserved(call: CallState, input: unknown, parent: CallState | undefined): Promise<ResponseEnvelope> {
  return observe(observeStart(call), call.operationId, () => start(call, input, parent));
}

/** Listeners are notified when the call ends, also when its handler is still running then. */
function startIncomingObserved(call: CallState, input: unknown, incoming: IncomingExecution): void {
  const run = () => race(incoming.openGuard(), find(call, "execute"), call, input);
  observe(observeStart(call), call.operationId, run).then(
    (envelope) => incoming.onResult(envelope),
    (error) => incoming.onError(error),
  );
}

/** Find and scopes, the steps before the input is read. Throws a `CallError`. */
export function find(call: CallState, used: "execute" | "subscribe"): CompiledOperation {
  const { core, operationId: id } = call;
  const entry = core.operations.get(id);
  if (entry === undefined || core.isClosed) throwIfNotFound(call, entry);
  if (entry.isSubscription !== (used === "subscribe")) throw wrongType(entry, used);
  if (entry.demandsScopes && !isExempt(entry, call)) {
    const decision = checkScopes(entry.access, call.context.identity);
    if (decision !== true) throw denied(id, decision);
  }
  // A call that neither is nested nor came from outside exceeds no limit.
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
  if (isRefused) return unavailable("The registry was closed and is not available.", { mayHaveRun: false });
  // An id may be anything: it can come from a network.
  if (typeof id !== "string") return operationNotFound("(not a string)");
  if (core.mayAppear(id)) return notServedNow(id);
  return operationNotFound(id, nearestOperation(id, core.specs(), context.identity));
}

/**
 * Whether the access rule of an operation is not checked: the call is trusted, or the peer that serves the operation checks
 * the rule. A call from a network is checked here as well, because the connection to the peer authenticates this process
 * and not the sender of that call.
 */
function isExempt(entry: OperationEntry, call: CallState): boolean {
  return call.isTrusted || (entry.isCheckedByPeer && !call.isRemote);
}

/** Whether no step has to wait before the handler is called. */
function isSynchronous(compiled: CompiledOperation, call: CallState): boolean {
  if (compiled.middleware.length > 0 || compiled.standardValidate !== undefined) return false;
  return !compiled.demandsResource || isExempt(compiled.entry, call);
}

/**
 * Validates and runs in one turn, and settles the promise that it returns by one of two functions. Throws a `CallError`.
 * `then` is called here because the engine knows here what kind of promise it is, which makes it twice as fast.
 */
function runSync<T>(
  compiled: CompiledOperation,
  call: CallState,
  input: unknown,
  onResult: (value: unknown) => T,
  onError: (error: unknown) => T,
): Promise<T> {
  const validated = compiled.isForwarding ? input : compiled.validateSync(input);
  call.guard?.start();
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
 * Whether a value is a promise as the language makes them: calling its `then` runs no foreign code and returns another such
 * promise. A subclass, or a promise with its own `then`, is not.
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

/** Calls the `then` of a thenable inside a promise, where it may throw. `await` would skip the own `then` of a promise. */
async function adopt(value: unknown): Promise<unknown> {
  return value;
}

/** The same steps where one of them has to wait: a resource rule, a Standard Schema or middleware. */
async function runAsync(compiled: CompiledOperation, call: CallState, input: unknown): Promise<ResponseEnvelope> {
  // Middleware that is added or removed meanwhile does not change a call that has begun.
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

/** Validate and resource. Returns what the handler receives; rejects with a `CallError`. */
export async function validate(
  compiled: CompiledOperation,
  middleware: readonly Middleware[],
  call: CallState,
  input: unknown,
): Promise<unknown> {
  const { entry, isForwarding } = compiled;
  const needsResource = compiled.demandsResource && !isExempt(entry, call);
  // The registry that the call is forwarded to validates the input. Here it is validated for those who read it.
  if (isForwarding && !needsResource && middleware.length === 0) return input;
  try {
    const validated = await compiled.validate(input);
    if (needsResource) await checkResourceRule(entry, call, validated);
    return isForwarding ? input : validated;
  } catch (error) {
    throw notStarted(entry.id, error);
  }
}

/** Resource, on the validated input. Rejects with a `CallError`. */
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
  if (allowed !== true) throw markPipelineError(id, accessDenied(id, `customAuth "${name}" did not allow it`));
}

/** Run: middleware, outermost first, then the handler. Throws when the call has ended meanwhile. */
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
      // Middleware decides by what the caller would receive: a nested call that never ran does not mean that this one did not.
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

/** Runs a call whose outcome is reported to an object instead of by a promise. Throws what is thrown before the handler. */
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
