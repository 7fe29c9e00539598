import { isPlainPromise } from "../internal/plain-promise.ts";
import type { CallOptions, ResponseEnvelope } from "../operation/index.ts";
import { type Arrival, CallContext } from "./call-context.ts";
import type { RegistryCore } from "./core.ts";
import { notStarted } from "./failures.ts";
import { createGuard, type Guard } from "./guard.ts";
import { observe } from "./observe.ts";
import type { Prepared } from "./prepared.ts";
import { reportLate } from "./reports.ts";
import { acceptAndAuthorise, admit, isExempt, runHandler } from "./steps.ts";

/**
 * Runs a query or mutation through all steps. Not an async function: most calls need none of what one costs, and
 * their promise is the handler's own with one reaction on it.
 */
export function execute(
  core: RegistryCore,
  id: string,
  input: unknown,
  options: CallOptions | undefined,
  parent?: CallContext,
  trusted = false,
): Promise<ResponseEnvelope> {
  try {
    const context = new CallContext(core, id, options, parent);
    if (!core.calls.hasListeners) return start(core, context, id, input, options, parent, trusted);
    return startObserved(core, context, id, input, options, parent, trusted);
  } catch (error) {
    return Promise.reject(notStarted(id, error));
  }
}

/**
 * Runs a call from outside a handler. A context that is passed on as options makes it a call inside another: same
 * identity, signal and deadline, but no trust.
 */
export function executeChecked(
  core: RegistryCore,
  id: string,
  input: unknown,
  options: CallOptions | undefined,
): Promise<ResponseEnvelope> {
  if (options !== undefined && CallContext.is(options)) return execute(core, id, input, undefined, options);
  return execute(core, id, input, options);
}

/** A call that came from outside. Whoever made it races it against its end and hears how it went. */
export interface OwnedCall extends Arrival, Pick<CallOptions, "identity" | "deadline" | "metadata"> {
  watch(): Guard;
  /** Whether it can end by itself, so that it must be watched from the start. */
  readonly isTimed: boolean;
  onAnswer(envelope: ResponseEnvelope): void;
  /** Gets a `CallError`. */
  onFailure(error: unknown): void;
}

/** Runs a call that came from outside. Never throws. */
export function executeOwned(core: RegistryCore, id: string, input: unknown, call: OwnedCall): void {
  try {
    const context = new CallContext(core, id, call, undefined, call);
    if (call.isTimed) CallContext.watch(context);
    if (!core.calls.hasListeners) return startOwned(core, context, id, input, call);
    observe(core, context, id, () => raceOwned(core, context, id, input, call.watch())).then(
      (envelope) => call.onAnswer(envelope),
      (error) => call.onFailure(error),
    );
  } catch (error) {
    call.onFailure(notStarted(id, error));
  }
}

/** Listeners hear of the end when the call is given up, not when its handler is done. */
function raceOwned(core: RegistryCore, context: CallContext, id: string, input: unknown, guard: Guard) {
  return new Promise<ResponseEnvelope>((onAnswer, onFailure) => {
    guard.onEnd(onFailure);
    try {
      startOwned(core, context, id, input, { onAnswer, onFailure });
    } catch (error) {
      onFailure(notStarted(id, error));
    }
  });
}

function startOwned(
  core: RegistryCore,
  context: CallContext,
  id: string,
  input: unknown,
  call: Pick<OwnedCall, "onAnswer" | "onFailure">,
): void {
  const prepared = admit(core, context, id, "execute", false);
  if (prepared.middleware.length > 0 || !prepared.isPlain) {
    CallContext.watch(context);
    runFully(core, prepared, context, input, false).then(
      (envelope) => call.onAnswer(envelope),
      (error) => call.onFailure(error),
    );
    return;
  }
  runPlain(prepared, context, input).then(
    (value) => settleOwned(call, prepared.toEnvelope, value),
    (error) => settleOwned(call, prepared.fail, error),
  );
}

function settleOwned(
  call: Pick<OwnedCall, "onAnswer" | "onFailure">,
  finish: (value: unknown) => ResponseEnvelope,
  value: unknown,
): void {
  let envelope: ResponseEnvelope;
  try {
    envelope = finish(value);
  } catch (error) {
    return call.onFailure(error);
  }
  call.onAnswer(envelope);
}

/** A function of its own, because a closure in `execute` would cost every call an allocation. */
function startObserved(core: RegistryCore, context: CallContext, id: string, ...rest: StartArguments) {
  return observe(core, context, id, () => {
    try {
      return start(core, context, id, ...rest);
    } catch (error) {
      throw notStarted(id, error);
    }
  });
}

type StartArguments = [
  input: unknown,
  options: CallOptions | undefined,
  parent: CallContext | undefined,
  trusted: boolean,
];

function start(
  core: RegistryCore,
  context: CallContext,
  id: string,
  input: unknown,
  options: CallOptions | undefined,
  parent: CallContext | undefined,
  trusted: boolean,
): Promise<ResponseEnvelope> {
  const prepared = admit(core, context, id, "execute", trusted);
  const guard = createGuard(context, id, options, parent);
  const isPlain =
    prepared.middleware.length === 0 &&
    (prepared.isPlain || (prepared.validate === undefined && (trusted || isExempt(prepared.entry, context))));
  if (guard !== undefined) return runGuarded(core, prepared, context, guard, input, trusted, isPlain);
  if (!isPlain) return runFully(core, prepared, context, input, trusted);
  return runPlain(prepared, context, input).then(prepared.toEnvelope, prepared.fail);
}

/** Validates and runs in one turn. What the handler rejects with is not translated yet; what is thrown is. */
function runPlain(prepared: Prepared, context: CallContext, input: unknown): Promise<unknown> {
  const accepted = prepared.isPassedOn ? input : prepared.accept(input);
  CallContext.guardOf(context)?.start();
  const { handler } = prepared;
  let answer: Promise<unknown>;
  try {
    const result = handler(accepted, context);
    if (isPlainPromise(result)) answer = result;
    else if (isThenable(result)) answer = adopt(result);
    else {
      CallContext.finish(context);
      return Promise.resolve(result);
    }
  } catch (error) {
    CallContext.finish(context);
    return prepared.fail(error);
  }
  CallContext.started(context, answer);
  return answer;
}

/** Reads `then` only once more, inside a promise, where it may throw. */
async function adopt(thenable: PromiseLike<unknown>): Promise<unknown> {
  return thenable;
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    value !== null &&
    (typeof value === "object" || typeof value === "function") &&
    typeof (value as { then?: unknown }).then === "function"
  );
}

/** The same steps for calls that need more than one turn before their handler. */
async function runFully(
  core: RegistryCore,
  prepared: Prepared,
  context: CallContext,
  input: unknown,
  trusted: boolean,
): Promise<ResponseEnvelope> {
  const { middleware } = prepared;
  const accepted = await acceptAndAuthorise(core, prepared, middleware, context, input, trusted);
  let value: unknown;
  try {
    value = await runHandler(prepared, middleware, context, accepted);
  } catch (error) {
    return prepared.fail(error);
  } finally {
    CallContext.finish(context);
  }
  return middleware.length === 0 ? prepared.toEnvelope(value) : prepared.toCheckedEnvelope(value);
}

/** Races a call against its signal and deadline. What comes after that is dropped, and noted in the log. */
function runGuarded(
  core: RegistryCore,
  prepared: Prepared,
  context: CallContext,
  guard: Guard,
  input: unknown,
  trusted: boolean,
  isPlain: boolean,
): Promise<ResponseEnvelope> {
  if (guard.ended !== undefined) return Promise.reject(guard.ended);
  return new Promise((resolve, reject) => {
    guard.onEnd(reject);
    const settle = (finish: (value: unknown) => ResponseEnvelope, value: unknown) => {
      if (!guard.release()) return reportLate(guard.operationId);
      try {
        resolve(finish(value));
      } catch (error) {
        reject(error);
      }
    };
    try {
      if (isPlain) {
        runPlain(prepared, context, input).then(
          (value) => settle(prepared.toEnvelope, value),
          (error) => settle(prepared.fail, error),
        );
      } else {
        runFully(core, prepared, context, input, trusted).then(
          (envelope) => settle(asItIs, envelope),
          (error) => settle(rethrow, error),
        );
      }
    } catch (error) {
      settle(rethrow, notStarted(guard.operationId, error));
    }
  });
}

function asItIs(value: unknown): ResponseEnvelope {
  return value as ResponseEnvelope;
}

function rethrow(error: unknown): never {
  throw error;
}
