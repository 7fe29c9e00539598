// #region worker
import { buildCallHandler, createRegistry, PendingRequestMap } from "@alkdev/operations";
import { createWorkerTransport } from "@alkdev/operations/transport-worker";
import { countPrimes, crash } from "./operations.ts";

const registry = createRegistry({ operations: [countPrimes, crash] });
const calls = new PendingRequestMap(createWorkerTransport());
calls.handle(buildCallHandler({ registry, callMap: calls }));
// #endregion worker
