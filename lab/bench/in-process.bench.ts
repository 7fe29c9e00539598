import { deepStrictEqual } from "node:assert/strict";
import { operations } from "./built.ts";
import { type Block, formatNoise, measure } from "./measure.ts";
import { formatTime, type Row } from "./table.ts";
import { expected, identity, input, taskOperation } from "./task-operation.ts";

const concurrent = 64;

const registry = new operations.OperationRegistry();
registry.register(taskOperation);

function serve(target?: EventTarget) {
  const calls = new operations.PendingRequestMap(target);
  calls.handle(operations.buildCallHandler({ registry, callMap: calls, trustedBus: true }));
  return calls;
}

/** Keeps 64 calls running until all have been made. Each block needs its own loop, see {@link Block}. */
const direct: Block = (times) => {
  let left = times;
  const loop = async () => {
    let last: unknown;
    while (left-- > 0) last = await registry.execute("task.create", input, { identity });
    return last;
  };
  return Promise.all(Array.from({ length: concurrent }, loop)).then((all) => all[0]);
};

const inProcess: Block = (times) => {
  let left = times;
  const loop = async () => {
    let last: unknown;
    while (left-- > 0) last = await local.call("task.create", input, { identity });
    return last;
  };
  return Promise.all(Array.from({ length: concurrent }, loop)).then((all) => all[0]);
};

const overEventTarget: Block = (times) => {
  let left = times;
  const loop = async () => {
    let last: unknown;
    while (left-- > 0) last = await target.call("task.create", input, { identity });
    return last;
  };
  return Promise.all(Array.from({ length: concurrent }, loop)).then((all) => all[0]);
};

const local = serve();
const target = serve(new EventTarget());

/** Measures the call protocol in process against a direct call. */
export async function run(): Promise<Row[]> {
  for (const block of [direct, inProcess, overEventTarget]) {
    deepStrictEqual(((await block(1)) as { data: unknown }).data, expected);
  }
  const near = await measure(direct, { inProcess }, { clock: "cpu" });
  const far = await measure(direct, { overEventTarget }, { clock: "cpu" });
  await Promise.all([local.close(), target.close()]);
  return [
    {
      work: `call in process, ${concurrent} at once`,
      ratio: near.cases.inProcess.ratio,
      bar: 1 / 0.5,
      aim: 1 / 0.6,
      note: `${formatTime(near.cases.inProcess.ns)}, execute ${formatTime(near.floor.ns)}, ${formatNoise(near)}`,
    },
    {
      work: `call over a plain EventTarget, ${concurrent} at once`,
      ratio: far.cases.overEventTarget.ratio,
      bar: 1 / 0.15,
      note: `${formatTime(far.cases.overEventTarget.ns)}, execute ${formatTime(far.floor.ns)}, ${formatNoise(far)}`,
    },
  ];
}
