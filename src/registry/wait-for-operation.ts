import type { Unsubscribe } from "../from/source.ts";
import { nearest } from "../internal/nearest.ts";
import { assertObject } from "../internal/objects.ts";
import { quote } from "../internal/text.ts";
import { onAbort, waitFor } from "../internal/wait.ts";
import { aborted, CallError, notAnId, resolveDuration } from "../operation/inside.ts";
import type { RegistryCore } from "./core.ts";
import type { WaitForOptions } from "./types.ts";

const defaultWaitMs = 30_000;

/** Resolves when an operation can be called. */
export async function waitForOperation(core: RegistryCore, id: string, options: WaitForOptions): Promise<void> {
  if (typeof id !== "string") throw notAnId(id);
  assertObject("waitFor", options, 'waitFor("task.create", { timeout: 5_000 })');
  const timeout = resolveDuration("timeout", options.timeout, defaultWaitMs, { infinite: true });
  const isCallable = () => core.operations.get(id)?.handler !== undefined;
  const { closing } = core;
  closing.throwIfAborted();
  if (isCallable()) return;
  const stops: Unsubscribe[] = [];
  const appears = new Promise<void>((resolve, reject) => {
    stops.push(
      core.changes.on(() => {
        if (isCallable()) resolve();
      }),
      onAbort(closing, reject),
    );
  });
  try {
    await waitFor(appears, { timeout, signal: options.signal }, (failure) =>
      failure === "TIMEOUT"
        ? notRegistered(id, timeout, nearest(id, core.operations.keys()))
        : aborted(id, options.signal?.reason, false),
    );
  } finally {
    for (const stop of stops) stop();
  }
}

function notRegistered(id: string, timeout: number, nearest: string | undefined): CallError {
  const advice =
    nearest === undefined ? "Check that its source is followed and running." : `Did you mean ${quote(nearest)}?`;
  const message = `No operation ${quote(id)} was registered within ${timeout} ms. ${advice}`;
  const details = nearest === undefined ? { operationId: id } : { operationId: id, nearest };
  return new CallError("TIMEOUT", message, details, { retryable: true, mayHaveRun: false });
}
