/** A peer in its own process: serves, or calls on request. Arguments: broker, port, heartbeat, role. */
import { buildCallHandler, PendingRequestMap } from "../../src/call/index.ts";
import { OperationRegistry } from "../../src/registry/index.ts";
import { type BrokerName, connectBroker } from "./brokers.ts";
import { workOperations } from "./operations.ts";

const [broker, port, heartbeat, role] = process.argv.slice(2) as [BrokerName, string, string, "serve" | "ask"];
const options = { heartbeat: Number(heartbeat), prefix: process.env["PREFIX"] };
const map = new PendingRequestMap(await connectBroker(broker, Number(port), options));

if (role === "ask") {
  for await (const { data } of map.subscribe("work.count", { n: 10 })) process.send!({ kind: "heard", data });
} else {
  const registry = new OperationRegistry();
  registry.registerAll(workOperations((event) => process.send!(event)));
  const stop = map.handle(buildCallHandler({ registry, callMap: map }));
  await stop.ready;
  process.send!({ kind: "ready" });
  process.on("SIGTERM", async () => {
    await stop();
    await map.close();
    process.disconnect();
  });
}
