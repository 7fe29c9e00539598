import { expect, test } from "vitest";
import { findDescendants, isStillRunning, listProcesses } from "./process-group.ts";
import { call, connect, isRunning, pidOf, program } from "./testing.ts";

const family = `
  const { spawn } = require("node:child_process");
  const start = (code, detached) => {
    const child = spawn(process.execPath, ["-e", code], { detached, stdio: ["ignore", "pipe", "ignore"] });
    child.unref();
    return new Promise((resolve) => child.stdout.once("data", (data) => resolve([child.pid, ...JSON.parse(data)])));
  };
`;
const stubborn = 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1e6); console.log("[]");';
const parent = `${family} start(${JSON.stringify(stubborn)}, false).then((pids) => console.log(JSON.stringify(pids)));
  setInterval(() => {}, 1e6);`;

test("detached descendants end with the program, also those that ignore SIGTERM", async () => {
  const source = `${family} calls.family = (args, { id }) =>
    void start(${JSON.stringify(parent)}, true).then((pids) => send({ id, result: text(JSON.stringify(pids)) }));`;
  const connection = await connect({ ...program(source), timeouts: { stop: 500, kill: 100 } });
  const pids = [await pidOf(connection), ...(JSON.parse(await call(connection, "family")) as number[])];
  expect(await Promise.all(pids.map(isRunning))).toEqual([true, true, true]);

  await connection.close();

  expect(await Promise.all(pids.map(isRunning))).toEqual([false, false, false]);
});

test("descendants are found once, in any order", () => {
  const entry = (pid: number, parent: number) => ({ pid, parent, group: pid, start: "1", isZombie: false });
  const all = [entry(4, 3), entry(3, 2), entry(2, 1), entry(9, 8), entry(1, 1)];

  expect(findDescendants([1, 3], all).map(({ pid }) => pid)).toEqual([2, 4]);
});

test("a process with a reused pid is another process", () => {
  const own = listProcesses().find(({ pid }) => pid === process.pid)!;

  expect(isStillRunning(own)).toBe(true);
  expect(isStillRunning({ ...own, start: `${own.start}0` })).toBe(false);
});
