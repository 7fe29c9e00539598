import { MessageChannel, Worker } from "node:worker_threads";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { PendingRequestMap } from "../../call/index.ts";
import { localEnvelope } from "../../operation/index.ts";
import { type BundledModule, bundleModule } from "../testing.ts";
import { createWorkerPool, type ThreadPoolOptions } from "./worker-pool.ts";
import { createWorkerTransport } from "./worker-transport.ts";

const closing: Array<() => unknown> = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

let worker: BundledModule;
beforeAll(async () => {
  worker = await bundleModule(new URL("testing.ts", import.meta.url));
});
afterAll(() => worker[Symbol.asyncDispose]());

async function startPool(options: ThreadPoolOptions) {
  const pool = await createWorkerPool(worker.url, options);
  const calls = new PendingRequestMap(pool);
  closing.push(() => calls.close());
  return { pool, calls };
}

async function whoAnswers(calls: PendingRequestMap): Promise<number> {
  return (await calls.call<{ thread: number }>("test.who", {})).data.thread;
}

function startWorker() {
  const thread = new Worker(worker.url);
  closing.push(() => thread.terminate());
  const calls = new PendingRequestMap(createWorkerTransport(thread));
  closing.push(() => calls.close());
  return { thread, calls };
}

describe("one worker", () => {
  test("calls that are made before the thread has started succeed, with the values at the time of the call", async () => {
    const { calls } = startWorker();

    const answers = await Promise.all([calls.call("test.echo", { n: 1n }), calls.call("test.echo", [undefined, -0])]);

    expect(answers.map(({ data }) => data)).toStrictEqual([{ n: 1n }, [undefined, -0]]);
  });

  test("an operation that it does not serve is not found", async () => {
    const { calls } = startWorker();
    await calls.call("test.echo", 1);

    await expect(calls.call("test.other", 1)).rejects.toMatchObject({ code: "OPERATION_NOT_FOUND", mayHaveRun: false });
  });

  test("a worker that dies settles its pending calls immediately", async () => {
    const { calls } = startWorker();
    const pending = Array.from({ length: 100 }, () => calls.call("test.hang", {}).catch((error) => error));
    await calls.call("test.echo", 1);

    const died = calls.call("test.die", {}).catch((error) => error);

    for (const error of [await died, ...(await Promise.all(pending))]) {
      expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true, mayHaveRun: true });
    }
    await expect(calls.call("test.echo", 1)).rejects.toMatchObject({ code: "UNAVAILABLE", mayHaveRun: false });
  });

  test("a worker that is terminated settles its pending calls", async () => {
    const { thread, calls } = startWorker();
    await calls.call("test.echo", 1);
    const pending = calls.call("test.hang", {});

    void thread.terminate();

    await expect(pending).rejects.toMatchObject({ code: "UNAVAILABLE", mayHaveRun: true });
  });

  test("a worker module that cannot be loaded fails the calls with the reason", async () => {
    const thread = new Worker(new URL("nothing-there.mjs", import.meta.url));
    closing.push(() => thread.terminate());
    const calls = new PendingRequestMap(createWorkerTransport(thread));

    await expect(calls.call("test.echo", 1)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("Cannot find module"),
    });
  });
});

describe("two ends of a MessageChannel", () => {
  function createPair() {
    const { port1, port2 } = new MessageChannel();
    const [left, right] = [createWorkerTransport(port1), createWorkerTransport(port2)];
    closing.push(
      () => left.close(),
      () => right.close(),
    );
    return { left, right, port1, port2 };
  }

  test("each peer may serve the other, and receives its announcements", async () => {
    const { left, right } = createPair();
    const events: unknown[] = [];
    right.watchPeers((event) => events.push(event));

    await left.serve(["left.echo"], (frame, reply) => {
      void reply({
        type: "call.responded",
        requestId: frame.requestId,
        output: localEnvelope(frame.input, "left.echo"),
      });
      return () => {};
    });
    await left.announce([{ namespace: "left", name: "echo" } as never]);

    expect((await new PendingRequestMap(right).call("left.echo", 5)).data).toBe(5);
    expect(events).toMatchObject([{ type: "peer.announced", specs: [{ namespace: "left", name: "echo" }] }]);
    await left.close();
    await vi.waitFor(() => expect(events).toMatchObject([{}, { type: "peer.left" }]));
  });

  test("a port that is closed settles both sides", async () => {
    const { left, right, port1 } = createPair();
    const followUps: unknown[] = [];
    await left.serve(["left.hang"], () => (frame) => followUps.push(frame.type));
    const calls = new PendingRequestMap(right);
    const pending = calls.call("left.hang", {}).catch((error) => error);
    await vi.waitFor(() => expect(calls.pendingCount).toBe(1));

    port1.close();

    expect(await pending).toMatchObject({ code: "UNAVAILABLE" });
  });

  test("messages of others on the same port are left alone", async () => {
    const { left, right, port1 } = createPair();
    await left.serve(["left.echo"], (frame, reply) => {
      void reply({ type: "call.responded", requestId: frame.requestId, output: localEnvelope(1, "left.echo") });
      return () => {};
    });

    port1.postMessage({ hello: "there" });

    expect((await new PendingRequestMap(right).call("left.echo", 5)).data).toBe(1);
  });

  test("a malformed frame ends the connection", async () => {
    const { right, port1 } = createPair();
    const calls = new PendingRequestMap(right);
    const pending = calls.call("left.any", {}).catch((error) => error);

    port1.postMessage("{not a frame");

    expect(await pending).toMatchObject({ code: "UNAVAILABLE", message: expect.stringContaining("it is not JSON") });
  });

  test("createWorkerTransport without a port throws outside of a worker", () => {
    expect(() => createWorkerTransport()).toThrow("This is not a worker");
  });
});

describe("a pool", () => {
  test("calls are spread over the threads, each runs once", async () => {
    const { pool, calls } = await startPool({ size: 3 });

    const answers = await Promise.all(Array.from({ length: 300 }, () => whoAnswers(calls)));
    const perThread = new Map<number, number>();
    for (const data of answers) perThread.set(data, (perThread.get(data) ?? 0) + 1);

    expect(pool.size).toBe(3);
    expect([...perThread.values()]).toEqual([100, 100, 100]);
  });

  test("the least busy thread is called first", async () => {
    const { calls } = await startPool({ size: 2 });
    const busy = await whoAnswers(calls);
    const pending = calls.call("test.hang", {}).catch((error) => error.code);

    const free = await Promise.all([whoAnswers(calls), whoAnswers(calls)]);

    // The first of the two goes to the free thread; with one call each, the next to whichever is first again.
    expect(free.map((thread) => thread === busy)).toContain(false);
    await calls.close();
    expect(await pending).toBe("UNAVAILABLE");
  });

  test("a thread that dies fails only its own calls and is started again", async () => {
    const { pool, calls } = await startPool({ size: 2 });

    await expect(calls.call("test.die", {})).rejects.toMatchObject({ code: "UNAVAILABLE", mayHaveRun: true });
    const meanwhile = await calls.call("test.echo", "still there");

    expect(meanwhile.data).toBe("still there");
    await vi.waitFor(() => expect(pool.size).toBe(2));
  });

  test("a thread that is blocked keeps its pending call and receives no further calls", async () => {
    const blocked = new SharedArrayBuffer(4);
    const { calls } = await startPool({ size: 2, worker: { workerData: { blocked } } });
    const threads = await Promise.all([whoAnswers(calls), whoAnswers(calls)]);
    const controller = new AbortController();

    const blocking = calls.call("test.block", {}, { signal: controller.signal }).catch(({ code }) => code);
    await vi.waitFor(() => expect(Atomics.load(new Int32Array(blocked), 0)).toBe(1));
    controller.abort();
    const answers: number[] = [];
    for (let n = 0; n < 20; n++) answers.push(await whoAnswers(calls));

    expect(await blocking).toBe("ABORTED");
    expect(new Set(answers).size).toBe(1);
    expect(threads).toContain(answers[0]);
  });

  test("with a heartbeat, a thread that blocks for ever is ended and started again", async () => {
    const { calls } = await startPool({ size: 1, heartbeat: 1_500 });
    const before = await whoAnswers(calls);

    await expect(calls.call("test.block", {})).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("The peer has stopped responding"),
      mayHaveRun: true,
    });

    await vi.waitFor(async () => expect(await whoAnswers(calls)).not.toBe(before));
  });

  test("when more threads die together than may in a row, all are started again", async () => {
    const { pool, calls } = await startPool({ size: 7 });

    await Promise.all(Array.from({ length: 7 }, () => calls.call("test.die", {}).catch(() => {})));

    await vi.waitFor(() => expect(pool.size).toBe(7));
  });

  test("announcements of threads are kept while they restart, and removed when the pool closes", async () => {
    const { pool, calls } = await startPool({ size: 2 });
    const events: string[] = [];
    const known = new Set<string>();
    pool.watchPeers(({ type, peerId }) => {
      events.push(type);
      if (type === "peer.left") known.delete(peerId);
      else known.add(peerId);
    });

    await Promise.all([1, 2].map(() => calls.call("test.die", {}).catch(() => {})));
    const late: string[] = [];
    pool.watchPeers(({ type }) => late.push(type));
    const whileDown = [known.size, late.length];
    await vi.waitFor(() => expect(pool.size).toBe(2));
    const whenUp = known.size;
    await pool.close();

    expect(whileDown).toEqual([2, 2]);
    expect(whenUp).toBe(2);
    expect(known.size).toBe(0);
    expect(events).toEqual([...Array(4).fill("peer.announced"), ...Array(2).fill("peer.left")]);
  });

  test("a thread that dies with its announcement is started again", async () => {
    const frames = [
      { type: "link.opened", version: 1, peerId: "brief", maxMessage: 1_000_000 },
      { type: "peer.announced", peerId: "brief", specs: [{ namespace: "test", name: "echo" }] },
      { type: "link.closed" },
    ];
    const message = JSON.stringify(frames.map((frame) => JSON.stringify(frame)).join("\n"));
    const code = `import { parentPort } from "node:worker_threads"; parentPort.postMessage(${message});`;
    const pool = await createWorkerPool(new URL(`data:text/javascript,${encodeURIComponent(code)}`), { size: 1 });
    closing.push(() => pool.close());
    let announced = 0;
    pool.watchPeers(() => {
      announced += 1;
    });

    await vi.waitFor(() => expect(announced).toBeGreaterThanOrEqual(3));
  });

  test("while all threads are down, calls of any operation are UNAVAILABLE", async () => {
    const { pool, calls } = await startPool({ size: 2, worker: { workerData: { startsAfter: 1_000 } } });
    const asked: Array<Promise<string>> = [];

    await Promise.all([1, 2].map(() => calls.call("test.die", {}).catch((error) => error)));
    const ask = () => {
      const call = calls.call("test.echo", "up").then(({ data }) => data as string);
      asked.push(call.catch(({ code, retryable }) => `${code} ${retryable}`));
    };
    while (pool.size < 2) {
      ask();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    ask();

    expect(new Set(await Promise.all(asked))).toEqual(new Set(["UNAVAILABLE true", "up"]));
  });

  test("an operation that no thread serves is not found", async () => {
    const { calls } = await startPool({ size: 2 });

    await expect(calls.call("test.other", 1)).rejects.toMatchObject({ code: "OPERATION_NOT_FOUND" });
  });

  test("close settles what is pending and leaves no thread", async () => {
    const { pool, calls } = await startPool({ size: 2 });
    const pending = Array.from({ length: 10 }, () => calls.call("test.hang", {}).catch((error) => error.code));

    await pool.close();

    expect(new Set(await Promise.all(pending))).toEqual(new Set(["UNAVAILABLE"]));
    expect(pool.size).toBe(0);
    expect(process.getActiveResourcesInfo().filter((name) => name === "Worker")).toEqual([]);
  });

  test("a module that cannot be loaded, or serves nothing, fails the pool", async () => {
    const missing = createWorkerPool(new URL("nothing-there.mjs", import.meta.url), { size: 2 });
    await expect(missing).rejects.toMatchObject({ code: "UNAVAILABLE", mayHaveRun: false });

    const idle = createWorkerPool(new URL("data:text/javascript,setInterval(() => {}, 1000)"), {
      size: 1,
      startTimeout: 300,
    });
    await expect(idle).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining("It did not announce its operations within 300 ms"),
    });
  });

  test("threads that fail while the pool is closed do not end this process", async () => {
    const uncaught: unknown[] = [];
    const note = (error: unknown) => uncaught.push(error);
    process.on("uncaughtException", note);
    closing.push(() => process.off("uncaughtException", note));

    // The last worker releases the others, and all fail together.
    const code = `
      import { workerData } from "node:worker_threads";
      const shared = new Int32Array(workerData);
      if (Atomics.add(shared, 0, 1) < 3) Atomics.wait(shared, 1, 0);
      Atomics.store(shared, 1, 1);
      Atomics.notify(shared, 1);
      throw new Error("at the top");`;
    const url = new URL(`data:text/javascript,${encodeURIComponent(code)}`);
    for (let round = 0; round < 5; round++) {
      const pool = createWorkerPool(url, { size: 4, worker: { workerData: new SharedArrayBuffer(8) } });
      await expect(pool).rejects.toMatchObject({
        code: "UNAVAILABLE",
        message: expect.stringContaining("at the top"),
      });
    }

    expect(uncaught).toEqual([]);
  });

  test("the module may be named by the string of its URL", async () => {
    const pool = await createWorkerPool(worker.url.href, { size: 1 });
    closing.push(() => pool.close());

    expect(pool.size).toBe(1);
  });

  test("a pool needs at least one worker", async () => {
    await expect(createWorkerPool(worker.url, { size: 0 })).rejects.toMatchObject({
      code: "VALIDATION_ERROR",
      message: "Invalid options: /size must be an integer from 1 to 1024, not 0.",
    });
  });

  test("a pool whose workers die again and again is never without one for long", async () => {
    const { calls } = await startPool({ size: 1 });
    const outcomes = new Set<string>();

    // If deaths in a row counted in all, the last pause would be longer than the time limit.
    for (let deaths = 0; deaths < 9; deaths++) {
      outcomes.add(await calls.call("test.die", {}).catch((error) => error.code));
      await vi.waitFor(() => calls.call("test.echo", 1), { timeout: 20_000, interval: 20 });
    }

    expect([...outcomes]).toEqual(["UNAVAILABLE"]);
  });
});
