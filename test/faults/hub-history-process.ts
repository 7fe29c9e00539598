/**
 * Records calls in the history file of a hub, in a process of its own. It makes calls all the time, and reports their number
 * and the state of its history. The message "close" closes it.
 */
import { setImmediate } from "node:timers/promises";
import { openHistory } from "../../src/hub/history.ts";
import { defineOperation, OperationRegistry, Type } from "../../src/index.ts";

/** What the process reports. */
export interface HistoryReport {
  /** Number of calls that it has made. */
  calls: number;
  /** The state of its history. */
  history: { lost: number; problem?: string };
}

const registry = new OperationRegistry();
registry.register(
  defineOperation({
    namespace: "test",
    name: "echo",
    type: "mutation",
    inputSchema: Type.Object({ value: Type.String() }),
    outputSchema: Type.String(),
    handler: ({ value }) => value,
  }),
);
const history = await openHistory(registry, { file: process.argv[2]!, limit: 500, payloads: ["test.*"] });

let isClosing = false;
process.once("message", () => {
  isClosing = true;
});
const value = "x".repeat(100);
for (let calls = 0; !isClosing; await setImmediate()) {
  for (let count = 0; count < 50; count++, calls++) {
    const { data } = await registry.execute("test.echo", { value });
    if (data !== value) throw new Error("A call returned another value.");
  }
  await new Promise((resolve) => process.send!({ calls, history: history.state } satisfies HistoryReport, resolve));
}
await history.close();
process.disconnect();
