import { call, os } from "@orpc/server";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { initTRPC } from "@trpc/server";
import { ServiceBroker } from "moleculer";
import type { Static, TSchema } from "typebox";
import { Compile } from "typebox/compile";
import type { Identity } from "../../src/index.ts";
import type { Block } from "./measure.ts";
import { createTask, identity, input, Task, TaskInput } from "./task-operation.ts";

/** The same operation in other libraries. Each uses its fastest configuration. */
export interface Peers {
  blocks: Record<"Moleculer broker.call" | "oRPC call" | "tRPC createCaller", Block>;
  close(): Promise<void>;
}

interface Context {
  identity: Identity;
}

/** Starts the peers. The scope is checked by hand in their handlers, which is cheaper than their middleware. */
export async function startPeers(): Promise<Peers> {
  const broker = await startMoleculer();
  const procedure = createProcedure();
  const caller = createCaller();
  return {
    blocks: {
      "Moleculer broker.call": async (times) => {
        let last: unknown;
        for (let i = 0; i < times; i++) last = await broker.call("task.create", input, { meta: { identity } });
        return last;
      },
      "oRPC call": async (times) => {
        let last: unknown;
        for (let i = 0; i < times; i++) last = await call(procedure, input, { context: { identity } });
        return last;
      },
      "tRPC createCaller": async (times) => {
        let last: unknown;
        for (let i = 0; i < times; i++) last = await caller.task.create(input);
        return last;
      },
    },
    close: () => broker.stop(),
  };
}

/** Starts Moleculer. It checks input with its own validator and does not check output. */
async function startMoleculer(): Promise<ServiceBroker> {
  const broker = new ServiceBroker({ logger: false });
  broker.createService({
    name: "task",
    actions: {
      create: {
        params: {
          title: "string",
          priority: { type: "number", integer: true },
          tags: { type: "array", items: "string", optional: true },
        },
        handler(context: { params: Static<typeof TaskInput>; meta: Context }) {
          enforceScope(context.meta.identity);
          return createTask(context.params);
        },
      },
    },
  });
  await broker.start();
  return broker;
}

function createProcedure() {
  return os
    .$context<Context>()
    .input(toStandardSchema(TaskInput))
    .output(toStandardSchema(Task))
    .handler(({ input, context }) => {
      enforceScope(context.identity);
      return createTask(input);
    });
}

function createCaller() {
  const trpc = initTRPC.context<Context>().create();
  const create = trpc.procedure
    .input(toStandardSchema(TaskInput))
    .output(toStandardSchema(Task))
    .mutation(({ input, ctx }) => {
      enforceScope(ctx.identity);
      return createTask(input);
    });
  return trpc.createCallerFactory(trpc.router({ task: trpc.router({ create }) }))({ identity });
}

function enforceScope(caller: Identity): void {
  if (!caller.scopes.includes("task:write")) throw new Error("denied");
}

/** Wraps the same check that the floor uses, so that libraries are compared, not validators. */
function toStandardSchema<Schema extends TSchema>(schema: Schema): StandardSchemaV1<Static<Schema>, Static<Schema>> {
  const compiled = Compile(schema);
  return {
    "~standard": {
      version: 1,
      vendor: "bench",
      validate: (value) =>
        compiled.Check(value) ? { value: value as Static<Schema> } : { issues: [{ message: "invalid" }] },
    },
  };
}
