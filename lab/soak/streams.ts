import { createClient } from "@redis/client";
import { becomes, inLanes } from "./lanes.ts";
import { megabyte, type Soak } from "./soak.ts";

const lanes = 256;
/** Requests are removed in batches, so a few batches of them may exist at the same time. */
const mostQueued = 20 * lanes;
const operations = ["soak.echo", "soak.again"];

interface Queues {
  queued: number;
  pending: number;
  memory: number;
}

/** Calls over Redis, half of them of an operation that is stored until it is completed. */
export const streams: Soak = {
  name: "streams",
  about: "streams and lists of pending entries in Redis stay short",
  count: 1_000_000,
  transports: ["redis"],
  async run(run) {
    const client = createClient({ url: `redis://127.0.0.1:${run.port}`, RESP: 2 });
    await client.connect();
    const read = async (): Promise<Queues> => {
      const keys = operations.map((id) => `operations:call:${id}`);
      const lengths = await Promise.all(keys.map((key) => client.sendCommand(["XLEN", key])));
      const pending = await Promise.all(keys.map((key) => client.sendCommand(["XPENDING", key, "operations"])));
      const info = String(await client.sendCommand(["INFO", "memory"]));
      return {
        queued: lengths.reduce<number>((sum, length) => sum + Number(length), 0),
        pending: pending.reduce<number>((sum, summary) => sum + Number((summary as unknown as unknown[])[0]), 0),
        memory: Number(/used_memory:(\d+)/.exec(info)?.[1]),
      };
    };

    const before = await read();
    let most = before;
    await inLanes(run, lanes, async (n) => {
      await run.calls.call(operations[n % operations.length]!, { n });
      if (n % 10_000 !== 0) return;
      const now = await read();
      most = { queued: Math.max(most.queued, now.queued), pending: Math.max(most.pending, now.pending), memory: 0 };
    });

    const problems: string[] = [];
    if (most.queued > mostQueued) problems.push(`${most.queued} entries were queued`);
    if (most.pending > mostQueued) problems.push(`${most.pending} entries were pending`);
    const isEmpty = await becomes(async () => {
      const { queued, pending } = await read();
      return queued === 0 && pending === 0;
    });
    if (!isEmpty) problems.push("entries are left");
    const growth = (await read()).memory - before.memory;
    if (growth > 5 * megabyte) problems.push(`Redis keeps ${Math.round(growth / megabyte)} MB`);
    await client.close();
    return problems;
  },
};
