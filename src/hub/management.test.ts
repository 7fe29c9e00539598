import { setImmediate } from "node:timers/promises";
import { beforeEach, expect, test, vi } from "vitest";
import { defineOperation, type Identity, type OperationContext, Type } from "../operation/index.ts";
import { coreOf, OperationRegistry } from "../registry/inside.ts";
import { findTree } from "./call-queries.ts";
import type { CallRecord } from "./call-records.ts";
import type { HistoryConfig, HubRule } from "./config.ts";
import { type History, openHistory } from "./history.ts";
import { managementOperations, unrecordedOperations } from "./management.ts";
import { RecordLog } from "./record-log.ts";
import { compileRules } from "./rules.ts";

const ada: Identity = { id: "ada", scopes: ["task", "hub:read"] };
const bob: Identity = { id: "bob", scopes: ["task", "hub:read"] };
const admin: Identity = { id: "root", scopes: ["hub:admin"] };
const eve: Identity = { id: "eve", scopes: ["task"] };

const schemas = { inputSchema: Type.Object({ title: Type.Optional(Type.String()) }), outputSchema: Type.Unknown() };
const task = { namespace: "task", ...schemas, accessControl: { requiredScopes: ["task"] } };
const create = defineOperation({
  ...task,
  name: "create",
  type: "mutation",
  description: "Creates a task.",
  errors: { TITLE_TAKEN: Type.Object({ title: Type.String(), apiKey: Type.String() }) },
  handler: ({ title }, { errors }) => {
    if (title === "taken") throw errors.TITLE_TAKEN({ title, apiKey: "sk-details" }, "The title is taken.");
    return { id: "task-1", token: "sk-output" };
  },
});
const createTwo = defineOperation({
  ...task,
  name: "createTwo",
  type: "mutation",
  handler: async (_, { call }) => [await call("task.create", {}), await call("task.create", {})],
});
const hidden = defineOperation({
  ...task,
  name: "hidden",
  type: "query",
  accessControl: { requiredScopes: ["secret"] },
  handler: () => 1,
});

let registry: OperationRegistry;
let history: History;
let reloads: number;

async function start(config?: HistoryConfig, rules: readonly HubRule[] = []): Promise<void> {
  registry = new OperationRegistry({ log: false });
  reloads = 0;
  history = await openHistory(registry, config, {
    ignored: unrecordedOperations,
    sourceOf: (id) => (id.startsWith("task.") ? "tasks" : undefined),
  });
  const source = { name: "tasks", kind: "modules" as const, status: "ready" as const, since: 1, operations: 3 };
  const hub = {
    registry,
    sources: () => [source],
    describe: () => ({ tool: undefined }),
    sourceOf: (id: string) => (id.startsWith("task.") ? "tasks" : undefined),
    reload: async () => {
      reloads += 1;
      return { added: ["a"], restarted: [], removed: [] };
    },
  };
  const management = { name: "hub", load: async () => managementOperations(hub, history), close: async () => {} };
  await coreOf(registry).follow(management, {}, { restrict: compileRules(rules) });
  registry.registerAll([create, createTwo, hidden]);
}

beforeEach(() => start());

async function call<T>(id: string, identity: Identity | undefined, input: object = {}): Promise<T> {
  const { data } = await registry.execute(id, input, identity === undefined ? {} : { identity });
  return data as T;
}

/** A recorded call without its times. */
interface Shown {
  requestId: string;
  operationId: string;
  identity: string;
}

async function callers(id: string, identity: Identity, input: object = {}): Promise<string[]> {
  return (await call<{ calls: Shown[] }>(id, identity, input)).calls.map(
    (shown) => `${shown.identity} ${shown.operationId}`,
  );
}

test("a caller sees its own calls only, and with hub:admin all", async () => {
  await call("task.create", ada);
  await call("task.createTwo", bob);
  expect(await callers("hub.history", ada)).toEqual(["ada task.create"]);
  expect(await callers("hub.history", ada, { identity: "bob" })).toEqual([]);
  expect(await callers("hub.history", bob)).toEqual(["bob task.createTwo", "bob task.create", "bob task.create"]);
  expect(await callers("hub.history", admin)).toEqual([...(await callers("hub.history", bob)), "ada task.create"]);
  expect(await callers("hub.history", admin, { identity: "ada" })).toEqual(["ada task.create"]);
  const stats = async (identity: Identity) => {
    const { calls, groups } = await call<{ calls: number; groups: { key: string }[] }>("hub.stats", identity);
    return [calls, ...groups.map(({ key }) => key)];
  };
  expect(await stats(ada)).toEqual([1, "task.create"]);
  expect(await stats(admin)).toEqual([4, "task.create", "task.createTwo"]);
});

test("without the scopes of the hub, only the operations that a caller may call are shown", async () => {
  for (const id of ["hub.sources", "hub.history", "hub.stats", "hub.reload"]) {
    await expect(call(id, eve)).rejects.toMatchObject({ code: "ACCESS_DENIED" });
    await expect(call(id, undefined)).rejects.toMatchObject({ code: "ACCESS_DENIED" });
  }
  await expect(call("hub.reload", ada)).rejects.toMatchObject({ code: "ACCESS_DENIED" });
  const ids = async (identity: Identity | undefined, input?: object) => {
    type Found = { total: number; operations: { namespace: string; name: string }[] };
    const { total, operations } = await call<Found>("hub.operations", identity, input);
    return [total, ...operations.map(({ namespace, name }) => `${namespace}.${name}`)];
  };
  expect(await ids(undefined)).toEqual([1, "hub.operations"]);
  expect(await ids(eve)).toEqual([3, "task.create", "task.createTwo", "hub.operations"]);
  expect(await ids(eve, { limit: 1 })).toEqual([3, "task.create"]);
  expect(await ids(eve, { query: "create task", limit: 1 })).toEqual([2, "task.create"]);
  expect(await ids(eve, { id: "task.createTwo" })).toEqual([1, "task.createTwo"]);
  expect(await ids(eve, { id: "task.unknown" })).toEqual([0]);
  await expect(ids(eve, { id: "task.hidden" })).rejects.toMatchObject({
    code: "ACCESS_DENIED",
    message: 'Access to "task.hidden" denied: scope "secret" is missing.',
  });
  expect(await ids(eve, { query: "hidden" })).toEqual([0]);
});

test("operations have their published spec and their source", async () => {
  const found = await call("hub.operations", eve, { id: "task.create" });
  const { handler: _handler, errors: _errors, ...spec } = create;
  expect(JSON.parse(JSON.stringify(found))).toEqual({
    operations: [{ ...JSON.parse(JSON.stringify(spec)), source: "tasks", kind: "modules" }],
    total: 1,
  });
  const brief = { namespace: "task", name: "create", version: "1.0.0", type: "mutation" };
  expect(await call("hub.operations", eve, { id: "task.create", brief: true })).toEqual({
    operations: [{ ...brief, description: "Creates a task.", source: "tasks", kind: "modules" }],
    total: 1,
  });
});

test("sources are shown, and the configuration is reloaded", async () => {
  const source = { name: "tasks", kind: "modules", status: "ready", since: 1, operations: 3 };
  expect(await call("hub.sources", ada)).toEqual([source]);
  expect([await call("hub.reload", admin), reloads]).toEqual([{ added: ["a"], restarted: [], removed: [] }, 1]);
});

test("a call is shown with the calls that it made", async () => {
  await registry.execute("task.createTwo", {}, { identity: ada, requestId: "one" });
  type Tree = { calls: (Shown & { id: number; parentRequestId?: string })[]; isCut: boolean };
  const tree = await call<Tree>("hub.call", ada, { requestId: "one" });
  expect(tree.isCut).toBe(false);
  expect(tree.calls.map(({ operationId, parentRequestId }) => [operationId, parentRequestId])).toEqual([
    ["task.createTwo", undefined],
    ["task.create", "one"],
    ["task.create", "one"],
  ]);
  expect(await call("hub.call", admin, { id: tree.calls[0]!.id })).toEqual(tree);
  const error = { code: "CALL_NOT_FOUND" };
  await expect(call("hub.call", admin, {})).rejects.toMatchObject(error);
  await expect(call("hub.call", bob, { requestId: "one" })).rejects.toMatchObject(error);
});

test("calls that a call made are found although their times are rounded", () => {
  const record = (id: number, requestId: string, startedAt: number, duration: number): CallRecord => {
    const parentRequestId = requestId === "root" ? undefined : "root";
    const call = { requestId, parentRequestId, operationId: "task.create", identity: "ada", startedAt, duration };
    const others = { code: undefined, drift: undefined, nested: undefined, values: undefined };
    return { id, ...call, source: undefined, via: "code", from: undefined, status: "succeeded", ...others };
  };
  const records = new RecordLog({ limit: 10, keepMs: Number.POSITIVE_INFINITY });
  // The call started at 102.4 ms and was rounded to 102; the first call that it made seems to end before that.
  // The last call names a call with the same id that has ended.
  const all = [record(1, "early", 100, 1.7), record(2, "late", 103, 1), record(3, "root", 102, 2.6)];
  for (const one of [...all, record(4, "other", 200, 1)]) records.add(one);

  const history = { records, findRunning: () => [], state: { lost: 0 }, onCall: () => () => {} };
  const { calls } = findTree(history, all[2]!, { identity: admin } as OperationContext);
  expect(calls.map(({ requestId }) => requestId)).toEqual(["root", "early", "late"]);
});

test("a running call is shown with the calls below it", async () => {
  let resume = () => {};
  const paused = new Promise<void>((resolve) => {
    resume = resolve;
  });
  registry.registerAll([
    defineOperation({ ...task, name: "wait", type: "query", handler: () => paused.then(() => 1) }),
    defineOperation({
      ...{ ...task, name: "outer", type: "query" },
      handler: async (_, { call }) => [await call("task.create", {}), await call("task.wait", {})],
    }),
  ]);
  const running = registry.execute("task.outer", {}, { identity: ada, requestId: "outer" });
  type Tree = { calls: { id?: number; operationId: string; status: string; nested?: number }[] };
  await vi.waitFor(async () => {
    const { calls } = await call<Tree>("hub.call", ada, { requestId: "outer" });
    expect(calls.map(({ operationId, status, nested }) => [operationId, status, nested])).toEqual([
      ["task.outer", "running", 2],
      ["task.create", "succeeded", undefined],
      ["task.wait", "running", undefined],
    ]);
  });
  await expect(call("hub.call", bob, { requestId: "outer" })).rejects.toMatchObject({ code: "CALL_NOT_FOUND" });
  resume();
  await running;
  const { calls } = await call<Tree>("hub.call", ada, { requestId: "outer" });
  expect(calls.map(({ id, status }) => [id, status])).toEqual([
    [3, "succeeded"],
    [1, "succeeded"],
    [2, "succeeded"],
  ]);
});

test("calls are found by source, way, code, duration and time, page by page", async () => {
  await expect(registry.execute("task.create", { title: "taken" }, { identity: ada })).rejects.toThrow();
  for (let count = 0; count < 4; count++) await call("task.createTwo", ada);
  await expect(call("other.missing", ada)).rejects.toMatchObject({ code: "OPERATION_NOT_FOUND" });
  const find = async (input: object) => {
    const { calls, next } = await call<{ calls: { id: number }[]; next?: number }>("hub.history", ada, input);
    return [...calls.map(({ id }) => id), next];
  };
  expect(await find({ code: "TITLE_TAKEN" })).toEqual([1, undefined]);
  expect(await find({ status: "failed" })).toEqual([14, 1, undefined]);
  expect(await find({ source: "tasks", limit: 2 })).toEqual([13, 12, 12]);
  expect(await find({ source: "tasks", limit: 2, before: 12 })).toEqual([11, 10, 10]);
  expect(await find({ operationId: "task.*", roots: true })).toEqual([13, 10, 7, 4, 1, undefined]);
  expect(await find({ operationId: "task.createTwo", limit: 2 })).toEqual([13, 10, 10]);
  expect(await find({ via: "http" })).toEqual([undefined]);
  expect(await find({ minDuration: 1e6 })).toEqual([undefined]);
  expect(await find({ until: 1 })).toEqual([undefined]);
  expect(await find({ since: Date.now() + 1e6 })).toEqual([undefined]);
});

test("statistics have exact counts, percentiles and a series", async () => {
  await expect(registry.execute("task.create", { title: "taken" }, { identity: ada })).rejects.toThrow();
  await call("task.createTwo", bob);
  await expect(call("made.up", bob)).rejects.toThrow();
  const percentiles = { p50: expect.any(Number), p95: expect.any(Number) };
  const stats = await call<{ since: number; until: number }>("hub.stats", admin, { step: 60_000, by: "identity" });
  expect(stats).toEqual({
    ...{ since: expect.any(Number), until: expect.any(Number), calls: 5, failed: 2, ...percentiles },
    groups: [
      { key: "bob", calls: 4, failed: 1, ...percentiles },
      { key: "ada", calls: 1, failed: 1, ...percentiles },
    ],
    series: expect.any(Array),
    ...{ isComplete: false, history: { lost: 0 } },
  });
  expect([stats.since % 60_000, stats.until % 60_000]).toEqual([0, 0]);
  type Series = { series: { at: number; calls: number }[]; groups: { key: string }[]; isComplete: boolean };
  const own = await call<Series>("hub.stats", ada, { step: 3_600_000, since: Date.now() - 1 });
  expect(own.series.map(({ at, calls }) => [at % 3_600_000, calls])).toEqual([[0, 1]]);
  const one = await call<Series>("hub.stats", admin, { operationId: "task.create*" });
  expect(one.groups.map(({ key }) => key)).toEqual(["task.create", "task.createTwo"]);
  const all = await call<Series>("hub.stats", admin);
  expect(all.groups.map(({ key }) => key)).toContain("(unknown)");
});

test("a caller who chooses the request id of another one sees neither its call nor its input", async () => {
  await start({ payloads: ["task.*"] });
  const both = [ada, bob].map((identity) =>
    registry.execute("task.createTwo", { title: identity.id }, { identity, requestId: "same" }),
  );
  await Promise.all(both);
  for (const { id, ...identity } of [ada, bob]) {
    type Tree = { calls: (Shown & { input: unknown })[] };
    const tree = await call<Tree>("hub.call", { id, ...identity }, { requestId: "same" });
    expect(tree.calls.map((shown) => [shown.identity, shown.input])).toEqual([
      [id, { title: id }],
      [id, {}],
      [id, {}],
    ]);
  }
});

test("calls are recorded with times and codes, and without payloads", async () => {
  await expect(registry.execute("task.create", { title: "taken" }, { identity: ada })).rejects.toThrow();
  await call("task.create", ada);
  const { calls } = await call<{ calls: object[] }>("hub.history", ada);
  const times = { id: expect.any(Number), startedAt: expect.any(Number), duration: expect.any(Number) };
  const shown = { ...times, requestId: expect.any(String), operationId: "task.create", identity: "ada" };
  const common = { ...shown, source: "tasks", via: "code" };
  expect(calls).toEqual([
    { ...common, from: "local", status: "succeeded" },
    { ...common, status: "failed", code: "TITLE_TAKEN" },
  ]);
  expect(await callers("hub.history", ada, { status: "failed" })).toHaveLength(1);
  expect(await callers("hub.history", ada, { operationId: "task.other" })).toEqual([]);
});

test("payloads are recorded where configured, with secrets redacted", async () => {
  await start({ payloads: ["task.create"] });
  await expect(registry.execute("task.create", { title: "taken" }, { identity: ada })).rejects.toThrow();
  await call("task.createTwo", ada, { title: "x" });
  type Payload = { operationId: string; input?: unknown; output?: unknown; error?: unknown };
  const found = await call<{ calls: Payload[] }>("hub.history", ada);
  expect(found.calls.map(({ operationId, input, output, error }) => ({ operationId, input, output, error }))).toEqual([
    { operationId: "task.createTwo" },
    { operationId: "task.create", input: {}, output: { id: "task-1", token: "[redacted]" } },
    { operationId: "task.create", input: {}, output: { id: "task-1", token: "[redacted]" } },
    {
      operationId: "task.create",
      input: { title: "taken" },
      error: { message: "The title is taken.", details: { title: "taken", apiKey: "[redacted]" } },
    },
  ]);
});

test("the message of an unexpected error is recorded for callers with hub:admin only", async () => {
  await start({ payloads: ["task.*"] });
  const fail = () => Promise.reject(new Error("/etc/secret is missing"));
  registry.register(defineOperation({ ...task, name: "fail", type: "query", handler: fail }));
  await expect(call("task.fail", ada)).rejects.toMatchObject({ code: "EXECUTION_ERROR" });
  type Failed = { requestId: string; code: string; input: unknown; error?: unknown };
  const first = async (id: string, identity: Identity, input = {}) =>
    (await call<{ calls: Failed[] }>(id, identity, input)).calls[0];
  const own = await first("hub.history", ada);
  const ownTree = await first("hub.call", ada, { requestId: own!.requestId });
  const all = await first("hub.history", admin);
  expect([own, ownTree]).toEqual([own, own]);
  expect(own).toMatchObject({ code: "EXECUTION_ERROR", input: {} });
  expect(own).not.toHaveProperty("error");
  expect(all).toEqual({ ...own, error: { message: "/etc/secret is missing" } });
});

test("live calls are those of the caller, or all with hub:admin", async () => {
  const read = async (identity: Identity, count: number, input = {}) => {
    const seen: string[] = [];
    const events = registry.subscribe<{ status: string; identity: string }>("hub.calls", input, { identity });
    const first = events.next();
    await setImmediate(); // The handler starts after some microtasks.
    await call("task.create", bob);
    await call("task.create", ada);
    for (let event = await first; ; event = await events.next()) {
      seen.push(`${event.value.data.status} ${event.value.data.identity}`);
      if (seen.length === count) break;
    }
    await events.return?.();
    return seen;
  };
  expect(await read(ada, 2)).toEqual(["running ada", "succeeded ada"]);
  expect(await read(admin, 4)).toEqual(["running bob", "succeeded bob", "running ada", "succeeded ada"]);
  expect(await read(admin, 2, { operationId: "task.create" })).toEqual(["running bob", "succeeded bob"]);
});

test("a reader of live calls that is too slow fails, and one that leaves is forgotten", async () => {
  const events = registry.subscribe("hub.calls", {}, { identity: admin });
  const first = events.next();
  await setImmediate(); // The handler starts after some microtasks.
  for (let count = 0; count < 501; count++) await call("task.create", ada);
  expect(await first).toMatchObject({ value: { data: { status: "running" } } });
  const readAll = async () => {
    for await (const { data } of events) expect(data).toMatchObject({ operationId: "task.create" });
  };
  await expect(readAll()).rejects.toMatchObject({ code: "OVERFLOW" });
  const controller = new AbortController();
  const ended = registry.subscribe("hub.calls", {}, { identity: admin, signal: controller.signal }).next();
  controller.abort();
  await expect(ended).rejects.toMatchObject({ code: "ABORTED" });
});

test("rules apply to the operations of the hub too", async () => {
  await start(undefined, [{ match: "hub.reload", deny: true }]);
  await expect(call("hub.reload", admin)).rejects.toMatchObject({ code: "OPERATION_NOT_FOUND" });
});
