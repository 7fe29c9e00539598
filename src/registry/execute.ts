import { CallError, type CallOptions, isCallError, mapError, type ResponseEnvelope } from "../operation/index.ts";
import { CallContext } from "./call-context.ts";
import type { RegistryCore } from "./core.ts";
import { createGuard, type Guard } from "./guard.ts";
import { observe } from "./observe.ts";
import type { Prepared } from "./prepared.ts";
import { reportLate } from "./reports.ts";
import { admit, authorise, runHandler } from "./steps.ts";

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
    return observe(core, context, id, () => start(core, context, id, input, options, parent, trusted));
  } catch (error) {
    return Promise.reject(isCallError(error) ? error : notStarted(error));
  }
}

/** Something that the caller handed in threw when it was read, such as a getter. */
function notStarted(cause: unknown): CallError {
  const { code, message } = mapError(cause);
  return new CallError(code, message, undefined, { cause, mayHaveRun: false });
}

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
  if (guard !== undefined) return runGuarded(core, prepared, context, guard, input, trusted);
  return run(core, prepared, context, input, trusted);
}

function run(
  core: RegistryCore,
  prepared: Prepared,
  context: CallContext,
  input: unknown,
  trusted: boolean,
): Promise<ResponseEnvelope> {
  const isPlain = prepared.isPlain || (trusted && prepared.validate === undefined);
  if (!isPlain || core.middleware.length > 0) return runFully(core, prepared, context, input, trusted);
  const accepted = prepared.accept(input);
  CallContext.guardOf(context)?.start();
  const { handler } = prepared;
  let result: unknown;
  try {
    result = handler(accepted, context);
  } catch (error) {
    CallContext.finish(context);
    return prepared.fail(error);
  }
  if (result instanceof Promise) {
    CallContext.started(context, result);
    return result.then(prepared.toEnvelope, prepared.fail);
  }
  return settle(prepared, context, result);
}

/** Results that are no promise of ours: plain values, and things that only behave like promises. */
async function settle(prepared: Prepared, context: CallContext, result: unknown): Promise<ResponseEnvelope> {
  let value: unknown;
  try {
    value = isThenable(result) ? await result : result;
  } catch (error) {
    return prepared.fail(error);
  } finally {
    CallContext.finish(context);
  }
  return prepared.toEnvelope(value);
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    value !== null &&
    (typeof value === "object" || typeof value === "function") &&
    typeof (value as { then?: unknown }).then === "function"
  );
}

/** All steps for operations that need more than one turn before their handler: the same steps, awaited. */
async function runFully(
  core: RegistryCore,
  prepared: Prepared,
  context: CallContext,
  input: unknown,
  trusted: boolean,
): Promise<ResponseEnvelope> {
  const accepted = await prepared.acceptFully(input);
  if (!trusted && prepared.entry.demandsResource) await authorise(core, prepared.entry, context, accepted);
  CallContext.guardOf(context)?.start();
  let value: unknown;
  try {
    value = await runHandler(core, prepared, context, accepted);
  } catch (error) {
    return prepared.fail(error);
  } finally {
    CallContext.finish(context);
  }
  return prepared.toEnvelope(value);
}

/** Races a call against its signal and deadline. What comes after that is dropped, and noted in the log. */
function runGuarded(
  core: RegistryCore,
  prepared: Prepared,
  context: CallContext,
  guard: Guard,
  input: unknown,
  trusted: boolean,
): Promise<ResponseEnvelope> {
  if (guard.ended !== undefined) return Promise.reject(guard.ended);
  return new Promise((resolve, reject) => {
    guard.onEnd(reject);
    const fail = (error: unknown) => (guard.release() ? reject(error) : reportLate(guard.operationId));
    try {
      run(core, prepared, context, input, trusted).then(
        (envelope) => (guard.release() ? resolve(envelope) : reportLate(guard.operationId)),
        fail,
      );
    } catch (error) {
      fail(isCallError(error) ? error : notStarted(error));
    }
  });
}
