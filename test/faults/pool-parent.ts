/** Starts a pool of two processes of the module in its argument, one of which has other work, and prints their ids. */
import { PendingRequestMap } from "../../src/call/index.ts";
import { createWorkerPool } from "../../src/transport/worker/index.ts";

const calls = new PendingRequestMap(await createWorkerPool(process.argv[2]!, { kind: "process", size: 2 }));
const answers = await Promise.all([1, 2].map(() => calls.call<{ pid: number }>("test.who", {})));
await calls.call("test.stay", {});
console.log(JSON.stringify(answers.map(({ data }) => data.pid)));
