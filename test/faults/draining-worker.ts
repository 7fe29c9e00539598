/** A worker whose calls take the requested time, and that drains on SIGTERM. Arguments: broker, port. */
import { setTimeout as delay } from "node:timers/promises";
import { buildCallHandler, PendingRequestMap } from "../../src/call/index.ts";
import { operation, subscription } from "../../src/call/testing.ts";
import { OperationRegistry } from "../../src/registry/index.ts";
import { type BrokerName, connectBroker } from "./brokers.ts";

const [broker, port] = process.argv.slice(2) as [BrokerName, string];
const map = new PendingRequestMap(await connectBroker(broker, Number(port)));
const registry = new OperationRegistry();
registry.register(
  operation("slow", async ({ n, ms }) => {
    process.send!({ kind: "started", n });
    await delay(ms);
    return n;
  }),
);
registry.register(
  subscription("endless", async function* () {
    for (let n = 0; ; n++) {
      yield n;
      await delay(10);
    }
  }),
);
const stop = map.handle(buildCallHandler({ registry, callMap: map }));
await stop.ready;
process.send!({ kind: "ready" });

// Once: a second signal ends the process as it would without a listener.
process.once("SIGTERM", async () => {
  process.send!({ kind: "stopped" });
  await stop();
  await map.close();
  process.disconnect();
});
