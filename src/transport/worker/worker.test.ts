import { MessageChannel, Worker } from "node:worker_threads";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { PendingRequestMap } from "../../call/index.ts";
import { localEnvelope } from "../../operation/index.ts";
import { type BundledModule, bundleModule } from "../testing.ts";
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
