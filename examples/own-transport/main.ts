// #region use
import { buildCallHandler, createRegistry, defineOperation, PendingRequestMap, Type } from "@alkdev/operations";
import { LineTransport } from "./line-transport.ts";

const registry = createRegistry({
  operations: [
    defineOperation({
      namespace: "text",
      name: "upper",
      version: "1.0.0",
      type: "query",
      description: "Writes a text in capitals",
      inputSchema: Type.Object({ text: Type.String() }),
      outputSchema: Type.String(),
      accessControl: { requiredScopes: [] },
      handler: ({ text }) => text.toUpperCase(),
    }),
  ],
});

const worker = new PendingRequestMap(new LineTransport("office", "worker", "desk"));
await worker.handle(buildCallHandler({ registry, callMap: worker })).ready;

const desk = new PendingRequestMap(new LineTransport("office", "desk", "worker"));
const { data } = await desk.call("text.upper", { text: "over the line" });
console.log(data);

await Promise.all([desk.close(), worker.close()]);

// #endregion use

import assert from "node:assert/strict";

assert.equal(data, "OVER THE LINE");
