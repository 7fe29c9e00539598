// The server of the jwt bench, in its own process. Arguments: port, schemas of input and output, verification modes.
import { buildCallHandler, OperationRegistry, PendingRequestMap } from "../../dist/index.js";
import { createJWTAuthenticator } from "../../dist/jwt/index.js";
import { createNATSTransport } from "../../dist/transport/nats/index.js";

const [port, schemas, ways] = process.argv.slice(2);

const registry = new OperationRegistry();
registry.register({
  namespace: "task",
  name: "create",
  version: "1.0.0",
  type: "mutation",
  description: "",
  ...JSON.parse(schemas),
  accessControl: { requiredScopes: ["task:write"] },
  handler: async ({ title, priority }) => ({ id: "task-1", title, priority, done: false }),
});

for (const { prefix, check } of JSON.parse(ways)) {
  const callMap = new PendingRequestMap(await createNATSTransport({ servers: `127.0.0.1:${port}`, prefix }));
  const rules = check === undefined ? { trustedBus: true } : { authenticate: await createJWTAuthenticator(check) };
  await callMap.handle(buildCallHandler({ registry, callMap, ...rules })).ready;
}
process.send("ready");
process.on("disconnect", () => process.exit());
