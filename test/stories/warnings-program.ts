/** Runs operations whose output drifts, and follows a source with an invalid operation. The argument sets the logging. */
import { createRegistry, defineOperation, OperationType, Type } from "@alkdev/operations";
import { configure } from "@logtape/logtape";

const mode = process.argv[2];
if (mode === "configured") await configure({ sinks: {}, loggers: [{ category: ["logtape", "meta"], sinks: [] }] });

const base = {
  namespace: "sensor",
  version: "1.0.0",
  type: OperationType.QUERY,
  description: "Reads a sensor",
  inputSchema: Type.Object({}),
  accessControl: { requiredScopes: [] },
} as const;
const read = defineOperation({
  ...base,
  name: "read",
  outputSchema: Type.Object({ celsius: Type.Number(), humidity: Type.Number(), unit: Type.String() }),
  handler: () => ({ celsius: "21", humidity: [], firmware: "2.1\n", serial: 7 }) as never,
});
const count = defineOperation({
  ...base,
  name: "count",
  outputSchema: Type.Number(),
  handler: () => ["one"] as never,
});

const registry = createRegistry({ operations: [read, count], log: mode !== "off" });
await registry.follow({
  name: "shop",
  load: async () => [{ ...read, namespace: "shop", name: "" }],
  close: async () => {},
});
for (let call = 0; call < 3; call++) {
  await registry.execute("sensor.read", {});
  await registry.execute("sensor.count", {});
}
console.log("done");
