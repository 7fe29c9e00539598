/** Calls: what handlers throw, who may call, how calls are nested, aborted and wrapped. */
import type { AccessControl, Identity, IOperationDefinition, OperationContext } from "@alkdev/operations";
import type { Random } from "../../chaos/random.ts";
import { defineKind, outcomeOf } from "../kind.ts";
import type { Library } from "../library.ts";
import {
  type Action,
  anyFailure,
  anyInput,
  anyOperation,
  anyOperations,
  define,
  idOf,
  perform,
} from "../operations.ts";
import { objectSchema } from "../schemas.ts";

export const error = defineKind({
  name: "error",
  weight: 8,
  generate: (random) => ({
    type: random.pick(["query", "mutation"] as const),
    errors: { TAKEN: objectSchema(random, 1) },
    actions: Array.from(
      { length: 4 },
      (): Action => ({ do: "throw", what: anyFailure(random), late: random.chance(0.5) }),
    ),
  }),
  run: async ({ type, errors, actions }, library) => {
    const registry = new library.root.OperationRegistry({ log: false });
    const events: unknown[] = [];
    registry.on("call", (event) => events.push(event));
    registry.register(
      library.root.defineOperation({
        namespace: "test",
        name: "fail",
        type,
        inputSchema: { type: "object" } as never,
        outputSchema: {} as never,
        errors: errors as never,
        handler: (({ index }: { index: number }, context: OperationContext) =>
          perform(actions[index]!, "test.fail", undefined, context, library)) as never,
      }) as never,
    );
    const outcomes = [];
    for (const index of actions.keys()) {
      const outcome = await outcomeOf(() => registry.execute("test.fail", { index }));
      const { thrown } = outcome as { thrown?: unknown };
      const json = await outcomeOf(() => JSON.parse(JSON.stringify(thrown)));
      const mapped = await outcomeOf(() => library.root.mapError(thrown));
      outcomes.push({ outcome, json, mapped, isCallError: library.root.isCallError(thrown) });
    }
    return { outcomes, events };
  },
});

const scopes = ["read", "write", "admin"];

function someOf<Item>(random: Random, items: readonly Item[]): Item[] {
  return items.filter(() => random.chance(0.5));
}

function anyAccess(random: Random): AccessControl {
  return {
    requiredScopes: random.chance(0.4) ? [] : someOf(random, scopes),
    ...(random.chance(0.4) && { requiredScopesAny: someOf(random, scopes) }),
    ...(random.chance(0.4) && {
      resourceType: "task",
      resourceAction: random.pick(["read", "write"]),
      ...(random.chance(0.7) && { resourceId: random.pick(["/id", "/ids", "/missing", ""]) }),
    }),
    ...(random.chance(0.3) && { customAuth: random.pick(["yes", "no", "throws", "later", "text", "missing"]) }),
  };
}

function anyIdentity(random: Random): unknown {
  if (random.chance(0.15)) return undefined;
  if (random.chance(0.1)) {
    return random.pick<unknown>([
      null,
      "ada",
      {},
      { id: "ada" },
      { id: 1, scopes: [] },
      { id: "ada", scopes: "read" },
      { id: "", scopes: [] },
      { id: "ada", scopes: ["read"], resources: { "task:1": "read" } },
    ]);
  }
  const grants = someOf(random, ["task:1", "task:2", "task:*", "list:1"]);
  return {
    id: "ada",
    scopes: random.chance(0.2) ? scopes : someOf(random, scopes),
    ...(random.chance(0.6) && {
      resources: Object.fromEntries(grants.map((grant) => [grant, someOf(random, ["read", "write"])])),
    }),
  };
}

export const access = defineKind({
  name: "access",
  weight: 8,
  generate: (random) => ({
    rule: anyAccess(random),
    inner: anyAccess(random),
    nested: random.pick([undefined, "trusted", "attenuate"] as const),
    identities: Array.from({ length: 3 }, () => anyIdentity(random)),
    inputs: [{ id: "1", ids: ["1", "2"] }, { id: "2" }, { ids: [] }, {}, { id: 1, ids: ["1", 2] }],
  }),
  run: async ({ rule, inner, nested, identities, inputs }, library) => {
    const { OperationRegistry, checkAccess, enforceAccess } = library.root;
    const registry = new OperationRegistry({
      log: false,
      customAuth: {
        yes: () => true,
        no: () => false,
        throws: () => {
          throw new Error("The check failed.");
        },
        later: async ({ input }: { input: unknown }) => (input as { id?: unknown }).id === "1",
        text: () => "true" as never,
      },
      ...(nested !== undefined && { nested }),
    } as never);
    const schema = { type: "object", properties: { id: {}, ids: {} } } as never;
    const part = { namespace: "task", type: "query", inputSchema: schema, outputSchema: {} as never } as const;
    const { defineOperation } = library.root;
    registry.register(
      defineOperation({
        ...part,
        name: "inner",
        accessControl: inner,
        handler: (_, { identity }) => ({ identity }) as never,
      }) as never,
    );
    registry.register(
      defineOperation({
        ...part,
        name: "outer",
        accessControl: rule,
        handler: async (input, { call, identity }) =>
          ({ identity, inner: await outcomeOf(() => call("task.inner", input)) }) as never,
      }) as never,
    );
    const results = [];
    for (const identity of identities) {
      const who = { identity: identity as Identity };
      const calls = [];
      for (const input of inputs) calls.push(await outcomeOf(() => registry.execute("task.outer", input, who)));
      results.push({
        calls,
        check: await outcomeOf(() => checkAccess(rule, identity as Identity, inputs[0])),
        enforce: await outcomeOf(() =>
          (enforceAccess as (...all: unknown[]) => unknown)(registry.getSpec("task.outer"), identity, inputs[0]),
        ),
        found: await outcomeOf(() =>
          registry
            .search("", { identity: (identity ?? null) as Identity | null })
            .map(({ name }) => name)
            .sort(),
        ),
      });
    }
    return results;
  },
});

interface Step {
  target: string;
  with: "call" | "env" | "definition" | "copy" | "buildEnv";
  input: unknown;
  catches: boolean;
  options: Record<string, unknown>;
}

export const nested = defineKind({
  name: "nested",
  weight: 7,
  generate: (random) => {
    const leaves = anyOperations(random, 3, { namespace: "leaf", type: random.pick(["query", "mutation"]) });
    const targets = [...leaves.map(idOf), ...leaves.map(idOf), "node.one", "leaf.unknown", "node.values"];
    const steps = (depth: number): Step[] =>
      Array.from({ length: random.integer(1, 3) }, () => ({
        target:
          depth === 0 ? random.pick(targets) : random.pick([...targets.filter((id) => id !== "node.one"), "node.two"]),
        with: random.pick(["call", "call", "env", "definition", "copy", "buildEnv"] as const),
        input: anyInput(random, random.pick(leaves).inputSchema),
        catches: random.chance(0.5),
        options: random.chance(0.2) ? { metadata: { step: random.integer(1, 9) } } : {},
      }));
    return {
      leaves,
      nodes: { one: steps(1), two: steps(2).filter(({ target }) => target.startsWith("leaf")) } as Record<
        string,
        Step[]
      >,
      rule: random.chance(0.4) ? ["read"] : [],
      options: {
        ...(random.chance(0.5) && { identity: { id: "ada", scopes: someOf(random, scopes) } }),
        ...(random.chance(0.5) && { metadata: { trace: "t1" } }),
        ...(random.chance(0.3) && { requestId: "request-1" }),
        ...(random.chance(0.2) && { parentRequestId: "parent-1" }),
        ...(random.chance(0.3) && { timeout: 60_000 }),
      },
    };
  },
  run: async ({ leaves, nodes, rule, options }, library) => {
    const registry = new library.root.OperationRegistry({ log: false });
    const events: unknown[] = [];
    registry.on("call", (event) => events.push(event));
    const definitions = leaves.map((leaf) => define(leaf, library));
    for (const definition of definitions) {
      registry.register({ ...definition, accessControl: { requiredScopes: rule } });
    }
    registry.register(
      library.root.defineOperation({
        namespace: "node",
        name: "values",
        type: "subscription",
        inputSchema: {} as never,
        outputSchema: {} as never,
        handler: async function* () {
          yield 1 as never;
        },
      }) as never,
    );
    for (const [name, steps] of Object.entries(nodes)) {
      const handler = async (_: unknown, context: OperationContext) => {
        const results = [];
        for (const step of steps) {
          const made = () => makeCall(step, context, definitions, registry, library);
          results.push(step.catches ? await outcomeOf(made) : await made());
        }
        const { requestId, parentRequestId, identity, metadata, deadline, signal } = context;
        return {
          results,
          requestId,
          parentRequestId,
          identity,
          metadata,
          deadline: deadline !== undefined,
          aborted: signal.aborted,
        };
      };
      registry.register(
        library.root.defineOperation({
          namespace: "node",
          name,
          type: "mutation",
          inputSchema: {} as never,
          outputSchema: {} as never,
          handler: handler as never,
        }) as never,
      );
    }
    const outcome = await outcomeOf(() => registry.execute("node.one", {}, options as never));
    return { outcome, events };
  },
});

function makeCall(
  step: Step,
  context: OperationContext,
  definitions: IOperationDefinition[],
  registry: InstanceType<Library["root"]["OperationRegistry"]>,
  { root }: Library,
): Promise<unknown> {
  const { target, input, options } = step;
  const [namespace, name] = [target.slice(0, target.indexOf(".")), target.slice(target.indexOf(".") + 1)];
  switch (step.with) {
    case "env":
      return (context.env[namespace]?.[name] ?? context.call.bind(context, target))(input, options);
    case "definition":
      return context.call((definitions.find((one) => idOf(one) === target) ?? target) as string, input, options);
    case "copy":
      return { ...context }.call(target, input, options);
    case "buildEnv": {
      const env = root.buildEnv({ registry, context } as never);
      return env[namespace]![name]!(input, options);
    }
    default:
      return context.call(target, input, options);
  }
}

const moments = ["before", "during", "never"] as const;

export const ending = defineKind({
  name: "ending",
  weight: 4,
  generate: (random) => ({
    defaultTimeout: random.pick([undefined, undefined, 60]),
    signal: random.pick([...moments, "none"] as const),
    reason: random.pick<unknown>([undefined, "stop", { code: 1 }, "an error"]),
    time: random.pick<Record<string, unknown>>([
      {},
      {},
      { timeout: 60 },
      { timeout: 60_000 },
      { timeout: Number.POSITIVE_INFINITY },
      { timeout: -1 },
      { timeout: "5" },
      { timeout: 0 },
      { deadline: "past" },
      { deadline: "soon" },
      { deadline: "far" },
      { deadline: 5_000 },
      { deadline: Number.NaN },
      { deadline: 0 },
      { signal: {} },
    ]),
    handler: random.pick([
      "returns",
      "waits for the signal",
      "waits and returns",
      "throws the reason",
      "nests",
      "is synchronous",
    ] as const),
    caller: random.pick(["execute", "client", "envelope"] as const),
  }),
  run: async ({ defaultTimeout, signal, reason, time, handler, caller }, { root }) => {
    const registry = new root.OperationRegistry({
      log: false,
      ...(defaultTimeout !== undefined && { defaultTimeout }),
    });
    const events: unknown[] = [];
    registry.on("call", (event) => events.push(event));
    const controller = new AbortController();
    const cause = reason === "an error" ? new Error("The reason") : reason;
    const seen: unknown[] = [];
    const untilAborted = (context: OperationContext) =>
      new Promise<void>((resolve) => context.signal.addEventListener("abort", () => resolve(), { once: true }));
    const start = () => {
      if (signal === "during") setTimeout(() => controller.abort(cause), 5);
    };
    const endsByTime = defaultTimeout !== undefined || time["timeout"] === 60 || time["deadline"] === "soon";
    const endsInTime =
      signal === "during" || defaultTimeout !== undefined || time["timeout"] === 60 || time["deadline"] === "soon";
    const act = async (context: OperationContext, isNested = false): Promise<unknown> => {
      start();
      // Two calls that end at the same deadline would end in any order.
      if (handler === "nests" && !isNested && !endsByTime) return outcomeOf(() => context.call("test.inner", {}));
      if (!endsInTime || handler === "returns") return "returned";
      await untilAborted(context);
      seen.push({ aborted: context.signal.reason });
      if (handler === "waits and returns") return "late";
      throw context.signal.reason;
    };
    const part = { namespace: "test", type: "mutation", inputSchema: {} as never, outputSchema: {} as never } as const;
    registry.register(
      root.defineOperation({
        ...part,
        name: "inner",
        handler: (async (_: unknown, context: OperationContext) => act(context, true)) as never,
      }) as never,
    );
    registry.register(
      root.defineOperation({
        ...part,
        name: "outer",
        handler: ((_: unknown, context: OperationContext) =>
          handler === "is synchronous" ? "now" : act(context)) as never,
      }) as never,
    );
    if (signal === "before") controller.abort(cause);
    const deadlines: Record<string, number> = {
      past: Date.now() - 10,
      soon: Date.now() + 60,
      far: Date.now() + 60_000,
    };
    const options: Record<string, unknown> = { ...(signal !== "none" && { signal: controller.signal }), ...time };
    if (typeof options["deadline"] === "string") options["deadline"] = deadlines[options["deadline"]];
    const client = registry.client() as never as Record<
      string,
      Record<string, { (...all: unknown[]): unknown; envelope(...all: unknown[]): unknown }>
    >;
    const outcome = await outcomeOf(() => {
      if (caller === "execute") return registry.execute("test.outer", {}, options as never);
      const outer = client["test"]!["outer"]!;
      return caller === "client" ? outer({}, options) : outer.envelope({}, options);
    });
    await new Promise((resolve) => setTimeout(resolve, 1));
    return { outcome, seen, events };
  },
});

export const client = defineKind({
  name: "client",
  weight: 5,
  generate: (random) => {
    const operations = anyOperations(random, 4);
    return {
      operations,
      pages: random.integer(0, 3),
      calls: Array.from({ length: 5 }, () => {
        const operation = random.pick(operations);
        return {
          ...(random.chance(0.9)
            ? { namespace: operation.namespace, name: operation.name }
            : { namespace: random.pick(["nowhere", "task"]), name: random.pick(["creat", "then", "toString", "x"]) }),
          input: anyInput(random, operation.inputSchema),
          as: random.pick(["data", "envelope", "iterate", "isError"] as const),
        };
      }),
    };
  },
  run: async ({ operations, pages, calls }, library) => {
    const { root } = library;
    const registry = root.createRegistry({
      operations: operations.map((one) => define(one, library)) as never[],
      log: false,
    });
    registry.register(
      root.defineOperation({
        namespace: "page",
        name: "list",
        type: "query",
        inputSchema: root.Type.Object({ page: root.Type.Integer({ default: 0 }) }),
        outputSchema: root.Type.Object({ page: root.Type.Integer() }),
        handler: ({ page }) => ({ page }),
        nextPage: ({ page }) => (page < pages ? { page: page + 1 } : undefined),
      }) as never,
    );
    const client = registry.client({ identity: { id: "ada", scopes: ["read"] } }) as never as Record<
      string,
      Record<string, CallAny>
    >;
    const outcomes = [];
    for (const { namespace, name, input, as } of calls) {
      outcomes.push(await outcomeOf(() => use(client[namespace]![name]!, input, as)));
    }
    const list = client["page"]!["list"]!;
    const listed = await outcomeOf(async () => {
      const found = [];
      for await (const page of list.pages({})) found.push(page);
      return found;
    });
    return { outcomes, listed, names: [Object.keys(client), String(client["task"])] };
  },
});

interface CallAny {
  (input: unknown): Promise<unknown> & AsyncIterable<unknown>;
  envelope(input: unknown): Promise<unknown> & AsyncIterable<unknown>;
  isError(error: unknown, code: string): boolean;
  pages(input: unknown): AsyncIterable<unknown>;
}

async function use(call: CallAny, input: unknown, as: "data" | "envelope" | "iterate" | "isError"): Promise<unknown> {
  switch (as) {
    case "data":
      return call(input);
    case "envelope":
      return call.envelope(input);
    case "iterate": {
      const values = [];
      for await (const value of call(input)) values.push(value);
      return values;
    }
    default:
      return outcomeOf(() => call(input)).then((outcome) =>
        call.isError((outcome as { thrown?: unknown }).thrown, "TAKEN"),
      );
  }
}

export const single = defineKind({
  name: "call",
  weight: 6,
  generate: (random) => {
    const operation = anyOperation(random, { type: random.pick(["query", "mutation"]) });
    return {
      operation,
      inputs: Array.from({ length: 3 }, () => anyInput(random, operation.inputSchema)),
      wrongType: random.chance(0.1),
    };
  },
  run: async ({ operation, inputs, wrongType }, library) => {
    const registry = new library.root.OperationRegistry({ log: false });
    registry.register(define(operation, library));
    const id = idOf(operation);
    const results = [];
    for (const input of inputs) results.push(await outcomeOf(() => registry.execute(id, input)));
    const wrong = wrongType ? await outcomeOf(() => registry.subscribe(id, inputs[0]).next()) : undefined;
    return { results, wrong, unknown: await outcomeOf(() => registry.execute(`${id}x`)), spec: registry.getSpec(id) };
  },
});
