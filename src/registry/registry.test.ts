import { Type } from "typebox";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import type { OperationSource, SourceChange } from "../from/source.ts";
import { type CallError, mcpEnvelope, type OperationContext } from "../operation/index.ts";
import { createRegistry, OperationRegistry, subscribe } from "./index.ts";
import { deferred, operation, subscription } from "./testing.ts";
import type { ChangeEvent, RegistryCallEvent } from "./types.ts";

describe("registering", () => {
  test("an id can be registered once; replace replaces it", async () => {
    const registry = new OperationRegistry();
    registry.register(operation({ handler: async () => "old" }));

    expect(() => registry.register(operation())).toThrow(/"test.echo" is registered already. Use replace/);
    registry.replace(operation({ handler: async () => "new" }));

    expect((await registry.execute("test.echo", {})).data).toBe("new");
  });

  test("running calls keep the replaced operation", async () => {
    const release = deferred<string>();
    const registry = new OperationRegistry();
    registry.register(operation({ handler: () => release.promise, outputSchema: Type.String() }));

    const answer = registry.execute("test.echo", {});
    registry.replace(operation({ outputSchema: Type.Number() }));
    release.resolve("old");

    expect((await answer).data).toBe("old");
    expect((await answer).meta.drift).toBeUndefined();
  });

  test("registerAll adds all or none", () => {
    const registry = new OperationRegistry();

    const clash = [operation({ name: "a" }), operation({ name: "b" }), operation({ name: "a" })];
    expect(() => registry.registerAll(clash)).toThrow(/"test.a"/);

    expect(registry.list()).toEqual([]);
  });

  test("a spec can receive its handler later, and only once", async () => {
    const registry = new OperationRegistry();
    const { handler, ...spec } = operation();
    registry.registerSpec(spec);
    registry.registerHandler("test.echo", handler);

    expect((await registry.execute("test.echo", 7)).data).toBe(7);
    expect(() => registry.registerHandler("test.echo", handler)).toThrow(/has a handler already/);
    expect(() => registry.registerHandler("test.ecco", handler)).toThrow(/Did you mean "test.echo"/);
  });

  test("a Standard Schema transforms the input, also when the handler is registered later", async () => {
    const inputSchema = z.object({ n: z.string().transform(Number) });
    const { handler, ...spec } = operation({ inputSchema });
    const registry = new OperationRegistry();
    registry.registerSpec(spec);
    registry.registerHandler("test.echo", handler);

    expect((await registry.execute("test.echo", { n: "7" })).data).toEqual({ n: 7 });
    await expect(registry.execute("test.echo", { n: 7 })).rejects.toMatchObject({ code: "VALIDATION_ERROR" });
    expect(JSON.parse(JSON.stringify(registry.getSpec("test.echo")!.inputSchema))).toMatchObject({ type: "object" });
  });

  test("a refinement of a Standard Schema is checked, and its path is reported", async () => {
    const inputSchema = z.object({ n: z.number().refine(async (n) => n % 2 === 0, "must be even") });
    const registry = new OperationRegistry();
    registry.register(operation({ inputSchema }));

    expect((await registry.execute("test.echo", { n: 2 })).data).toEqual({ n: 2 });
    await expect(registry.execute("test.echo", { n: 3 })).rejects.toMatchObject({
      code: "VALIDATION_ERROR",
      details: { errors: [{ path: "/n", message: "must be even" }], total: 1 },
    });
  });

  test("a spec parsed from its JSON behaves the same", async () => {
    const schema = Type.Object({ n: Type.Number({ default: 1 }), list: Type.Optional(Type.Array(Type.String())) });
    const original = new OperationRegistry();
    original.register(operation({ inputSchema: schema, outputSchema: schema }));
    const copy = new OperationRegistry();
    copy.registerSpec(JSON.parse(JSON.stringify(original.getSpec("test.echo"))));
    copy.registerHandler("test.echo", (input: unknown) => input);

    for (const input of [{}, { n: "2" }, { n: 2, extra: 1 }, { n: 1, list: ["a"] }, 7]) {
      const outcomes = [original, copy].map((registry) =>
        registry.execute("test.echo", input).then(
          ({ data, meta }) => ({ data, drift: meta.drift }),
          (error: CallError) => error.toJSON(),
        ),
      );
      const [expected, actual] = await Promise.all(outcomes);
      expect(actual).toEqual(expected);
    }
  });

  test.each([
    [{ namespace: "a.b" }, /namespace/],
    [{ namespace: "" }, /namespace/],
    [{ name: "a\nb" }, /name/],
    [{ handler: undefined as never }, /handler/],
    [{ inputSchema: 7 as never }, /inputSchema/],
    [{ type: "other" as never }, /type/],
  ])("%j is refused, and the error names the field", (overrides, message) => {
    expect(() => new OperationRegistry().register(operation(overrides))).toThrow(message);
  });

  test("names may contain dots and all printable characters", async () => {
    const registry = new OperationRegistry();
    registry.register(operation({ name: "users/get.all v2 (ü)" }));

    expect((await registry.execute("test.users/get.all v2 (ü)", 1)).data).toBe(1);
  });

  test("lists and finds operations", () => {
    const registry = new OperationRegistry();
    const definition = operation({ tags: ["a"] });
    registry.register(definition);

    const { handler, ...spec } = definition;
    expect(registry.list()).toEqual([definition]);
    expect(registry.get("test.echo")).toEqual(definition);
    expect(registry.getByName("test", "echo")).toEqual(definition);
    expect(registry.getSpec("test.echo")).toEqual(spec);
    expect(registry.getAllSpecs()).toEqual([spec]);
    expect(registry.getHandler("test.echo")).toBe(handler);
    expect([registry.has("test.echo"), registry.has("test.nope"), registry.get("nope")]).toEqual([
      true,
      false,
      undefined,
    ]);
    expect([registry.unregister("test.echo"), registry.unregister("test.echo")]).toEqual([true, false]);
    expect(registry.getByName("test", "echo")).toBeUndefined();
  });

  test("lazy schemas are not created until a call needs them", async () => {
    const made = vi.fn(() => Type.Unknown());
    const read = vi.fn();
    const { inputSchema: _i, outputSchema: _o, ...rest } = operation();
    const registry = new OperationRegistry();
    registry.register({
      ...rest,
      get inputSchema() {
        return made();
      },
      get outputSchema() {
        return made();
      },
      get errorSchemas() {
        read("errorSchemas");
        return [{ code: "HTTP_404", schema: Type.Unknown() }];
      },
      get _meta() {
        read("_meta");
        return { from: "elsewhere" };
      },
      get nextPage() {
        read("nextPage");
        return undefined;
      },
    });

    registry.list();
    registry.get("test.echo");
    registry.search("echo");
    expect(made).not.toHaveBeenCalled();
    expect(read).not.toHaveBeenCalled();

    expect((await registry.execute("test.echo", 1)).data).toBe(1);
    expect(made).toHaveBeenCalled();
    expect(registry.getSpec("test.echo")).toMatchObject({
      errorSchemas: [{ code: "HTTP_404" }],
      _meta: { from: "elsewhere" },
    });
  });
});

describe("events", () => {
  test("changes are emitted immediately", () => {
    const registry = new OperationRegistry();
    const events: ChangeEvent[] = [];
    const stop = registry.on("change", (event) => events.push(event));

    registry.register(operation());
    registry.replace(operation({ version: "2.0.0" }));
    registry.unregister("test.echo");
    stop();
    registry.register(operation());

    expect(events.map(({ kind, operationId, spec }) => [kind, operationId, spec.version])).toEqual([
      ["added", "test.echo", "1.0.0"],
      ["changed", "test.echo", "2.0.0"],
      ["removed", "test.echo", "2.0.0"],
    ]);
  });

  test("calls are emitted with their parents, progress and outcome, including denied ones", async () => {
    const registry = createRegistry({
      operations: [
        operation({ name: "inner", handler: async () => "x" }),
        operation({
          name: "outer",
          handler: async (_: unknown, context: OperationContext) => {
            context.progress({ progress: 1 });
            return (await context.env["test"]!["inner"]!()).data;
          },
        }),
        operation({ name: "closed", accessControl: { requiredScopes: ["admin"] } }),
      ],
    });
    const events: RegistryCallEvent[] = [];
    registry.on("call", (event) => events.push(event));

    await registry.execute("test.outer", {}, { identity: { id: "ada", scopes: [] }, requestId: "r1" });
    await registry.execute("test.closed", {}).catch(() => {});

    expect(events.map(({ kind, operationId, parentRequestId }) => [kind, operationId, parentRequestId])).toEqual([
      ["started", "test.outer", undefined],
      ["progressed", "test.outer", undefined],
      ["started", "test.inner", "r1"],
      ["succeeded", "test.inner", "r1"],
      ["succeeded", "test.outer", undefined],
      ["started", "test.closed", undefined],
      ["failed", "test.closed", undefined],
    ]);
    expect(events[0]).toMatchObject({ requestId: "r1", identity: { id: "ada" } });
    expect(events[4]).toMatchObject({ duration: expect.any(Number), envelope: { data: "x" } });
    expect(events[6]).toMatchObject({ error: { code: "ACCESS_DENIED" } });
  });

  test("a subscription emits each value with its number", async () => {
    const registry = new OperationRegistry();
    registry.register(
      subscription(async function* () {
        yield "a";
        yield "b";
      }),
    );
    const events: RegistryCallEvent[] = [];
    registry.on("call", (event) => events.push(event));

    for await (const _ of subscribe(registry, "test.ticks", {}));

    expect(events.map((event) => [event.kind, "seq" in event ? event.seq : undefined])).toEqual([
      ["started", undefined],
      ["yielded", 0],
      ["yielded", 1],
      ["succeeded", undefined],
    ]);
  });

  test("a listener that throws does not affect calls", async () => {
    const registry = new OperationRegistry();
    registry.register(operation());
    const heard = vi.fn();
    registry.on("call", () => {
      throw new Error("listener");
    });
    registry.on("call", heard);

    expect((await registry.execute("test.echo", 1)).data).toBe(1);
    expect(heard).toHaveBeenCalledTimes(2);
  });
});

describe("a client", () => {
  test("returns data, envelopes and values of subscriptions by name", async () => {
    const registry = new OperationRegistry();
    registry.registerAll([
      operation(),
      subscription(async function* () {
        yield 1;
        yield 2;
      }),
    ]);
    const client = registry.client();

    expect(await client["test"]!["echo"]!("hi")).toBe("hi");
    expect(await client["test"]!["echo"]!.envelope("hi")).toMatchObject({ data: "hi", meta: { source: "local" } });
    const values: unknown[] = [];
    for await (const value of client["test"]!["ticks"]!({})) values.push(value);
    expect(values).toEqual([1, 2]);
  });

  test("passes its identity, and merges the options of each call", async () => {
    const registry = new OperationRegistry();
    registry.register(
      operation({
        accessControl: { requiredScopes: ["read"] },
        handler: (_: unknown, { identity, metadata }: OperationContext) => [identity?.id, metadata],
      }),
    );
    const client = registry.client({ identity: { id: "ada", scopes: ["read"] }, metadata: { a: 1 } });

    expect(await client["test"]!["echo"]!({})).toEqual(["ada", { a: 1 }]);
    expect(await client["test"]!["echo"]!({}, { metadata: { b: 2 } })).toEqual(["ada", { b: 2 }]);
  });

  test("either signal aborts, and the earlier deadline applies", async () => {
    const registry = new OperationRegistry();
    registry.register(operation({ handler: (_: unknown, { deadline }: OperationContext) => deadline }));
    const later = Date.now() + 60_000;
    const client = registry.client({ signal: AbortSignal.abort(), deadline: later });
    const open = registry.client({ deadline: later });

    await expect(client["test"]!["echo"]!({}, { signal: new AbortController().signal })).rejects.toMatchObject({
      code: "ABORTED",
    });
    expect(await open["test"]!["echo"]!({}, { deadline: later + 1 })).toBe(later);
  });

  test("throws EXECUTION_ERROR for an MCP result that reports an error; envelope() does not", async () => {
    const content = [{ type: "text" as const, text: "no such file" }];
    const registry = new OperationRegistry();
    registry.register(operation({ handler: async () => mcpEnvelope(content, { isError: true, content }) }));
    const { echo } = registry.client()["test"]!;

    await expect(echo!({})).rejects.toMatchObject({
      code: "EXECUTION_ERROR",
      message: "no such file",
      details: { content },
    });
    expect((await echo!.envelope({})).meta).toMatchObject({ isError: true });
  });

  test("iterates the pages of an operation with nextPage", async () => {
    const registry = new OperationRegistry();
    registry.register(
      operation({
        handler: async ({ page }: { page: number }) => ({ page, last: page === 3 }),
        nextPage: ({ page }: { page: number }, { data }) => (data.last ? undefined : { page: page + 1 }),
      }),
    );
    const { echo } = registry.client()["test"]!;

    const pages: unknown[] = [];
    for await (const { data } of echo!.pages({ page: 1 })) pages.push((data as { page: number }).page);

    expect(pages).toEqual([1, 2, 3]);
  });

  test("suggests the nearest name, and can be awaited and inspected like any object", async () => {
    const registry = new OperationRegistry();
    registry.register(operation());
    const client = registry.client();

    await expect(client["test"]!["ecco"]!({})).rejects.toMatchObject({ message: expect.stringContaining("test.echo") });
    expect(await (async () => client)()).toBe(client);
    expect(await (async () => client["test"])()).toBe(client["test"]);
    expect(Object.keys(client)).toEqual(["test"]);
    expect(client["constructor"]).toBeUndefined();
  });
});

describe("following a source", () => {
  function source(
    initial: Parameters<typeof operation>[0][],
  ): OperationSource & { change(change: Partial<SourceChange>): void; closed: boolean } {
    let listener: ((change: SourceChange) => void) | undefined;
    return {
      name: "test source",
      closed: false,
      load: async () => initial.map(operation),
      onChange(next) {
        listener = next;
        return () => {
          listener = undefined;
        };
      },
      change: (change) => listener?.({ added: [], changed: [], removed: [], ...change }),
      async close() {
        this.closed = true;
      },
    };
  }

  test("registers, applies changes, and cleans up when closed", async () => {
    const registry = new OperationRegistry();
    const followed = source([{ name: "a" }, { name: "b" }]);
    const following = await registry.follow(followed);
    const ids = () => registry.list().map(({ name }) => name);

    expect(ids()).toEqual(["a", "b"]);
    followed.change({
      added: [operation({ name: "c" })],
      changed: [operation({ name: "a", version: "2" })],
      removed: ["test.b"],
    });
    expect(ids()).toEqual(["a", "c"]);
    expect(registry.getSpec("test.a")?.version).toBe("2");
    await following.close();
    await following.close();
    followed.change({ added: [operation({ name: "d" })] });
    expect(ids()).toEqual([]);
    expect(followed.closed).toBe(true);
  });

  test("never changes operations of the program, and an invalid operation does not affect the others", async () => {
    const registry = new OperationRegistry();
    registry.register(operation({ name: "mine", version: "9" }));
    const followed = source([{ name: "mine" }, { name: "bad\n" }, { name: "good" }]);

    await registry.follow(followed);
    followed.change({ removed: ["test.mine"], changed: [operation({ name: "mine", version: "0" })] });

    expect(registry.getSpec("test.mine")?.version).toBe("9");
    expect(registry.has("test.good")).toBe(true);
  });

  test("a change while loading is not lost", async () => {
    const registry = new OperationRegistry();
    const followed = source([{ name: "a" }]);
    const load = followed.load;
    followed.load = async () => {
      followed.change({ added: [operation({ name: "early" })] });
      return load();
    };

    await registry.follow(followed);

    expect(registry.list().map(({ name }) => name)).toEqual(["a", "early"]);
  });

  test("closing the registry closes its sources and refuses new calls", async () => {
    const registry = new OperationRegistry();
    registry.register(operation({ name: "local" }));
    const followed = source([{ name: "a" }]);
    await registry.follow(followed);

    await registry.close();

    expect(followed.closed).toBe(true);
    await expect(registry.execute("test.local", {})).rejects.toMatchObject({ code: "UNAVAILABLE", mayHaveRun: false });
  });
});
