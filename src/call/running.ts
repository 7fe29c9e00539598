import { monotonicNow } from "../internal/deadlines.ts";
import type { LinkedSet } from "../internal/linked-set.ts";
import { logger } from "../internal/log.ts";
import { type CallError, isCallError, mapError, type Progress } from "../operation/index.ts";
import type { OperationRegistry } from "../registry/index.ts";
import { type CallRequested, type Reply, toFailedFrame } from "../transport/transport.ts";
import type { CallBudgets } from "./call-budgets.ts";
import type { IdentityRules } from "./identify.ts";
import type { RunningRequest } from "./running-request.ts";

const log = logger("call");

/** What the calls that one handler runs share. */
export interface RunningHost extends IdentityRules {
  readonly registry: OperationRegistry;
  readonly budgets: CallBudgets;
  /** Those that run now, and how many they are. */
  readonly open: LinkedSet<RunningRequest>;
  /** Whether requests come from outside this process. */
  readonly isRemote: boolean;
  running: number;
  /** Called when the last one has ended. */
  onIdle(): void;
}

/** Sends a reply that nobody waits for. Where it cannot travel the asker hears why, as far as that can travel. */
export function send(reply: Reply, frame: CallRequested, message: Parameters<Reply>[0]): void {
  try {
    const sent = reply(message);
    if (sent !== undefined) sent.catch((error) => sendError(reply, frame, mapError(error)));
  } catch (error) {
    sendError(reply, frame, mapError(error));
  }
}

/** Tells the asker of an error: with its details if they can travel, else as JSON, else without. */
export function sendError(reply: Reply, frame: CallRequested, error: CallError): void {
  void trySending(reply, frame, error);
}

async function trySending(reply: Reply, { requestId, operationId }: CallRequested, error: CallError): Promise<void> {
  const { code, message, retryable, mayHaveRun } = error;
  const attempts = [
    () => toFailedFrame(requestId, error),
    () => ({ type: "call.error" as const, requestId, ...error.toJSON() }),
    () => ({ type: "call.error" as const, requestId, code, message, retryable, mayHaveRun }),
  ];
  for (const attempt of attempts) {
    try {
      const sent = reply(attempt());
      if (sent !== undefined) await sent;
      return;
    } catch (problem) {
      if (!isCallError(problem) || problem.code === "UNAVAILABLE") break;
    }
  }
  log.warn("The asker of {operationId} could not be told of {code}.", { operationId, code });
}

/** Tells the asker how far its call has come. Progress that cannot travel is dropped. */
export function sendProgress(reply: Reply, { requestId, operationId }: CallRequested, progress: Progress): void {
  try {
    const sent = reply({ type: "call.progressed", requestId, progress });
    if (sent !== undefined) sent.catch(() => reportDropped(operationId));
  } catch {
    reportDropped(operationId);
  }
}

function reportDropped(operationId: string): void {
  log.debug("Progress of {operationId} could not travel and was dropped.", { operationId });
}

/** A handler answered when its asker had been told the end. */
export function reportLate(operationId: string): void {
  log.debug("{operationId} settled after its call had ended; the result is dropped.", { operationId });
}

/** A frame may hold anything, whatever its type says. */
export function textOrNothing(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The same for what must be an object. */
export function recordOrNothing(value: unknown): Record<string, unknown> | undefined {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
}

/**
 * How much of its time a request has left, in ms. To be asked after the wall clock: who stands still between the two must
 * not gain time.
 */
export function timeLeft({ expiresAt }: CallRequested, timeout: number): number {
  return Number.isFinite(expiresAt) ? Math.min(timeout, expiresAt! - monotonicNow()) : timeout;
}
