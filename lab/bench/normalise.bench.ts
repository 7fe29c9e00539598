import { type TSchema, Type } from "typebox";
import { Compile } from "typebox/schema";
import { createNormaliser, looksClassless } from "../../src/schema/index.ts";
import { type Block, formatNoise, measure } from "./measure.ts";
import { formatTime, type Row } from "./table.ts";

// Creates new schemas for every figure, because a normalizer is cached by its schema and would be optimized for earlier
// data.
function createSchemas() {
  const Task = Type.Object({
    id: Type.String(),
    title: Type.String(),
    done: Type.Boolean(),
    priority: Type.Integer(),
    tags: Type.Array(Type.String()),
    assignee: Type.Optional(Type.Object({ id: Type.String(), name: Type.String() })),
  });
  const Shape = Type.Union([
    Type.Object({ kind: Type.Literal("circle"), radius: Type.Number() }),
    Type.Object({ kind: Type.Literal("box"), width: Type.Number(), height: Type.Number() }),
  ]);
  const ClosedTasks = Type.Array(Type.Object(Task.properties, { additionalProperties: false }));
  return { Task, Tasks: Type.Array(Task), ClosedTasks, Shape };
}

function createTask(index: number): Record<string, unknown> {
  const task = {
    id: `task-${index}`,
    title: `Write the report number ${index}`,
    done: index % 2 === 0,
    priority: index % 5,
  };
  return { ...task, tags: ["work", "today"], assignee: { id: `user-${index % 9}`, name: "Someone" } };
}

/** Creates tasks with approximately this many bytes of JSON. */
function createTasks(bytes: number, extra: Record<string, unknown> = {}): unknown[] {
  const count = Math.round(bytes / JSON.stringify({ ...createTask(1_000), ...extra }).length);
  return Array.from({ length: count }, (_, index) => ({ ...createTask(index), ...extra }));
}

const megabyte = 1_000_000;

/** Measures normalizing against copying the data, and detecting clean data against only checking it. */
export async function run(): Promise<Row[]> {
  const tasks = Array.from({ length: 100 }, (_, index) => createTask(index));
  const shapes = tasks.map((_, index) => ({ kind: "box", width: index, height: 2 * index }));
  return [
    await runNormalising("one excess property each", createSchemas().Tasks, { internal: "x" }, 0.5, 0.3),
    await runNormalising("the same in a closed schema", createSchemas().ClosedTasks, { internal: "x" }),
    await runNormalising("one number as text each", createSchemas().Tasks, { priority: "3" }),
    await runNormalising("nothing to do", createSchemas().Tasks, {}, 0.5, 0.15),
    await runClean("100 tasks in turn", createSchemas().Task, tasks, 3),
    await runClean("1 MB of tasks", createSchemas().Tasks, [createTasks(megabyte)], 3),
    await runClean("100 alternatives in turn", createSchemas().Shape, shapes),
  ];
}

async function runNormalising(
  what: string,
  schema: TSchema,
  extra: Record<string, unknown>,
  bar?: number,
  aim?: number,
): Promise<Row> {
  const data = createTasks(megabyte, extra);
  const normaliser = createNormaliser(schema);
  const floor: Block = (times) => repeat(times, () => structuredClone(data));
  const block: Block = (times) => repeat(times, () => normaliser.normalise(data));
  const measured = await measure(floor, { normalise: block }, { blockTime: 30, clock: "cpu" });
  const { ns, ratio } = measured.cases.normalise;
  const note = `${formatTime(ns)} against structuredClone ${formatTime(measured.floor.ns)}, ${formatNoise(measured)}`;
  return { work: `normalise 1 MB, ${what}`, ratio, bar, aim, note };
}

async function runClean(what: string, schema: TSchema, values: readonly unknown[], bar?: number): Promise<Row> {
  const open = Compile(schema);
  const { isValid, isUnchanged = () => true } = createNormaliser(schema).quickCheck;
  const isClean = (value: unknown) => looksClassless(value) && isValid(value) && isUnchanged(value);
  if (!values.every((value) => isClean(value))) throw new Error(`"${what}" is not clean.`);
  // Use several values, because the check of a single value would be moved out of the loop.
  const floor: Block = (times) => {
    let fitting = 0;
    for (let turn = 0; turn < times; turn++) for (const value of values) if (open.Check(value)) fitting++;
    return fitting;
  };
  const block: Block = (times) => {
    let fitting = 0;
    for (let turn = 0; turn < times; turn++) for (const value of values) if (isClean(value)) fitting++;
    return fitting;
  };
  const measured = await measure(floor, { clean: block }, { clock: "cpu" });
  const { ns, ratio } = measured.cases.clean;
  const note = `${formatTime(ns)} against the check alone ${formatTime(measured.floor.ns)}, ${formatNoise(measured)}`;
  return { work: `clean, ${what}`, ratio, bar, note };
}

function repeat(times: number, work: () => unknown): unknown {
  let last: unknown;
  for (let turn = 0; turn < times; turn++) last = work();
  return last;
}
