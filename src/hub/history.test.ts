import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { defineOperation, Type } from "../operation/index.ts";
import { createRegistry, type OperationRegistry } from "../registry/index.ts";
import { type CallRecord, RecordLog } from "./call-records.ts";
import { openHistory } from "./history.ts";
import { openDatabase, openRecordFile } from "./history-file.ts";

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
    identity: "ada",
    startedAt: Date.now(),
    duration: 1.5,
    code: undefined,
    payload: undefined,
    ...change,
  };
}

async function open(): Promise<RecordLog> {
  return new RecordLog({ limit: 10, keepMs: day }, await openRecordFile(file));
}

/** Reads the view of a file. */
async function readCalls(path: string): Promise<Record<string, unknown>[]> {
  const database = await openDatabase(path);
  database.all("PRAGMA locking_mode = EXCLUSIVE");
  const found = database.all("SELECT * FROM calls ORDER BY id");
  database.close();
  return found.map((row) => ({ ...row }));
}

test("the newest records are kept in memory, also when the limit changes", async () => {
  const log = new RecordLog({ limit: 3, keepMs: day });
  const ids = async (filter: object = {}) => (await log.find({ limit: 9, ...filter })).map(({ id }) => id);
  expect(await ids()).toEqual([]);
  for (let id = 1; id <= 5_005; id++) log.add(record(id, { identity: id === 5_004 ? "bob" : "ada" }));
  expect([await ids(), await ids({ identity: "ada" }), await ids({ limit: 1 }), await ids({ before: 5_005 })]).toEqual([
    [5_005, 5_004, 5_003],
    [5_005, 5_003],
    [5_005],
    [5_004, 5_003],
  ]);
  log.limits = { limit: 2, keepMs: day };
  log.add(record(5_006));
  expect(await ids()).toEqual([5_006, 5_005]);
});

test("records in memory are not found when they are older than keep", async () => {
  const log = new RecordLog({ limit: 3, keepMs: day });
  log.add(record(1, { startedAt: Date.now() - 2 * day }));
  log.add(record(2));
  expect((await log.find({ limit: 9 })).map(({ id }) => id)).toEqual([2]);
});

test("a file has the records of earlier processes, the newest first", async () => {
  const records = [
    record(1),
    record(2, { identity: undefined, code: "TIMEOUT", payload: '{"input":{}}' }),
    record(3, { parentRequestId: "request-1", requestId: 'a "quoted" \u2028 id' }),
  ];
  const first = await open();
  for (const one of records) first.add(one);
  expect(await first.find({ limit: 9 })).toEqual(records.toReversed());
  first.close();
  const second = await open();
  expect(await second.find({ limit: 9 })).toEqual(records.toReversed());
  second.add(record(4));
  const ids = async (filter: object) => (await second.find({ limit: 9, ...filter })).map(({ id }) => id);
  expect(await ids({})).toEqual([4, 3, 2, 1]);
  expect(await ids({ before: 3 })).toEqual([2, 1]);
  expect(await ids({ limit: 2 })).toEqual([4, 3]);
  expect(await ids({ requestId: records[2]!.requestId })).toEqual([3]);
  expect(await ids({ status: "failed" })).toEqual([2]);
  expect(await ids({ since: Date.now() + day })).toEqual([]);
  second.close();
});

test("records are found across many batches, and each of them once", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const store = await open();
  for (let id = 1; id <= 300; id++) {
    store.add(record(id, { identity: id === 5 ? "bob" : "ada" }));
    if (id % 3 === 0 && id < 290) vi.runAllTimers();
  }
  const finding = store.find({ limit: 1_000 });
  vi.runAllTimers(); // Pending records are written while the others are read.
  expect((await finding).map(({ id }) => id)).toEqual(Array.from({ length: 300 }, (_, index) => 300 - index));
  expect((await store.find({ limit: 9, identity: "bob" })).map(({ id }) => id)).toEqual([5]);
  expect((await store.find({ limit: 2, before: 152 })).map(({ id }) => id)).toEqual([151, 150]);
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

test("records are written at most half a second later, and the view of the file has a row for each", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const store = await open();
  const rows = async () => {
    const copy = join(folder, "copy.db"); // The file is in use.
    for (const part of ["", "-wal"]) await copyFile(file + part, copy + part);
    return readCalls(copy);
  };
  const startedAt = Date.now();
  store.add(record(1, { startedAt: startedAt + 1, duration: 0.0625, parentRequestId: "request-0" }));
  store.add(record(2, { startedAt, code: "TIMEOUT", payload: "{}" }));
  vi.advanceTimersByTime(499);
  expect(await rows()).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(await rows()).toEqual([
    {
      id: 1,
      request_id: "request-1",
      parent_request_id: "request-0",
      operation_id: "task.create",
      identity: "ada",
      started_at: startedAt + 1,
      duration: 0.063,
      code: null,
      payload: null,
    },
    {
      id: 2,
      request_id: "request-2",
      parent_request_id: null,
      operation_id: "task.create",
      identity: "ada",
      started_at: startedAt,
      duration: 1.5,
      code: "TIMEOUT",
      payload: "{}",
    },
  ]);
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
  expect((await store.find({ limit: 9 })).map(({ id }) => id)).toEqual([3, 2]);
  store.close();
  const again = await open();
  again.close();
  expect((await readCalls(file)).map((row) => row["id"])).toEqual([2, 3]);
});

test("a file that another process uses is refused, and one that a killed process has left is opened", async () => {
  const program = spawn(process.execPath, ["-e", "setInterval(() => {}, 1e6)"]);
  await once(program, "spawn");
  await writeFile(`${file}.pid`, String(program.pid));
  await mkdir(`${file}.lock`);
  await expect(open()).rejects.toMatchObject({
    code: "UNAVAILABLE",
    message: `The history file ${file} is used by the process ${program.pid}. Stop it, or use another file. If it is not a hub, remove ${file}.pid.`,
  });
  program.kill("SIGKILL");
  await once(program, "exit");
  const store = await open();
  store.add(record(1));
  await expect(open()).rejects.toMatchObject({ code: "UNAVAILABLE" });
  store.close();
  expect([existsSync(`${file}.pid`), existsSync(`${file}.lock`)]).toEqual([false, false]);
});

test.runIf(process.platform === "linux")(
  "a file whose process was killed is opened before its parent has noticed",
  async () => {
    // A shell collects its children, and `sleep` does not: the child is ended after the shell has become `sleep`.
    const program = spawn("sh", ["-c", "sleep 100 & echo $!; exec sleep 100"], { stdio: ["ignore", "pipe", "ignore"] });
    onTestFinished(() => void program.kill("SIGKILL"));
    const [line] = (await once(program.stdout, "data")) as [Buffer];
    const ended = Number(String(line));
    const stat = (pid: number) => readFile(`/proc/${pid}/stat`, "utf8");
    await vi.waitFor(async () => expect(await stat(program.pid!)).toContain("(sleep)"));
    const start = (await stat(ended)).split(" ")[21];
    await writeFile(`${file}.pid`, `${ended} ${start}`);
    await expect(open()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    process.kill(ended, "SIGKILL");
    await vi.waitFor(async () => expect(await stat(ended)).toContain(") Z "));
    (await open()).close();
  },
);

test.runIf(process.platform === "linux")(
  "a file is opened if another process has the id of the one that used it",
  async () => {
    const program = spawn(process.execPath, ["-e", "setInterval(() => {}, 1e6)"]);
    onTestFinished(() => void program.kill("SIGKILL"));
    await once(program, "spawn");
    await writeFile(`${file}.pid`, `${program.pid} 1`);
    (await open()).close();
  },
);

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
  expect((await again.find({ limit: 9 })).map(({ id }) => id)).toEqual([2, 1]);
  expect(again.state).toEqual({ lost: 0 });
  await again.close();
});

test("another configuration is applied, and one that cannot be used changes nothing", async () => {
  const registry: OperationRegistry = createRegistry({ operations: [create] }) as never;
  const history = await openHistory(registry);
  const found = async () => (await history.find({ limit: 9 })).map(({ id, payload }) => [id, payload]);
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
  expect([await found(), existsSync(`${file}.pid`)]).toEqual([[[4, undefined]], false]);
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
  const payloads = (await history.find({ limit: 9 })).map(({ payload }) => payload && JSON.parse(payload).input);
  const tooLarge = "(larger than 16384 characters of JSON, and not recorded)";
  expect(payloads).toEqual(["(not JSON)", tooLarge, tooLarge, tooLarge, { value: "1" }, {}]);
  await history.close();
});
