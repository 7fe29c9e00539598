import { buildCallHandler, OperationRegistry, PendingRequestMap, type Transport } from "@alkdev/operations";
import type { Recorder } from "../../test/history/index.ts";
import { chaosOperations, goodToken, secretScope } from "./operations.ts";

/** Shifted clocks differ by this much, in ms. */
const skew = 600_000;

/** How a clock may go: right, slow or fast. */
export type Skew = -1 | 0 | 1;

/** Sets the clock of this process or thread, as far as programs read it, ten minutes forward or back. */
export function skewClock(direction: Skew): void {
  const read = Date.now;
  if (direction !== 0) Date.now = () => read() + direction * skew;
}

/** Serves the operations of chaos over a transport, to callers that have the token. */
export function serveChaos(transport: Transport, recorder: Recorder) {
  const callMap = new PendingRequestMap(transport);
  const registry = new OperationRegistry();
  registry.registerAll(chaosOperations(recorder));
  const authenticate = async (token: string | undefined) => {
    await new Promise((resolve) => setImmediate(resolve));
    if (token !== undefined && token !== goodToken) throw new Error("The token is wrong.");
    return token === undefined ? undefined : { id: "ada", scopes: [secretScope] };
  };
  const stop = callMap.handle(buildCallHandler({ registry, callMap, authenticate }));
  return { callMap, stop };
}
