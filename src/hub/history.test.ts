import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import {
  chmod,
  copyFile,
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { defineOperation, Type } from "../operation/index.ts";
import { createRegistry, type OperationRegistry } from "../registry/index.ts";
import type { CallRecord } from "./call-records.ts";
import { openHistory } from "./history.ts";
import { openRecordFile } from "./history-file.ts";
import { RecordLog } from "./record-log.ts";
import { openDatabase } from "./sqlite.ts";

const day = 86_400_000;
let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "history-"));
  file = join(folder, "calls.db");
});
afterEach(async () => {
  vi.useRealTimers();
  await rm(folder, { recursive: true, force: true });
});

function record(id: number, change: Partial<CallRecord> = {}): CallRecord {
  return {
    id,
    requestId: `request-${id}`,
    parentRequestId: undefined,
    operationId: "task.create",
    source: "tasks",
    identity: "ada",
    via: "http",
    from: "local",
    startedAt: Date.now(),
    duration: 1.5,
    status: "succeeded",
    code: undefined,
    drift: undefined,
    nested: undefined,
    values: undefined,
    ...change,
  };
}

async function open(): Promise<RecordLog> {
  const opened = await openRecordFile(file);
  if (opened === undefined) throw new Error("The file is in use.");
  return new RecordLog({ limit: 10, keepMs: day }, opened);
}

/** Reads the table of a file. */
async function readCalls(path: string): Promise<Record<string, unknown>[]> {
  const database = await openDatabase(path);
  database.all("PRAGMA locking_mode = EXCLUSIVE");
  const found = database.all("SELECT * FROM calls ORDER BY id");
  database.close();
  return found.map((row) => ({ ...row }));
}

test("the newest records are kept in memory, also when the limit changes", async () => {
  const log = new RecordLog({ limit: 3, keepMs: day });
  const ids = (filter: object = {}) => log.find({ limit: 9, ...filter }).records.map(({ id }) => id);
  expect(ids()).toEqual([]);
  for (let id = 1; id <= 5_005; id++) log.add(record(id, { identity: id === 5_004 ? "bob" : "ada" }));
  expect([ids(), ids({ identity: "ada" }), ids({ limit: 1 }), ids({ before: 5_005 })]).toEqual([
    [5_005, 5_004, 5_003],
    [5_005, 5_003],
    [5_005],
    [5_004, 5_003],
  ]);
  log.limits = { limit: 2, keepMs: day };
  log.add(record(5_006));
  expect(ids()).toEqual([5_006, 5_005]);
});

test("records in memory are not found when they are older than keep", async () => {
  const log = new RecordLog({ limit: 3, keepMs: day });
  log.add(record(1, { startedAt: Date.now() - 2 * day }));
  log.add(record(2));
  expect(log.find({ limit: 9 }).records.map(({ id }) => id)).toEqual([2]);
});

test("a file has the records of earlier processes, the newest first", async () => {
  const records = [
    record(1),
    record(2, { identity: undefined, status: "failed", code: "TIMEOUT", drift: 2, nested: 3, values: 4 }),
    record(3, { parentRequestId: "request-1", requestId: 'a "quoted" \u2028 id' }),
  ];
  const first = await open();
  for (const one of records) first.add(one);
  expect(first.find({ limit: 9 }).records).toEqual(records.toReversed());
  first.close();
  const second = await open();
  expect(second.find({ limit: 9 }).records).toEqual(records.toReversed());
  second.add(record(4));
  const ids = (filter: object) => second.find({ limit: 9, ...filter }).records.map(({ id }) => id);
  expect(ids({})).toEqual([4, 3, 2, 1]);
  expect(ids({ before: 3 })).toEqual([2, 1]);
  expect(ids({ limit: 2 })).toEqual([4, 3]);
  expect(ids({ requestId: records[2]!.requestId })).toEqual([3]);
  expect(ids({ status: "failed" })).toEqual([2]);
  expect(ids({ since: Date.now() + day })).toEqual([]);
  second.close();
});

test("records are found across many batches, and each of them once", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const store = await open();
  for (let id = 1; id <= 300; id++) {
    store.add(record(id, { identity: id === 5 ? "bob" : "ada" }));
    if (id % 3 === 0 && id < 290) vi.runAllTimers();
  }
  expect(store.find({ limit: 1_000 }).records.map(({ id }) => id)).toEqual(
    Array.from({ length: 300 }, (_, index) => 300 - index),
  );
  expect(store.find({ limit: 9, identity: "bob" }).records.map(({ id }) => id)).toEqual([5]);
  expect(store.find({ limit: 2, before: 152 }).records.map(({ id }) => id)).toEqual([151, 150]);
  store.close();
});

test("a burst of records is written, and only what exceeds the memory is lost", async () => {
  const store = await open();
  for (let id = 1; id <= 15_000; id++) store.add(record(id));
  store.close();
  const ids = (await readCalls(file)).map((row) => row["id"]);
  expect([store.problem, ids[0], ids.at(-1), ids.length]).toEqual([
    undefined,
    store.lost + 1,
    15_000,
    15_000 - store.lost,
  ]);
  expect(store.lost).toBe(5_000);
});

test("records are written at most half a second later, with a column for each property", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const store = await open();
  const rows = async () => {
    const copy = join(folder, "copy.db"); // The file is in use.
    for (const part of ["", "-wal"]) await copyFile(file + part, copy + part);
    return readCalls(copy);
  };
  const startedAt = Date.now();
  store.add(record(1, { startedAt: startedAt + 1, duration: 0.063, parentRequestId: "request-0", from: "http 201" }));
  store.add(record(2, { startedAt, status: "failed", code: "TIMEOUT", drift: 1, nested: 2, values: 3, payload: "{}" }));
  vi.advanceTimersByTime(499);
  expect(await rows()).toEqual([]);
  vi.advanceTimersByTime(1);
  const common = { operation: "task.create", source: "tasks", identity: "ada", via: "http" };
  expect(await rows()).toEqual([
    {
      ...{ ...common, id: 1, request: "request-1", parent: "request-0", from: "http 201", start: startedAt + 1 },
      ...{ duration: 0.063, status: "succeeded", code: null, drift: null, nested: null, values: null },
    },
    {
      ...{ ...common, id: 2, request: "request-2", parent: null, from: "local", start: startedAt },
      ...{ duration: 1.5, status: "failed", code: "TIMEOUT", drift: 1, nested: 2, values: 3 },
    },
  ]);
  expect(store.payloadOf(record(2))).toBe("{}");
  expect(store.payloadOf(record(1))).toBe(undefined);
  store.close();
});

test("only the user of the process can read the files, also one that existed before", async () => {
  await writeFile(file, "", { mode: 0o644 });
  const store = await open();
  store.add(record(1));
  const modes = async () => {
    const names = (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isFile());
    return Promise.all(names.map(async ({ name }) => (await stat(join(folder, name))).mode & 0o777));
  };
  expect(new Set(await modes())).toEqual(new Set([0o600]));
  store.close();
  expect([await readdir(folder), await modes()]).toEqual([["calls.db"], [0o600]]);
});

test("records that are older than keep are removed from the file", async () => {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] });
  const store = await open();
  for (let id = 1; id <= 3; id++) {
    store.add(record(id));
    vi.advanceTimersByTime(day / 2);
  }
  expect(store.find({ limit: 9 }).records.map(({ id }) => id)).toEqual([3, 2]);
  store.close();
  const again = await open();
  again.close();
  expect((await readCalls(file)).map((row) => row["id"])).toEqual([2, 3]);
});

test("a file that is in use is recognised by every path", async () => {
  const store = await open();
  await symlink(file, join(folder, "symbolic.db"));
  await link(file, join(folder, "hard.db"));
  for (const path of ["calls.db", "symbolic.db", "hard.db"]) {
    expect(await openRecordFile(join(folder, path))).toBe(undefined);
  }
  store.close();
  (await open()).close();
});

test("a file that another process uses is opened after that process was killed", async () => {
  await mkdir(`${file}.lock`);
  const code = `
    const { openRecordFile } = await import(${JSON.stringify(new URL("history-file.ts", import.meta.url).href)});
    console.log((await openRecordFile(${JSON.stringify(file)})) !== undefined);
    setInterval(() => {}, 1e6);`;
  const program = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", code]);
  onTestFinished(() => void program.kill("SIGKILL"));
  expect(String((await once(program.stdout, "data"))[0])).toBe("true\n");
  expect(await openRecordFile(file)).toBe(undefined);
  program.kill("SIGKILL");
  await once(program, "exit");
  const store = await open();
  store.add(record(1));
  store.close();
  expect(existsSync(`${file}.lock`)).toBe(false);
});

test("a file that is not a database is refused with the reason, and is not changed", async () => {
  await writeFile(file, "This file is not a database, and it is long enough to have a header.".repeat(20));
  await chmod(file, 0o644);
  await expect(open()).rejects.toThrow(/^The history file .*calls\.db cannot be used: file is not a database\. Check/);
  expect([await readdir(folder), (await stat(file)).mode & 0o777]).toEqual([["calls.db"], 0o644]);
  file = folder;
  await expect(open()).rejects.toThrow(/^The history file .* cannot be used: EISDIR/);
});

test("a folder that does not exist is created, and only the user of the process can read it", async () => {
  file = join(folder, "data", "history", "calls.db");
  (await open()).close();
  expect([(await stat(dirname(file))).mode & 0o777, (await stat(file)).mode & 0o777]).toEqual([0o700, 0o600]);
  file = join(file, "calls.db");
  await expect(open()).rejects.toThrow(/^The history file .* cannot be used: EEXIST.*Check the file and its folder/);
});

test("only the empty folder of a lock is removed", async () => {
  const notes = join(folder, "calls.db.lock", "notes.txt");
  await mkdir(dirname(notes));
  await writeFile(notes, "mine");
  await open().then(
    (store) => store.close(),
    () => {},
  );
  expect(await readFile(notes, "utf8")).toBe("mine");
});

const create = defineOperation({
  namespace: "task",
  name: "create",
  type: "mutation",
  inputSchema: Type.Object({ value: Type.Unknown() }),
  outputSchema: Type.Unknown(),
  handler: ({ value }) => value,
});

test("calls are recorded until the history is closed", async () => {
  const registry: OperationRegistry = createRegistry({ operations: [create] }) as never;
  const history = await openHistory(registry, { file });
  await registry.execute("task.create", { value: 1 });
  await history.close();
  await registry.execute("task.create", { value: 2 });
  const again = await openHistory(registry, { file });
  await registry.execute("task.create", { value: 3 });
  expect(again.records.find({ limit: 9 }).records.map(({ id }) => id)).toEqual([2, 1]);
  expect(again.state).toEqual({ lost: 0 });
  await again.close();
});

test("another configuration is applied, and one that cannot be used changes nothing", async () => {
  const registry: OperationRegistry = createRegistry({ operations: [create] }) as never;
  const history = await openHistory(registry);
  const found = async () => {
    const { records } = history.records.find({ limit: 9 });
    return records.map((one) => [one.id, history.records.payloadOf(one)]);
  };
  const execute = () => registry.execute("task.create", { value: 1 });
  await execute();
  await history.configure({ payloads: ["*"] });
  await execute();
  const recorded = [
    [2, '{"input":{"value":1},"output":1}'],
    [1, undefined],
  ];
  expect(await found()).toEqual(recorded);
  await expect(history.configure({ file: folder })).rejects.toThrow("EISDIR");
  expect(await found()).toEqual(recorded);
  await history.configure({ file });
  await execute();
  await history.configure({ file, keep: "1h" });
  expect(await found()).toEqual([[3, undefined]]);
  await history.configure();
  await execute();
  expect(await found()).toEqual([[4, undefined]]);
  await history.close();
});

test("payloads that are large, cyclic or not JSON are described", async () => {
  const registry: OperationRegistry = createRegistry({ operations: [create], log: false }) as never;
  const history = await openHistory(registry, { payloads: ["*"] });
  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = cyclic;
  const failing = {
    toJSON() {
      throw new Error("not JSON");
    },
  };
  for (const value of [undefined, 1n, "x".repeat(20_000), new Uint8Array(1e6), cyclic, failing]) {
    await registry.execute("task.create", { value }).catch(() => {});
  }
  const payloads = history.records
    .find({ limit: 9 })
    .records.map(({ payload }) => payload && JSON.parse(payload).input);
  const tooLarge = "(larger than 16384 characters of JSON, and not recorded)";
  expect(payloads).toEqual(["(not JSON)", tooLarge, tooLarge, tooLarge, { value: "1" }, {}]);
  await history.close();
});
