// #region worker
import { createRegistry, serveCalls } from "@alkdev/operations";
import { createWorkerTransport } from "@alkdev/operations/transport-worker";
import { countPrimes, crash } from "./operations.ts";

const registry = createRegistry({ operations: [countPrimes, crash] });
await serveCalls(registry, createWorkerTransport());
// #endregion worker
