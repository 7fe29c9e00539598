import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openHistory } from "../../src/hub/history.ts";
import { openDatabase } from "../../src/hub/sqlite.ts";
import { OperationRegistry } from "../../src/index.ts";
import { until } from "../../src/internal/testing.ts";
import { bundleProgram } from "../../src/transport/testing.ts";
import type { HistoryReport } from "./hub-history-process.ts";

const program = await bundleProgram(new URL("hub-history-process.ts", import.meta.url));
// SQLite as WebAssembly is not part of the bundle.
await symlink(fileURLToPath(new URL("../../node_modules", import.meta.url)), join(dirname(program), "node_modules"));

let folder: string;
let file: string;
let child: ChildProcess;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "hub-history-"));
  file = join(folder, "calls.db");
});
afterEach(async () => {
  child.kill("SIGKILL");
  await rm(folder, { recursive: true, force: true });
});

/** The last report of the program, and what it has printed. */
let report: HistoryReport;
let stderr: string;

/** Starts the program. `setup` is a shell command that runs before it, in the same process. */
function start(setup = "true"): void {
  const command = ["-c", `${setup}; exec "$0" "$@"`, process.execPath, program, file];
  report = { calls: 0, history: { lost: 0 } };
  stderr = "";
  child = spawn("bash", command, { stdio: ["ignore", "ignore", "pipe", "ipc"] });
  child.on("message", (message: HistoryReport) => {
    report = message;
  });
  child.stderr!.setEncoding("utf8").on("data", (chunk: string) => {
    stderr += chunk;
  });
}

/** Waits until the program has reported something. Fails with what it has printed if it ends. */
async function reported(condition: (report: HistoryReport) => boolean): Promise<void> {
  await until(() => condition(report) || child.exitCode !== null);
  if (!condition(report)) throw new Error(`The process ended: ${stderr}`);
}

/** Returns the ids of all records in the file, oldest first, after checking the whole file. */
async function readIds(): Promise<number[]> {
  const database = await openDatabase(file);
  database.all("PRAGMA locking_mode = EXCLUSIVE");
  expect(database.all("PRAGMA integrity_check").map((row) => ({ ...row }))).toEqual([{ integrity_check: "ok" }]);
  const ids = database.all("SELECT id FROM calls ORDER BY id").map((row) => Number(row["id"]));
  database.close();
  return ids;
}

/** The numbers from 1 to `last`. */
const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1);

test("after kill -9 during writes the file opens, has every written call, and is continued", async () => {
  let known = 0;
  for (const enough of [3_000, 3_500, 4_000]) {
    start();
    // A batch has at most 2,500 records, and is written one millisecond after its last one.
    await reported(({ calls }) => calls > enough);
    child.kill("SIGKILL");
    await once(child, "exit");
    const history = await openHistory(new OperationRegistry(), { file });
    const [newest] = history.records.find({ limit: 1 }).records;
    await history.close();
    const ids = await readIds();
    expect(ids).toEqual(upTo(ids.length));
    expect(newest?.id).toBe(ids.length);
    expect(ids.length).toBeGreaterThan(known);
    known = ids.length;
  }
  const names = await readdir(folder);
  expect([names, (await stat(file)).mode & 0o777]).toEqual([["calls.db"], 0o600]);
});

test("while the disk is full calls succeed, the hub reports it once, and records calls when there is space again", async () => {
  start("trap '' XFSZ; ulimit -S -f 300");
  await reported(({ history }) => history.problem !== undefined);
  const { calls: before } = report;
  expect(report.history.problem).toMatch(/^Calls cannot be written to the history file: .+\.$/);
  await reported(({ calls, history }) => calls > before + 5_000 && history.lost > 0);
  execFileSync("prlimit", ["--pid", String(child.pid), "--fsize=unlimited"]);
  await reported(({ history }) => history.problem === undefined);
  const { calls: after } = report;
  await reported(({ calls }) => calls > after + 2_000);
  const ended = once(child, "exit");
  child.send("close");
  expect(await ended).toEqual([0, null]);
  const ids = await readIds();
  expect(ids.at(-1)).toBe(report.calls);
  expect(ids.length).toBe(report.calls - report.history.lost);
  expect(stderr).toMatch(
    /^\[alkdev\.operations\.hub\] The history file .*calls\.db cannot be written: .+\. Calls continue, and the last 500 are kept in memory until it can be written\. Check the space on its disk\.\n$/,
  );
});
