import {
  accessDenied,
  CallError,
  checkResource,
  checkScopes,
  limitExceeded,
  nearestOperation,
  notServedNow,
  operationNotFound,
  unavailable,
  wrongOperationType,
} from "../operation/index.ts";
import { CallContext } from "./call-context.ts";
import type { RegistryCore } from "./core.ts";
import type { Entry } from "./entry.ts";
import { notStarted, raise, toFailure } from "./failures.ts";
import type { Prepared } from "./prepared.ts";
import type { Middleware } from "./types.ts";

/** Find and scopes, the steps before the input is looked at. Throws a `CallError`. */
export function admit(
  core: RegistryCore,
  context: CallContext,
  id: string,
  used: "execute" | "subscribe",
  trusted: boolean,
): Prepared {
  const entry = core.entry(id);
  // Calls that run when the registry is closed go on, and so do those that they make.
  const isRefused = core.isClosed && CallContext.isOutermost(context);
  if (entry === undefined || isRefused) throw raise(id, cannotFind(core, context, id, isRefused));
  if (entry.isSubscription !== (used === "subscribe")) throw raise(id, wrongOperationType(id, entry.spec.type, used));
  if (!trusted && entry.demandsScopes && !isExempt(entry, context)) {
    const answer = checkScopes(entry.access, context.identity);
    if (answer !== true) throw raise(id, accessDenied(id, answer));
  }
  if (CallContext.depthOf(context) > core.limits.callDepth) {
    throw raise(id, limitExceeded(`Calls nest too deep at "${id}"`, "callDepth", core.limits.callDepth));
  }
  const budget = CallContext.budgetOf(context);
  if (budget !== undefined && budget.callsLeft < 0) {
    throw raise(id, limitExceeded(`One call caused too many others, at "${id}"`, "callsPerRoot", budget.allowed));
  }
  return entry.prepared ?? core.prepare(entry);
}

/**
 * Whether the rule of an operation is left to the peer that serves it. A call from a network is checked here as well: the
 * connection to the peer stands for this process, and not for whoever sent that call.
 */
export function isExempt(entry: Entry, context: CallContext): boolean {
  return entry.isCheckedByPeer && !context.remote;
}

function cannotFind(core: RegistryCore, context: CallContext, id: string, isRefused: boolean): CallError {
  if (isRefused) return unavailable("The registry was closed and", { mayHaveRun: false });
  // Ids may come from anywhere.
  if (typeof id !== "string") return operationNotFound("(not a string)");
  if (core.mayAppear(id)) return notServedNow(id);
  return operationNotFound(id, nearestOperation(id, core.specs(), context.identity));
}

/** Validate and resource, the steps that may take more than one turn. Rejects with a `CallError`. */
export async function acceptAndAuthorise(
  core: RegistryCore,
  prepared: Prepared,
  middleware: readonly Middleware[],
  context: CallContext,
  input: unknown,
  trusted: boolean,
): Promise<unknown> {
  const { entry } = prepared;
  const isAuthorised = trusted || !entry.demandsResource || isExempt(entry, context);
  try {
    if (prepared.isPassedOn) {
      // Validated where it runs, and here only for what reads it.
      if (isAuthorised && middleware.length === 0) return input;
      const seen = await prepared.acceptFully(input);
      if (!isAuthorised) await authorise(core, entry, context, seen);
      return input;
    }
    const accepted = await prepared.acceptFully(input);
    if (!isAuthorised) await authorise(core, entry, context, accepted);
    return accepted;
  } catch (error) {
    throw notStarted(entry.id, error);
  }
}

/** The resource step, on the validated input. Rejects with a `CallError`. */
async function authorise(core: RegistryCore, entry: Entry, context: CallContext, input: unknown): Promise<void> {
  const answer = checkResource(entry.access, context.identity, input);
  if (answer !== true) throw raise(entry.id, accessDenied(entry.id, answer));
  const name = entry.access.customAuth;
  if (name === undefined) return;
  const decide = core.customAuth(name);
  if (decide === undefined) throw raise(entry.id, accessDenied(entry.id, `the registry has no customAuth "${name}"`));
  const { identity, metadata } = context;
  let allowed: unknown;
  try {
    allowed = await decide({ identity, input, spec: entry.spec, metadata });
  } catch (cause) {
    const denial = accessDenied(entry.id, `customAuth "${name}" failed`);
    throw raise(entry.id, new CallError(denial.code, denial.message, denial.details, { cause, mayHaveRun: false }));
  }
  if (allowed !== true) throw raise(entry.id, accessDenied(entry.id, `customAuth "${name}" did not allow it`));
}

/** The run step: middleware, outermost first, then the handler. Throws when the call has ended meanwhile. */
export function runHandler(
  prepared: Prepared,
  middleware: readonly Middleware[],
  context: CallContext,
  input: unknown,
): unknown {
  const { handler, entry } = prepared;
  const guard = CallContext.guardOf(context);
  if (guard?.ended !== undefined) throw guard.ended;
  const start = () => {
    guard?.start();
    if (CallContext.isFinished(context)) throw new CallError("EXECUTION_ERROR", endedMessage(entry.id));
  };
  if (middleware.length === 0) {
    start();
    return handler(input, context);
  }
  const run = async () => {
    start();
    try {
      return await handler(input, context);
    } catch (error) {
      // Middleware decides by what the caller would receive: a nested call that never ran does not mean that this one did not.
      throw toFailure(entry, error);
    }
  };
  const isNested = !CallContext.isOutermost(context);
  const call = Object.freeze({ operationId: entry.id, spec: entry.spec, input, context, isNested });
  const step = (index: number): unknown => {
    const wrap = middleware[index];
    return wrap === undefined ? run() : wrap(call, async () => step(index + 1));
  };
  return step(0);
}

function endedMessage(id: string): string {
  return `Middleware called next() when the call of "${id}" had been answered. Call it before the promise that the middleware returns is settled.`;
}
