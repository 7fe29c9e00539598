// #region worker
import { createRegistry, defineOperation, serveCalls, Type } from "@alkdev/operations";
import { createNATSTransport } from "@alkdev/operations/transport-nats";

const resize = defineOperation({
  namespace: "image",
  name: "resize",
  type: "query",
  description: "Returns the size of a resized image",
  inputSchema: Type.Object({ width: Type.Integer(), height: Type.Integer(), factor: Type.Number() }),
  outputSchema: Type.Object({ width: Type.Integer(), height: Type.Integer(), worker: Type.Integer() }),
  handler: ({ width, height, factor }) => ({
    width: Math.round(width * factor),
    height: Math.round(height * factor),
    worker: process.pid,
  }),
});

const registry = createRegistry({ operations: [resize] });
const served = await serveCalls(registry, await createNATSTransport({ servers: process.env["NATS_URL"] }));

// #region end
// Receives no further request, ends subscriptions, and lets calls finish for up to ten seconds.
process.once("SIGTERM", () => served.close());
// #endregion end
// #endregion worker
process.send?.("ready");
process.once("SIGTERM", () => process.disconnect?.());
