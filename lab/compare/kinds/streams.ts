/** Subscriptions and middleware. */
import type { Middleware, OperationContext } from "@alkdev/operations";
import type { Random } from "../../chaos/random.ts";
import { type Form, forms, toForm } from "../forms.ts";
import { defineKind, outcomeOf } from "../kind.ts";
import type { Library } from "../library.ts";
import { type Action, anyAction, anyFailure, anyInput, anyResult, type Failure, perform } from "../operations.ts";
import { anySchema, objectSchema } from "../schemas.ts";

export const subscription = defineKind({
  name: "subscription",
  weight: 7,
  generate: (random) => {
    const inputSchema = objectSchema(random, 1);
    const outputSchema = anySchema(random, 2);
    return {
      inputSchema,
      outputSchema,
      form: random.pick<Form>(forms),
      policy: random.pick([undefined, undefined, "check", "strict"] as const),
      handler: random.pick(["generator", "generator", "iterable", "promise", "not iterable", "throws"] as const),
      values: Array.from({ length: random.integer(0, 5) }, () => anyResult(random, outputSchema)),
      failure: random.chance(0.35) ? anyFailure(random) : undefined,
      ending: random.pick(["ends", "ends", "waits"] as const),
      consumer: random.pick([
        "all",
        "all",
        "some",
        "throws",
        "aborts",
        "return first",
        "ahead",
        "after the end",
        "client",
        "helper",
      ] as const),
      take: random.integer(0, 3),
      input: anyInput(random, inputSchema),
      // Limits of time are for handlers that wait, so that no result depends on how busy the machine is.
      time: random.pick<Record<string, unknown>>([
        { timeout: 400 },
        { idleTimeout: 400 },
        { timeout: 400 },
        { idleTimeout: 400 },
        {},
        { idleTimeout: -1 },
        { deadline: 1 },
      ]),
    };
  },
  run: async (one, library) => {
    const { root } = library;
    const { inputSchema, outputSchema, form, policy, handler, values, failure, ending, consumer, take, input, time } =
      one;
    const registry = new root.OperationRegistry({ log: false });
    const events: unknown[] = [];
    const trace: unknown[] = [];
    registry.on("call", (event) => events.push(event));
    const fails = async (context: OperationContext) => {
      if (failure !== undefined)
        return perform({ do: "throw", what: failure, late: true }, "test.watch", undefined, context, library);
      if (ending === "ends") return undefined;
      await new Promise<void>((resolve) => context.signal.addEventListener("abort", () => resolve(), { once: true }));
      trace.push("aborted");
      return undefined;
    };
    const generate = async function* (_: unknown, context: OperationContext) {
      trace.push("started");
      try {
        for (const value of values) yield value;
        await fails(context);
      } finally {
        trace.push("finally");
      }
    };
    const iterate = (_: unknown, context: OperationContext): AsyncIterable<unknown> => {
      let index = 0;
      return {
        [Symbol.asyncIterator]: () => ({
          next: async () => {
            if (index < values.length) return { done: false, value: values[index++] };
            await fails(context);
            return { done: true, value: undefined };
          },
          return: async () => {
            trace.push("return");
            return { done: true, value: undefined };
          },
        }),
      };
    };
    const handlers = {
      generator: generate,
      iterable: iterate,
      promise: async (own: unknown, context: OperationContext) => iterate(own, context),
      "not iterable": () => ({ no: "iterable" }),
      throws: () => {
        throw new Error("at the start");
      },
    };
    registry.register(
      root.defineOperation({
        namespace: "test",
        name: "watch",
        type: "subscription",
        inputSchema: toForm(inputSchema, form, library),
        outputSchema: toForm(outputSchema, form, library),
        ...(policy !== undefined && { outputPolicy: policy }),
        handler: handlers[handler] as never,
      }) as never,
    );
    const controller = new AbortController();
    const isEndless = ending === "waits" && failure === undefined;
    const isRefused = time["idleTimeout"] === -1 || time["deadline"] === 1;
    const limit = Object.keys(time).length > 0 ? time : { timeout: 400 };
    const options = { ...(isEndless || isRefused ? limit : {}), signal: controller.signal };
    const outcome = await consume({ consumer, take, controller, input, options, registry }, library);
    await new Promise((resolve) => setTimeout(resolve, 1));
    return { outcome, trace, events };
  },
});

interface Consumption {
  consumer: string;
  take: number;
  controller: AbortController;
  input: unknown;
  options: Record<string, unknown>;
  registry: InstanceType<Library["root"]["OperationRegistry"]>;
}

async function consume({ consumer, take, controller, input, options, registry }: Consumption, { root }: Library) {
  const opened = await outcomeOf(() => {
    if (consumer === "client")
      return { values: (registry.client() as never as Watches)["test"]!["watch"]!(input, options) };
    if (consumer === "helper")
      return { values: (root.subscribe as never as Helper)(registry, "test.watch", input, options) };
    return { values: registry.subscribe("test.watch", input, options as never) };
  });
  if (!("returned" in (opened as object))) return opened;
  const { values } = (opened as { returned: { values: AsyncIterableIterator<unknown> } }).returned;
  const seen: unknown[] = [];
  const read = async () => {
    for await (const value of values) {
      seen.push(value);
      if (consumer === "some" && seen.length > take) break;
      if (consumer === "throws" && seen.length > take) throw new Error("The consumer fails.");
      if (consumer === "aborts" && seen.length > take) controller.abort(new Error("enough"));
    }
    return "done";
  };
  switch (consumer) {
    case "return first":
      return { first: await outcomeOf(() => values.return?.("early")), then: await outcomeOf(() => values.next()) };
    case "ahead": {
      const ahead = Array.from({ length: take + 1 }, () => outcomeOf(() => values.next()));
      return { ahead: await Promise.all(ahead), ended: await outcomeOf(() => values.return?.()) };
    }
    case "after the end": {
      const outcome = await outcomeOf(read);
      return { seen, outcome, after: [await outcomeOf(() => values.next()), await outcomeOf(() => values.return?.())] };
    }
    default:
      return { outcome: await outcomeOf(read), seen };
  }
}

type Watches = Record<string, Record<string, (input: unknown, options: unknown) => AsyncIterableIterator<unknown>>>;
type Helper = (...all: unknown[]) => AsyncIterableIterator<unknown>;

type Layer =
  | { layer: "passes" | "changes" | "skips" | "repeats" | "late" }
  | { layer: "throws"; what: Failure; after: boolean }
  | { layer: "retry"; retries: number }
  | { layer: "breaker"; failures: number }
  | { layer: "concurrency"; limit: number; maxWaiting: number }
  | { layer: "rate"; limit: number };

function anyLayer(random: Random): Layer {
  return random
    .weighted<{ weight: number; make: () => Layer }>([
      { weight: 4, make: () => ({ layer: random.pick(["passes", "changes", "skips", "repeats", "late"] as const) }) },
      { weight: 2, make: () => ({ layer: "throws", what: anyFailure(random), after: random.chance(0.5) }) },
      { weight: 3, make: () => ({ layer: "retry", retries: random.integer(0, 3) }) },
      { weight: 2, make: () => ({ layer: "breaker", failures: random.integer(1, 3) }) },
      { weight: 1, make: () => ({ layer: "concurrency", limit: 1, maxWaiting: random.integer(0, 2) }) },
      { weight: 1, make: () => ({ layer: "rate", limit: random.integer(1, 3) }) },
    ])
    .make();
}

const selections = [
  {},
  {},
  { include: ["test.*"] },
  { exclude: ["test.run"] },
  { include: ["tag:a"] },
  { include: ["none.*"] },
  { include: ["test.*"], exclude: ["tag:*"] },
];

export const middleware = defineKind({
  name: "middleware",
  weight: 4,
  generate: (random) => ({
    type: random.pick(["query", "mutation", "subscription"] as const),
    idempotent: random.chance(0.4),
    layers: Array.from({ length: random.integer(1, 3) }, () => ({
      ...anyLayer(random),
      selection: random.pick(selections),
    })),
    // What the handler does, in order of its runs.
    actions: Array.from({ length: 8 }, (): Action => {
      if (random.chance(0.5)) return { do: "return", value: random.integer(1, 9), as: "value" };
      if (random.chance(0.5)) {
        return {
          do: "throw",
          late: true,
          what: {
            throws: "CallError",
            code: "UNAVAILABLE",
            message: "down",
            retryable: true,
            ...(random.chance(0.3) && { mayHaveRun: false }),
          },
        };
      }
      return anyAction(random, { type: "number" });
    }),
    calls: random.integer(1, 4),
    parallel: random.chance(0.3),
  }),
  run: async ({ type, idempotent, layers, actions, calls, parallel }, library) => {
    const { root } = library;
    const registry = new root.OperationRegistry({ log: false });
    const trace: unknown[] = [];
    let runs = 0;
    const act = (input: unknown, context: OperationContext) =>
      perform(actions[runs++ % actions.length]!, "test.run", input, context, library);
    const watch = async function* (input: unknown, context: OperationContext) {
      yield await act(input, context);
      yield await act(input, context);
    };
    for (const [index, layer] of layers.entries()) {
      registry.use(
        toMiddleware(layer, (note) => trace.push({ index, note }), library),
        layer.selection,
      );
    }
    registry.register(
      root.defineOperation({
        namespace: "test",
        name: "run",
        type,
        tags: ["a"],
        idempotent,
        inputSchema: {} as never,
        outputSchema: { type: "number" } as never,
        handler: (type === "subscription" ? watch : act) as never,
      }) as never,
    );
    const run = async () => {
      if (type !== "subscription") return registry.execute("test.run", { a: 1 });
      const values = [];
      for await (const value of registry.subscribe("test.run", { a: 1 })) values.push(value);
      return values;
    };
    const outcomes = [];
    if (parallel) outcomes.push(...(await Promise.all(Array.from({ length: calls }, () => outcomeOf(run)))));
    else for (let left = calls; left > 0; left--) outcomes.push(await outcomeOf(run));
    // The order of steps of parallel calls is not a promise.
    return { outcomes, trace: parallel ? undefined : trace, runs };
  },
});

function toMiddleware(layer: Layer, note: (what: unknown) => void, library: Library): Middleware {
  const { retry, circuitBreaker, concurrency, rateLimit } = library.middleware;
  switch (layer.layer) {
    case "retry":
      return retry({ retries: layer.retries, delay: 1, maxDelay: 2 });
    case "breaker":
      return circuitBreaker({ failures: layer.failures });
    case "concurrency":
      return concurrency(layer);
    case "rate":
      return rateLimit({ limit: layer.limit, interval: 3_600_000 });
    case "changes":
      return async (_, next) => ({ changed: await next() });
    case "skips":
      return () => "skipped";
    case "repeats":
      return async (_, next) => {
        await next();
        return next();
      };
    case "late":
      return async (call, next) => {
        await Promise.resolve();
        note({ id: call.operationId, input: call.input, isNested: call.isNested });
        return next();
      };
    case "throws":
      return async (call, next) => {
        if (layer.after) note(await outcomeOf(next));
        return perform(
          { do: "throw", what: layer.what, late: false },
          call.operationId,
          undefined,
          call.context,
          library,
        );
      };
    default:
      return async (call, next) => {
        note(call.operationId);
        const outcome = await outcomeOf(next);
        note(outcome);
        if ("thrown" in (outcome as object)) throw (outcome as { thrown: unknown }).thrown;
        return (outcome as { returned: unknown }).returned;
      };
  }
}
