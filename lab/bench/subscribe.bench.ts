import { deepStrictEqual } from "node:assert/strict";
import { type Static, Type } from "typebox";
import { Compile } from "typebox/compile";
import { operations } from "./built.ts";
import { type Block, formatNoise, measure } from "./measure.ts";
import { formatTime, type Row } from "./table.ts";
import { identity } from "./task-operation.ts";

const Count = Type.Object({ count: Type.Integer() });
const Tick = Type.Object({ symbol: Type.String(), price: Type.Number(), at: Type.Integer() });

const compiledCount = Compile(Count);
const compiledTick = Compile(Tick);

async function* ticks({ count }: Static<typeof Count>): AsyncGenerator<Static<typeof Tick>> {
  for (let at = 0; at < count; at++) yield { symbol: "ALK", price: 12.5, at };
}

const registry = new operations.OperationRegistry();
registry.register({
  namespace: "market",
  name: "ticks",
  version: "1.0.0",
  type: "subscription",
  description: "Prices as they change",
  inputSchema: Count,
  outputSchema: Tick,
  accessControl: { requiredScopes: ["task:read"] },
  handler: ticks,
});

const byHand: Block = async (count) => {
  let last: unknown;
  const input = { count };
  if (!identity.scopes.includes("task:read")) throw new Error("denied");
  if (!compiledCount.Check(input)) throw new Error("invalid input");
  for await (const data of ticks(input)) {
    if (!compiledTick.Check(data)) throw new Error("invalid output");
    last = { data, meta: { source: "local", operationId: "market.ticks", timestamp: Date.now() } };
  }
  return last;
};

const subscribe: Block = async (count) => {
  let last: unknown;
  for await (const envelope of operations.subscribe(registry, "market.ticks", { count }, { identity })) last = envelope;
  return last;
};

/** Measures one value of a long subscription. */
export async function run(): Promise<Row[]> {
  for (const block of [byHand, subscribe]) {
    deepStrictEqual(((await block(2)) as { data: unknown }).data, { symbol: "ALK", price: 12.5, at: 1 });
  }
  const measured = await measure(byHand, { subscribe }, { clock: "cpu" });
  const { ns, ratio } = measured.cases.subscribe;
  return [
    {
      work: "one value of a subscription",
      ratio,
      bar: 1.55,
      aim: 1.4,
      note: `${formatTime(ns)}, by hand ${formatTime(measured.floor.ns)}, ${formatNoise(measured)}`,
    },
  ];
}
