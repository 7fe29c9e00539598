import { readFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { PendingRequestMap } from "../../call/index.ts";
import { type BundledModule, bundleModule } from "../testing.ts";
import { createWorkerPool, type ProcessPoolOptions } from "./worker-pool.ts";

const closing: Array<() => unknown> = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const execArgv: string[] = [];
let worker: BundledModule;
beforeAll(async () => {
  worker = await bundleModule(new URL("testing.ts", import.meta.url));
});
afterAll(() => worker[Symbol.asyncDispose]());

async function startPool({ process = {}, ...options }: Partial<ProcessPoolOptions> = {}) {
  const pool = await createWorkerPool(worker.url, {
    kind: "process",
    size: 1,
    process: { execArgv, ...process },
    ...options,
  });
  const calls = new PendingRequestMap(pool);
  closing.push(() => calls.close());
  return { pool, calls };
}

async function pidOf(calls: PendingRequestMap): Promise<number> {
  return (await calls.call<{ pid: number }>("test.who", {})).data.pid;
}

/** Whether a process runs; one that is dead and was not collected does not. */
function isRunning(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

/** Lets a process stand still. */
async function stop(pid: number): Promise<void> {
  process.kill(pid, "SIGSTOP");
  await vi.waitUntil(() => !isRunning(pid) || /\) T /.test(readFileSync(`/proc/${pid}/stat`, "utf8")));
}

function untilGone(pid: number): Promise<void> {
  return vi.waitFor(() => expect(isRunning(pid)).toBe(false));
}

describe("a pool of processes", () => {
  test("calls are spread over the processes, with the values as they were", async () => {
    const { pool, calls } = await startPool({ size: 2 });

    const answers = await Promise.all(Array.from({ length: 100 }, () => pidOf(calls)));
    const values = await calls.call("test.echo", { big: 5n, at: new Date(5), text: "a\nb\u2028c" });

    expect(pool.size).toBe(2);
    expect(new Set(answers).size).toBe(2);
    expect(answers).not.toContain(process.pid);
    expect(values.data).toStrictEqual({ big: 5n, at: new Date(5), text: "a\nb\u2028c" });
  });

  test("messages up to the limit pass in pieces, larger ones are refused before they are sent", async () => {
    const { calls } = await startPool({ limits: { maxMessage: 1024 * 1024 } });
    const text = "ä".repeat(500_000);

    const answer = await calls.call("test.echo", text);
    const refused = calls.call("test.echo", text + text);

    expect(answer.data).toBe(text);
    await expect(refused).rejects.toMatchObject({ code: "PAYLOAD_TOO_LARGE", mayHaveRun: false });
  });

  test("a process receives the environment and the arguments of the options, and no others", async () => {
    const { calls } = await startPool({
      process: { env: { PATH: process.env["PATH"], GIVEN: "yes" }, args: ["one", "two words"] },
    });

    const variables = ["GIVEN", "HOME", "ALKDEV_OPERATIONS_PIPE"];
    const answers = await Promise.all(variables.map((name) => calls.call("test.environment", name)));

    expect(answers.map(({ data }) => data)).toEqual(["yes", undefined, undefined]);
    expect((await calls.call("test.arguments", {})).data).toEqual(["one", "two words"]);
  });

  test("a process that is killed fails its calls immediately and is started again", async () => {
    const { pool, calls } = await startPool();
    const pid = await pidOf(calls);
    const pending = Array.from({ length: 100 }, () => calls.call("test.hang", {}).catch((error) => error));
    await calls.call("test.echo", 1);

    process.kill(pid, "SIGKILL");

    for (const error of await Promise.all(pending)) {
      expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true, mayHaveRun: true });
      expect(error.message).toContain("The worker was ended by SIGKILL");
    }
    await vi.waitFor(() => expect(pool.size).toBe(1));
    expect(await pidOf(calls)).not.toBe(pid);
  });

  test("a process that exits fails its calls with its exit code", async () => {
    const { calls } = await startPool();

    await expect(calls.call("test.die", {})).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("The worker ended with code 7"),
    });
  });

  test("a process that is paused keeps its calls until their deadline, and the others work", async () => {
    const { calls } = await startPool({ size: 2 });
    const pids = await Promise.all([pidOf(calls), pidOf(calls)]);
    const [stopped, working] = pids as [number, number];
    await stop(stopped);
    closing.push(() => isRunning(stopped) && process.kill(stopped, "SIGCONT"));

    // Each process is given one call, and the paused one does not start it.
    const short = [1, 2].map(() => calls.call("test.hang", {}, { timeout: 300 }).catch(({ code }) => code));
    expect(await Promise.all(short)).toEqual(["TIMEOUT", "TIMEOUT"]);
    const kept: Array<Promise<number>> = [pidOf(calls), pidOf(calls)];
    await vi.waitFor(() => expect(calls.pendingCount).toBe(1));
    // The call that the paused process was given stays pending, so that all later ones go to the other.
    for (let n = 0; n < 8; n++) expect(await pidOf(calls)).toBe(working);
    process.kill(stopped, "SIGCONT");

    expect(new Set(await Promise.all(kept))).toEqual(new Set(pids));
  });

  test("a process that reads nothing is ended when too much waits for it", async () => {
    const { calls } = await startPool();
    const stopped = await pidOf(calls);
    await stop(stopped);

    const pending = Array.from({ length: 100 }, () =>
      calls.call("test.echo", "x".repeat(400_000)).catch((error) => error.message),
    );

    expect((await Promise.all(pending)).some((message) => message.includes("reads too slowly"))).toBe(true);
    process.kill(stopped, "SIGCONT");
    await untilGone(stopped);
  });

  test("close ends the processes, also one that ignores SIGTERM and one that is paused", async () => {
    const { pool, calls } = await startPool({ size: 2 });
    const [stubborn, stopped] = await Promise.all([pidOf(calls), pidOf(calls)]);
    await calls.call("test.stay", {});
    await stop(stopped);
    const pending = calls.call("test.hang", {}).catch((error) => error.code);

    await pool.close();

    expect(await pending).toBe("UNAVAILABLE");
    expect([stubborn, stopped].map(isRunning)).toEqual([false, false]);
    expect(pool.size).toBe(0);
  });

  test("a malformed frame ends that process only, and the pool starts a new one", async () => {
    const { pool, calls } = await startPool({ size: 2 });

    const garbage = calls.call("test.write", "\u0000garbage}\n").catch((error) => error);

    expect(await garbage).toMatchObject({ code: "UNAVAILABLE", message: expect.stringContaining("it is not JSON") });
    expect((await calls.call("test.echo", 1)).data).toBe(1);
    await vi.waitFor(() => expect(pool.size).toBe(2));
  });

  test("a module that cannot be loaded fails the pool with the code of its process", async () => {
    const stdio = ["ignore", "ignore", "ignore"] as const;
    const missing = new URL("nothing-there.mjs", import.meta.url);

    const pool = createWorkerPool(missing, { kind: "process", size: 2, process: { stdio, execArgv: [] } });

    await expect(pool).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("The worker ended with code 1"),
    });
  });

  test("the module may be named by the string of its URL", async () => {
    const pool = await createWorkerPool(worker.url.href, { kind: "process", size: 1, process: { execArgv } });
    closing.push(() => pool.close());

    expect(pool.size).toBe(1);
  });

  test("a program that is not there fails the pool", async () => {
    const pool = createWorkerPool(worker.url, { kind: "process", size: 1, process: { execPath: "/nothing/there" } });

    await expect(pool).rejects.toMatchObject({ code: "UNAVAILABLE", message: expect.stringContaining("ENOENT") });
  });
});
