import { deepStrictEqual } from "node:assert/strict";
import { operations } from "./built.ts";
import { type Block, formatNoise, measure } from "./measure.ts";
import { startPeers } from "./peers.ts";
import { formatTime, type Row } from "./table.ts";
import { createTaskByHand, expected, identity, input, taskOperation } from "./task-operation.ts";

const registry = new operations.OperationRegistry();
registry.register(taskOperation);
const { signal } = new AbortController();

const byHand: Block = async (times) => {
  let last: unknown;
  for (let i = 0; i < times; i++) last = await createTaskByHand(input, identity);
  return last;
};

const execute: Block = async (times) => {
  let last: unknown;
  for (let i = 0; i < times; i++) last = await registry.execute("task.create", input, { identity });
  return last;
};

const executeWithin: Block = async (times) => {
  let last: unknown;
  for (let i = 0; i < times; i++) {
    last = await registry.execute("task.create", input, { identity, signal, deadline: Date.now() + 30_000 });
  }
  return last;
};

/** Measures one call against handwritten code and against other libraries. */
export async function run(): Promise<Row[]> {
  const peers = await startPeers();
  for (const block of Object.values(peers.blocks)) deepStrictEqual(await block(1), expected);
  for (const block of [byHand, execute, executeWithin]) {
    deepStrictEqual(((await block(1)) as { data: unknown }).data, expected);
  }

  const plain = await measure(byHand, { execute }, { clock: "cpu" });
  const others = await measure(byHand, { execute, ...peers.blocks }, { clock: "cpu" });
  const within = await measure(byHand, { executeWithin }, { clock: "cpu" });
  await peers.close();

  const ours = others.cases.execute;
  return [
    {
      work: "execute",
      ratio: plain.cases.execute.ratio,
      bar: 1.5,
      aim: 1.4,
      note: `${formatTime(plain.cases.execute.ns)}, by hand ${formatTime(plain.floor.ns)}, ${formatNoise(plain)}`,
    },
    ...Object.keys(peers.blocks).map((name) => {
      const peer = others.cases[name as keyof typeof peers.blocks];
      return {
        work: `execute ÷ ${name}`,
        ratio: ours.ns / peer.ns,
        bar: 1,
        note: `${formatTime(peer.ns)}, ${peer.ratio.toFixed(2)} × by hand`,
      };
    }),
    {
      work: "execute with a signal and a deadline",
      ratio: within.cases.executeWithin.ratio,
      bar: 8,
      aim: 6,
      note: `${formatTime(within.cases.executeWithin.ns)}, ${formatNoise(within)}`,
    },
  ];
}
