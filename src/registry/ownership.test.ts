import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  type Following,
  type OperationContext,
  OperationRegistry,
  type OperationSource,
  type SourceReport,
  subscribe,
} from "../index.ts";
import { countCases } from "../internal/testing.ts";
import { deferred, operation } from "./testing.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** An operation that returns `answer`. */
function answering(id: string, answer: string, overrides: Parameters<typeof operation>[0] = {}) {
  const [namespace = "", name = ""] = id.split(".");
  return operation({ namespace, name, handler: () => answer, ...overrides });
}

/** An operation whose handler calls the operation that its input names. */
function caller(id: string) {
  return answering(id, "", { handler: (input: unknown, { call }: OperationContext) => call(input as string) });
}

/** A source whose peers the test plays. */
function createPeers(name = "peers") {
  let listener: Parameters<NonNullable<OperationSource["onChange"]>>[0] | undefined;
  const served = new Map<string, ReturnType<typeof operation>>();
  const source: OperationSource = {
    name,
    traits: { foreignIds: true },
    load: async () => [...served.values()],
    onChange(next) {
      listener = next;
      return () => {
        listener = undefined;
      };
    },
    async close() {},
  };
  const announce = (id: string, overrides = {}) => {
    const definition = answering(id, name, overrides);
    const key = served.has(id) ? "changed" : "added";
    served.set(id, definition);
    listener?.({ added: [], changed: [], removed: [], [key]: [definition] });
  };
  const leave = (id: string) => {
    if (served.delete(id)) listener?.({ added: [], changed: [], removed: [id] });
  };
  return { source, announce, leave };
}

/** A source of this process, which is loaded when `loading` settles. */
function createOwn(...ids: string[]) {
  const loading = deferred();
  const source: OperationSource = {
    name: "own",
    load: async () => {
      await loading.promise;
      return ids.map((id) => answering(id, "own"));
    },
    async close() {},
  };
  return { source, loading };
}

/** Data of a call, or the code of its error or of the error of its nested call. */
async function resultOf(registry: OperationRegistry, id: string, input: unknown = {}): Promise<unknown> {
  return registry.execute(id, input).then(
    ({ data }) => data,
    ({ code, details }) => details?.nested?.code ?? code,
  );
}

/** Collects the skipped items and warnings of a source. */
function collectReports() {
  const items: Array<[string, string]> = [];
  const onReport = ({ skipped, warnings }: SourceReport) => {
    for (const { where, reason } of [...skipped, ...warnings]) items.push([where, reason]);
  };
  return { items, onReport };
}

const reserved = (namespace: string) =>
  `The namespace "${namespace}" is reserved for another source. Set "namespace" to import it under another one.`;

describe("peers cannot use", () => {
  test("a namespace that another source has, or has had", async () => {
    const registry = new OperationRegistry();
    const { source, announce } = createPeers();
    const { items, onReport } = collectReports();
    announce("task.create");
    announce("crew.list");
    await registry.follow(source, { onReport });
    const own = createOwn("task.create");
    own.loading.resolve();

    const results = [await resultOf(registry, "task.create")];
    const following = await registry.follow(own.source);
    announce("task.more");
    results.push(await resultOf(registry, "task.create"), await resultOf(registry, "task.more"));
    await following.close();
    announce("task.create", { version: "2.0.0" });
    results.push(await resultOf(registry, "task.create"), await resultOf(registry, "crew.list"));

    expect(results).toEqual(["peers", "own", "OPERATION_NOT_FOUND", "OPERATION_NOT_FOUND", "peers"]);
    expect(items).toEqual(
      ["task.create", "task", "task.more", "task", "task.create", "task"].map((where) => [where, reserved("task")]),
    );
  });

  test("a namespace in the options of another source before that is loaded, also if loading fails", async () => {
    const registry = new OperationRegistry({ log: false });
    const { source, announce } = createPeers();
    for (const id of ["task.create", "crew.list"]) announce(id);
    await registry.follow(source);
    const own = createOwn();

    const following = registry.follow(own.source, { namespace: "task" });
    const ids = [registry.list().map(({ namespace }) => namespace)];
    own.loading.reject(new Error("It is not there."));
    await expect(following).rejects.toThrow("It is not there.");
    announce("task.list");

    expect([...ids, registry.list().map(({ namespace }) => namespace)]).toEqual([["crew"], ["crew"]]);
  });

  test("the namespace that the program sets for other peers, who keep it to themselves", async () => {
    const registry = new OperationRegistry({ log: false });
    const [fleet, crew] = [createPeers("fleet"), createPeers("crew")];
    await registry.follow(crew.source);
    await registry.follow(fleet.source, { namespace: "fleet" });

    crew.announce("fleet.list");
    const results = [await resultOf(registry, "fleet.list")];
    fleet.announce("hub.list");
    results.push(await resultOf(registry, "fleet.list"));
    const own = createOwn("fleet.own");
    own.loading.resolve();
    await registry.follow(own.source);

    expect([...results, await resultOf(registry, "fleet.list")]).toEqual([
      "OPERATION_NOT_FOUND",
      "fleet",
      "OPERATION_NOT_FOUND",
    ]);
  });

  test("an id that they announced before, even if its last change was invalid", async () => {
    const registry = new OperationRegistry({ log: false });
    const { source, announce } = createPeers();
    announce("task.create");
    await registry.follow(source, { accessControl: { requiredScopes: [], requiredScopesAny: ["a"] } });
    announce("task.create", { accessControl: { requiredScopes: [], requiredScopesAny: ["b"] } });
    const own = createOwn("task.create");
    own.loading.resolve();
    await registry.follow(own.source);

    expect(await resultOf(registry, "task.create")).toBe("own");
  });
});

describe("operations of peers", () => {
  test("serve an id that the program removes, but not nested calls of operations that were registered before", async () => {
    const registry = new OperationRegistry();
    const { source, announce } = createPeers();
    announce("task.create");
    await registry.follow(source);
    registry.register(caller("test.early"));
    registry.register(answering("task.create", "program"));
    const callAll = () =>
      Promise.all([
        resultOf(registry, "task.create"),
        ...["test.early", "test.late"].map((id) => resultOf(registry, id, "task.create")),
      ]);

    const results = [await callAll()];
    registry.unregister("task.create");
    registry.replace(caller("test.early"));
    registry.register(caller("test.late"));
    results.push(await callAll());

    expect(results).toEqual([
      ["program", "program", "OPERATION_NOT_FOUND"],
      ["peers", "OPERATION_NOT_FOUND", "peers"],
    ]);
  });

  test("are registered after the first attempt of the sources that are loading", async () => {
    const registry = new OperationRegistry({ log: false });
    const { source, announce } = createPeers();
    announce("task.create");
    announce("crew.list");
    const events: string[] = [];
    registry.on("change", ({ operationId }) => events.push(operationId));
    const [own, failing] = [createOwn("task.create"), createOwn()];

    const following = [registry.follow(own.source), registry.follow(failing.source), registry.follow(source)];
    own.loading.resolve();
    await following[0];
    announce("crew.more");
    expect(events).toEqual(["task.create"]);
    failing.loading.reject(new Error("It is not there."));
    await Promise.allSettled(following);

    expect(events).toEqual(["task.create", "crew.list", "crew.more"]);
    expect(await resultOf(registry, "task.create")).toBe("own");
  });

  test("are registered after 10 s if another source hangs, and not after the registry was closed", async () => {
    vi.useFakeTimers();
    const [registry, closed] = [new OperationRegistry({ log: false }), new OperationRegistry({ log: false })];
    const peers = createPeers();
    peers.announce("task.create");
    for (const one of [registry, closed]) one.follow(createOwn("task.create").source).catch(() => {});
    const following = registry.follow(peers.source);
    const refused = closed.follow(createPeers().source);
    const closing = closed.close();

    await expect(refused).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await vi.advanceTimersByTimeAsync(9_999);
    const before = registry.has("task.create");
    await vi.advanceTimersByTimeAsync(1);
    await following;

    expect([before, registry.has("task.create")]).toEqual([false, true]);
    await closing;
  });

  test("are withheld from nested subscriptions too", async () => {
    vi.useFakeTimers();
    const registry = new OperationRegistry({ log: false });
    const { source, announce } = createPeers();
    announce("crew.ticks", { type: "subscription", handler: async function* () {} });
    registry.register(
      answering("test.early", "", {
        handler: (_: unknown, context: OperationContext) => subscribe(registry, "crew.ticks", {}, context).next(),
      }),
    );
    registry.follow(createOwn().source).catch(() => {});
    const following = registry.follow(source);
    await vi.advanceTimersByTimeAsync(10_000);
    await following;

    const direct = await subscribe(registry, "crew.ticks", {}).next();
    expect([direct.done, await resultOf(registry, "test.early")]).toEqual([true, "UNAVAILABLE"]);
  });

  test("are withheld from nested calls of earlier operations while a source has never loaded, which is reported", async () => {
    vi.useFakeTimers();
    const registry = new OperationRegistry();
    const [peers, assigned] = [createPeers(), createPeers("assigned")];
    const { items, onReport } = collectReports();
    registry.register(caller("test.early"));
    const own = createOwn("task.own");
    const loading = registry.follow(own.source);
    const following = [
      registry.follow(peers.source, { onReport }),
      registry.follow(assigned.source, { namespace: "far" }),
    ];
    await vi.advanceTimersByTimeAsync(10_000);
    await Promise.all(following);
    for (const id of ["crew.list", "crew.stop"]) peers.announce(id);
    assigned.announce("crew.list");
    registry.register(caller("test.late"));
    peers.leave("crew.list");
    peers.announce("crew.list");
    peers.announce("crew.more");
    registry.replace(caller("test.early"));
    const callAll = () =>
      Promise.all([
        ...["crew.list", "far.list"].map((id) => resultOf(registry, "test.early", id)),
        ...["crew.list", "crew.more"].map((id) => resultOf(registry, "test.late", id)),
        resultOf(registry, "crew.more"),
      ]);

    const results = [await callAll()];
    own.loading.resolve();
    await loading;
    results.push(await callAll());

    expect(results).toEqual([
      ["UNAVAILABLE", "assigned", "peers", "UNAVAILABLE", "peers"],
      ["peers", "assigned", "peers", "peers", "peers"],
    ]);
    expect(new Set(items.map(String))).toEqual(
      new Set([
        'nested calls,Operations that were registered earlier cannot call those of this source until every source has loaded, because one that has never loaded may own their ids. Set "namespace" to allow these calls.',
      ]),
    );
  });
});

const ids = ["a.x", "b.x", "free.p", "far.x"] as const;
type Id = (typeof ids)[number];

/** What happens to a registry. The source of this process has the namespace `a`, and `b` after a restart. */
const step = fc.oneof(
  fc.record({
    kind: fc.constantFrom("load", "succeed", "fail", "restart", "program", "remove", "caller", "version" as const),
  }),
  fc.record({ kind: fc.constantFrom("announce", "leave" as const), id: fc.constantFrom(...ids) }),
);

/** An operation that makes nested calls. */
interface Caller {
  /** The ids that peers had served when it was registered. */
  readonly served: ReadonlySet<Id>;
  /** The ids that the program has removed since. */
  readonly removed: Set<Id>;
}

/** A registry that a schedule runs against, and what it must do. */
class Schedule {
  readonly #registry = new OperationRegistry({ log: false });
  readonly #peers = createPeers();
  readonly #callers: Caller[] = [];
  /** The ids that peers announce now, and those that they have served. */
  readonly #announced = new Set<Id>();
  readonly #served = new Set<Id>();
  /** The ids of this process that are registered, and the namespaces that belong to it. */
  readonly #present = new Set<Id>();
  readonly #owned = new Set<string>();
  #namespace: "a" | "b" = "a";
  #attempt: (ReturnType<typeof createOwn> & { following: Promise<Following> }) | undefined = undefined;
  #following: Following | undefined = undefined;

  async start(): Promise<void> {
    await this.#registry.follow(this.#peers.source);
    this.addCaller();
  }

  async run({ kind, id }: { kind: string; id?: Id }): Promise<void> {
    if (kind === "load") this.#load();
    else if (kind === "succeed" || kind === "fail") await this.#settle(kind === "succeed");
    else if (kind === "restart") await this.#restart();
    else if (kind === "program") this.#addOfProgram();
    else if (kind === "remove") this.#removeOfProgram();
    else if (kind === "caller") this.addCaller();
    // Another version of an operation may not call more than the one before.
    else if (kind === "version") this.#registry.replace(caller("test.0"));
    else this.#announce(id!, kind === "announce");
    for (const one of this.#announced) if (!this.#isOwned(one)) this.#served.add(one);
  }

  addCaller(): void {
    if (this.#callers.length === 3) return;
    this.#registry.register(caller(`test.${this.#callers.length}`));
    this.#callers.push({ served: new Set(this.#served), removed: new Set() });
  }

  /** Makes every call, directly and from every caller. */
  async check(): Promise<void> {
    for (const id of ids) {
      expect(await resultOf(this.#registry, id)).toBe(this.#expected(id));
      for (const [index, known] of this.#callers.entries()) {
        expect(await resultOf(this.#registry, `test.${index}`, id)).toBe(this.#expected(id, known));
      }
    }
  }

  async end(): Promise<void> {
    await this.#settle(false);
    await this.#registry.close();
  }

  #expected(id: Id, caller?: Caller): string {
    if (this.#present.has(id)) return "own";
    if (!this.#announced.has(id) || this.#isOwned(id) || caller?.removed.has(id)) return "OPERATION_NOT_FOUND";
    const mayBeOwned = this.#attempt !== undefined && this.#namespace === "a";
    return mayBeOwned && caller?.served.has(id) === false ? "UNAVAILABLE" : "peers";
  }

  #isOwned(id: Id): boolean {
    return this.#owned.has(id.slice(0, id.indexOf(".")));
  }

  #load(): void {
    if (this.#attempt !== undefined || this.#following !== undefined) return;
    const own = createOwn("a.x");
    const options = this.#namespace === "b" ? { namespace: "b" } : {};
    this.#attempt = { ...own, following: this.#registry.follow(own.source, options) };
    if (this.#namespace === "b") this.#owned.add("b");
  }

  async #settle(succeeds: boolean): Promise<void> {
    if (this.#attempt === undefined) return;
    const { loading, following } = this.#attempt;
    this.#attempt = undefined;
    if (succeeds) loading.resolve();
    else loading.reject(new Error("It is not there."));
    this.#following = await following.catch(() => undefined);
    if (!succeeds) return;
    this.#owned.add(this.#namespace);
    this.#present.add(`${this.#namespace}.x`);
  }

  async #restart(): Promise<void> {
    if (this.#following === undefined) return;
    await this.#following.close();
    this.#following = undefined;
    this.#present.delete(`${this.#namespace}.x`);
    this.#namespace = "b";
    this.#load();
  }

  #addOfProgram(): void {
    this.#registry.replace(answering("free.p", "own"));
    this.#present.add("free.p");
  }

  #removeOfProgram(): void {
    if (!this.#present.delete("free.p")) return;
    this.#registry.unregister("free.p");
    for (const { removed } of this.#callers) removed.add("free.p");
  }

  #announce(id: Id, isServed: boolean): void {
    if (!isServed) this.#peers.leave(id);
    else if (!this.#announced.has(id)) this.#peers.announce(id);
    if (isServed) this.#announced.add(id);
    else this.#announced.delete(id);
  }
}

test("in every schedule, peers never serve what belongs to this process, and nothing else is refused", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
      const schedule = new Schedule();
      await schedule.start();
      for (const one of steps) {
        await schedule.run(one);
        await schedule.check();
      }
      await schedule.end();
    }),
    { numRuns: countCases(300) },
  );
});
