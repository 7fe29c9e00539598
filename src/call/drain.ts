import { logger } from "../internal/log.ts";
import { startTimer } from "../internal/timers.ts";
import { CallError, resolveDuration } from "../operation/index.ts";

const log = logger("call");

/** In ms: how long running calls may take to finish when a server stops. */
const defaultDrainTimeout = 10_000;

/** How a server stops. */
export interface StopOptions {
  /**
   * How long, in ms, running calls may take to finish. Those that have not finished by then fail with `UNAVAILABLE`, and
   * their handlers' signals fire. 0 does not wait; `Infinity` waits as long as the calls take.
   * @default 10,000
   */
  timeout?: number;
}

/** The requests that one handler runs. */
export interface RunningRequests {
  /** Ends those of one kind, each with the error that its caller gets. */
  end(which: "subscriptions" | "all", toError: (operationId: string) => CallError): void;
  /** Resolves when none is left. */
  settled(): Promise<void>;
}

/** Stops serving within the timeout: subscriptions end immediately, calls may finish. */
export async function drain(
  stopServing: () => Promise<void>,
  running: RunningRequests,
  options: StopOptions = {},
): Promise<void> {
  const timeout = resolveDuration("timeout", options.timeout, defaultDrainTimeout, { zero: true, infinite: true });
  running.end("subscriptions", serverStopped);
  const finished = (async () => {
    await stopServing();
    // Those that arrived until no further request could.
    running.end("subscriptions", serverStopped);
    await running.settled();
  })();
  if (await endsWithin(finished, timeout)) return;
  log.warn("Serving was stopped after {timeout} ms, before everything had finished.", { timeout });
  running.end("all", serverStopped);
  finished.catch((error) => log.warn("Serving could not be stopped in order: {error}", { error }));
}

/** Whether a promise resolves in time. Rejects as the promise does. */
async function endsWithin(finished: Promise<void>, milliseconds: number): Promise<boolean> {
  let expire: (isInTime: boolean) => void = () => {};
  const late = new Promise<boolean>((resolve) => {
    expire = resolve;
  });
  const timer = startTimer(() => expire(false), milliseconds);
  try {
    return await Promise.race([finished.then(() => true), late]);
  } finally {
    timer.stop();
  }
}

function serverStopped(operationId: string): CallError {
  const message = `The server of "${operationId}" stopped before it had finished.`;
  return new CallError("UNAVAILABLE", message, { operationId }, { retryable: true, mayHaveRun: true });
}
