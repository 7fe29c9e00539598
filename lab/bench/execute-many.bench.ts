import { Compile } from "typebox/compile";
import type { Identity, IOperationDefinition, ResponseEnvelope } from "../../src/index.ts";
import { operations } from "./built.ts";
import { type Block, formatNoise, measure } from "./measure.ts";
import { formatTime, type Row } from "./table.ts";
import { createTaskByHand, identity, input, numberedOperation, taskOperation } from "./task-operation.ts";

type ByHand = (value: unknown, caller: Identity) => Promise<ResponseEnvelope>;

const called = 1_000;
const registered = 10_000;
const definitions = Array.from({ length: registered }, (_, index) => numberedOperation(index));
const ids = definitions.slice(0, called).map(({ namespace, name }) => `${namespace}.${name}`);

const alone = createRegistry([taskOperation]);
const thousand = createRegistry(definitions.slice(0, called));
const crowded = createRegistry([...definitions, taskOperation]);

const handlersByHand = new Map(definitions.slice(0, called).map((definition, i) => [ids[i]!, writeByHand(definition)]));

/** Measures registries with many operations. The first row is `execute` with one operation in the registry. */
export async function run(): Promise<Row[]> {
  const one = await measure(byHand, { alone: executeAlone, crowded: executeCrowded }, { clock: "cpu" });
  // Optimizing thousands of functions takes longer than optimizing one.
  const options = { warmUp: 4_000, blockTime: 20, clock: "cpu" } as const;
  const many = await measure(
    manyByHand,
    { many: executeMany, manyOfCrowd: executeManyOfCrowd, alone: executeAlone },
    options,
  );

  const first = many.cases.alone.ns;
  const overFloor = one.cases.alone.ratio;
  return [
    {
      work: "execute one of 10,000 ÷ one of one",
      ratio: one.cases.crowded.ratio / one.cases.alone.ratio,
      bar: 1.1,
      aim: 1,
      note: `${formatTime(one.cases.crowded.ns)} and ${formatTime(one.cases.alone.ns)}, ${formatNoise(one)}`,
    },
    {
      work: "execute 1,000 in turn ÷ one",
      ratio: many.cases.many.ns / first,
      note: `${formatTime(many.cases.many.ns)} and ${formatTime(first)}; by hand the same step costs ${(many.floor.ns / one.floor.ns).toFixed(2)} ×`,
    },
    {
      work: "execute 1,000 in turn, over by hand, ÷ one over by hand",
      ratio: many.cases.many.ratio / overFloor,
      bar: 1.1,
      aim: 1,
      note: `${many.cases.many.ratio.toFixed(2)} × by hand (${formatTime(many.floor.ns)}), one ${overFloor.toFixed(2)} ×, ${formatNoise(many)}`,
    },
    {
      work: "the same 1,000 among 10,000",
      ratio: many.cases.manyOfCrowd.ratio / overFloor,
      bar: 1.15,
      aim: 1.1,
      note: formatTime(many.cases.manyOfCrowd.ns),
    },
  ];
}

async function byHand(times: number): Promise<unknown> {
  let last: unknown;
  for (let i = 0; i < times; i++) last = await createTaskByHand(input, identity);
  return last;
}

async function executeAlone(times: number): Promise<unknown> {
  let last: unknown;
  for (let i = 0; i < times; i++) last = await alone.execute("task.create", input, { identity });
  return last;
}

async function executeCrowded(times: number): Promise<unknown> {
  let last: unknown;
  for (let i = 0; i < times; i++) last = await crowded.execute("task.create", input, { identity });
  return last;
}

const manyByHand: Block = async (times) => {
  let last: unknown;
  for (let i = 0; i < times; i++) last = await handlersByHand.get(ids[i % called]!)!(input, identity);
  return last;
};

const executeMany: Block = async (times) => {
  let last: unknown;
  for (let i = 0; i < times; i++) last = await thousand.execute(ids[i % called]!, input, { identity });
  return last;
};

const executeManyOfCrowd: Block = async (times) => {
  let last: unknown;
  for (let i = 0; i < times; i++) last = await crowded.execute(ids[i % called]!, input, { identity });
  return last;
};

function createRegistry(list: readonly IOperationDefinition[]) {
  const registry = new operations.OperationRegistry();
  for (const definition of list) registry.register(definition);
  return registry;
}

/** The floor for one of many operations. It cannot be a single function for all of them. */
function writeByHand({ namespace, name, inputSchema, outputSchema, handler }: IOperationDefinition): ByHand {
  const compiledInput = Compile(inputSchema);
  const compiledOutput = Compile(outputSchema);
  const operationId = `${namespace}.${name}`;
  const run = handler as (value: unknown) => Promise<unknown>;
  return async (value, caller) => {
    if (!caller.scopes.includes("task:write")) throw new Error("denied");
    if (!compiledInput.Check(value)) throw new Error("invalid input");
    const data = await run(value);
    if (!compiledOutput.Check(data)) throw new Error("invalid output");
    return { data, meta: { source: "local", operationId, timestamp: Date.now() } };
  };
}
