import { onAbort } from "../../../internal/abort-listeners.ts";

/** Waits for a promise, but no longer than the signal and the timeout allow. `fail` makes the error. */
export function waitFor<T>(
  promise: Promise<T>,
  { signal, timeout }: { signal?: AbortSignal; timeout: number },
  fail: (code: "ABORTED" | "TIMEOUT") => Error,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stopListening = onAbort(signal, () => finish(() => reject(fail("ABORTED"))));
    const timer = setTimeout(() => finish(() => reject(fail("TIMEOUT"))), timeout);
    function finish(settle: () => void): void {
      clearTimeout(timer);
      stopListening();
      settle();
    }
    promise.then(
      (value) => finish(() => resolve(value)),
      (error) => finish(() => reject(error)),
    );
  });
}
