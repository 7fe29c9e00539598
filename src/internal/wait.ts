import { startTimer } from "./timers.ts";

/**
 * Calls `listener` with the signal's reason when it fires. Returns a function that removes the listener. A signal that has
 * fired already calls nothing.
 */
export function onAbort(signal: AbortSignal | undefined, listener: (reason: unknown) => void): () => void {
  if (signal === undefined) return () => {};
  allowManyListeners(signal);
  const fire = () => listener(signal.reason);
  signal.addEventListener("abort", fire, { once: true });
  return () => signal.removeEventListener("abort", fire);
}

type Events = { setMaxListeners?: (count: number, target: EventTarget) => void };

const events = (
  globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } }
).process?.getBuiltinModule?.("node:events") as Events | undefined;

/** Prevents a warning of Node about many listeners: one signal may end thousands of calls. */
export function allowManyListeners(signal: AbortSignal): void {
  events?.setMaxListeners?.(0, signal);
}

/** Limits of a wait. */
export interface WaitLimits {
  /** Maximum duration in ms. @default no limit */
  timeout?: number;
  /** Ends the wait when it fires. */
  signal?: AbortSignal;
}

/** The reason why a wait ended before its promise settled. */
export type WaitFailure = "TIMEOUT" | "ABORTED";

/**
 * Settles like `promise`, or rejects with `toError(reason)` when a limit is reached first. Leaves neither a timer nor
 * a listener.
 */
export function waitFor<T>(
  promise: Promise<T>,
  { timeout = Number.POSITIVE_INFINITY, signal }: WaitLimits,
  toError: (failure: WaitFailure) => Error,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    if (signal?.aborted) {
      promise.catch(() => {}); // The caller receives the reason instead.
      return reject(toError("ABORTED"));
    }
    const release = () => {
      timer.stop();
      stopListening();
    };
    const fail = (failure: WaitFailure) => {
      release();
      reject(toError(failure));
    };
    const timer = startTimer(() => fail("TIMEOUT"), timeout);
    const stopListening = onAbort(signal, () => fail("ABORTED"));
    promise.finally(release).then(resolve, reject);
  });
}

/** Waits at most `ms` for a promise to settle. Resolves with whether it did, and never rejects. Leaves no timer running. */
export function settlesWithin(ms: number, promise: Promise<unknown>): Promise<boolean> {
  const settled = promise.then(
    () => true,
    () => true,
  );
  return waitFor(settled, { timeout: ms }, Error).catch(() => false);
}

/** Waits `ms`, or rejects with the signal's reason as soon as it fires. Leaves neither a timer nor a listener. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const timer = startTimer(() => {
      stopListening();
      resolve();
    }, ms);
    const stopListening = onAbort(signal, (reason) => {
      timer.stop();
      reject(reason);
    });
  });
}
