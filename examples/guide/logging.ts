// #region configure
import { setTimeout as sleep } from "node:timers/promises";
import { createRegistry, defineOperation, Type } from "@alkdev/operations";
import { configure, type LogRecord } from "@logtape/logtape";

const lines: string[] = [];
const print = ({ level, category, message }: LogRecord) => {
  lines.push(`${level} ${category.join(".")}: ${message.join("")}`);
  console.log(lines.at(-1));
};

await configure({
  sinks: { print },
  loggers: [
    { category: ["alkdev", "operations"], sinks: ["print"], lowestLevel: "debug" },
    { category: ["logtape", "meta"], sinks: ["print"], lowestLevel: "warning" },
  ],
});
// #endregion configure

// #region drift
const read = defineOperation({
  namespace: "sensor",
  name: "read",
  type: "query",
  description: "Reads a sensor that returns an undeclared property",
  inputSchema: Type.Object({}),
  outputSchema: Type.Object({ celsius: Type.Number() }),
  handler: () => ({ celsius: 21, firmware: "2.1" }),
});

const client = createRegistry({ operations: [read] }).client();
for (let count = 0; count < 1_000; count += 1) await client.sensor.read();
// #endregion drift

// #region late
const readSlowly = defineOperation({
  ...read,
  name: "readSlowly",
  handler: async () => {
    await sleep(2_000); // without context.signal, so that it cannot be stopped
    return { celsius: 20 };
  },
});

const slow = createRegistry({ operations: [readSlowly] });
const late = await slow.execute("sensor.readSlowly", {}, { timeout: 1_000 }).catch((error) => error);
await sleep(1_500);

// #endregion late

import assert from "node:assert/strict";

assert.equal(late.code, "TIMEOUT");
assert.equal(lines.length, 2);
