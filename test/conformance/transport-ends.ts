import { expect } from "vitest";
import {
  deferred,
  describeSpec,
  exchange,
  operation,
  requested,
  responded,
  sleep,
  subscription,
  until,
} from "../../src/call/testing.ts";
import { OperationRegistry, type OperationSpec, peerSource } from "../../src/index.ts";
import type { Frame, PeerEvent, SendFollowUp } from "../../src/transport/transport.ts";
import type { TransportSuite } from "./transport-suite.ts";

/** Tests of transports whose peers connect, leave or are lost. */
export function checkEnds({ check, ask, serve, rawCaller, rawServer, network }: TransportSuite): void {
  check("serves operations that are registered later, and no longer those that are removed", async () => {
    const { registry } = await serve([operation("first", () => 1)]);
    const calls = await ask({ defaultTimeout: 2_000 });
    registry.register(operation("second", () => 2));

    await until(async () => (await calls.call("test.second", {})).data === 2);
    registry.unregister("test.first");

    await until(async () => {
      const error = await calls.call("test.first", {}).catch((problem) => problem);
      return error.code === "OPERATION_NOT_FOUND" || error.code === "TIMEOUT";
    });
  });

  check("aborts running calls when the caller disconnects", async () => {
    const fired = deferred<void>();
    const started = deferred<void>();
    await serve([
      operation("hang", (_input, { signal }) => {
        signal.addEventListener("abort", () => fired.resolve());
        started.resolve();
        return new Promise(() => {});
      }),
    ]);
    const calls = await ask();
    const call = calls.call("test.hang", {}).catch((problem) => problem);
    await started.promise;

    await calls.close();

    expect(await call).toMatchObject({ code: "UNAVAILABLE", mayHaveRun: true });
    await fired.promise;
  });

  check("fails pending calls with UNAVAILABLE when the server is gone", async () => {
    const started = deferred<void>();
    const hang = operation("hang", () => {
      started.resolve();
      return new Promise(() => {});
    });
    const { map } = await serve([hang]);
    const calls = await ask();
    const call = calls.call("test.hang", {}).catch((problem) => problem);
    await started.promise;

    await map.close();

    expect(await call).toMatchObject({ code: "UNAVAILABLE", retryable: true, mayHaveRun: true });
    expect(calls.pendingCount).toBe(0);
  });

  check("refuses calls after it was closed, and closes twice", async () => {
    await serve([operation("echo", (input) => input)]);
    const calls = await ask();

    await Promise.all([calls.close(), calls.close()]);

    await expect(calls.call("test.echo", {})).rejects.toMatchObject({ code: "UNAVAILABLE", mayHaveRun: false });
    await expect(calls.subscribe("test.echo", {}).next()).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  check("refuses requests after the transport itself was closed", async () => {
    const transport = await rawCaller();
    await transport.close();
    await transport.close(new Error("twice"));

    const refused = (async () => transport.request("test.echo", requested("test.echo", {}), () => {}))();

    await expect(refused).rejects.toMatchObject({ code: "UNAVAILABLE", mayHaveRun: false });
  });

  check("lets running calls finish when it stops serving", async () => {
    const release = deferred<void>();
    const started = deferred<void>();
    const { stop } = await serve([
      operation("slow", async () => {
        started.resolve();
        await release.promise;
        return "finished";
      }),
    ]);
    const calls = await ask();
    const call = calls.call("test.slow", {});
    await started.promise;

    const stopped = stop();
    release.resolve();

    expect((await call).data).toBe("finished");
    await stopped;
  });

  check("ends subscriptions with UNAVAILABLE as soon as it stops serving, and lets calls finish", async () => {
    const release = deferred<void>();
    const started = deferred<void>();
    const ended: string[] = [];
    const { stop } = await serve([
      operation("slow", async () => {
        started.resolve();
        await release.promise;
        return "finished";
      }),
      subscription("endless", async function* (_input, { signal }) {
        try {
          for (let n = 0; ; n++) {
            yield n;
            await sleep(1);
          }
        } finally {
          ended.push(`endless: ${signal.aborted}`);
        }
      }),
      subscription("silent", async function* (_input, { signal }) {
        yield 0;
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        ended.push(`silent: ${signal.aborted}`);
      }),
    ]);
    const calls = await ask();
    const call = calls.call("test.slow", {});
    let begun = 0;
    const outcomes = ["test.endless", "test.silent"].map(async (id) => {
      for await (const { data } of calls.subscribe(id, {})) if (data === 0) begun += 1;
    });
    await started.promise;
    await until(() => begun === 2);

    const stopping = stop();
    const errors = await Promise.all(outcomes.map((outcome) => outcome.catch((problem) => problem)));
    release.resolve();

    expect(errors).toMatchObject(errors.map(() => ({ code: "UNAVAILABLE", retryable: true, mayHaveRun: true })));
    expect((await call).data).toBe("finished");
    await stopping;
    await until(() => ended.length === 2);
    expect(ended.sort()).toEqual(["endless: true", "silent: true"]);
    expect(calls.pendingCount).toBe(0);
  });

  check("ends calls with UNAVAILABLE that take longer than it may take to stop", async () => {
    const fired = deferred<void>();
    const started = deferred<void>();
    const { stop } = await serve([
      operation("hang", (_input, { signal }) => {
        signal.addEventListener("abort", () => fired.resolve());
        started.resolve();
        return new Promise(() => {});
      }),
    ]);
    const calls = await ask();
    const call = calls.call("test.hang", {}).catch((problem) => problem);
    await started.promise;

    await Promise.all([stop({ timeout: 50 }), fired.promise]);

    expect(await call).toMatchObject({ code: "UNAVAILABLE", retryable: true, mayHaveRun: true });
    expect(calls.pendingCount).toBe(0);
  });

  check("delivers credit and abort to the call that they belong to", async () => {
    const server = await rawServer();
    const heard: Frame[] = [];
    const requests = deferred<void>();
    const aborted = deferred<void>();
    let taken = 0;
    await server.serve(["test.raw"], ({ requestId }, reply) => {
      void reply({ type: "call.progressed", requestId, progress: { progress: 0 } });
      return (frame) => {
        heard.push(frame);
        if (frame.type === "call.aborted") aborted.resolve();
      };
    });
    const caller = await rawCaller();
    const [mine, other] = [requested("test.raw", {}, "mine"), requested("test.raw", {}, "other")];
    const onReply = () => {
      taken += 1;
      if (taken === 2) requests.resolve();
    };
    const follow: SendFollowUp = await caller.request("test.raw", mine, onReply);
    await caller.request("test.raw", other, onReply);
    await requests.promise;

    follow({ type: "call.credited", requestId: "mine", count: 3 });
    follow({ type: "call.aborted", requestId: "mine" });
    follow({ type: "call.credited", requestId: "mine", count: 4 });
    await aborted.promise;
    await sleep(10);

    expect(heard.map(({ type, requestId }) => [type, requestId])).toEqual([
      ["call.credited", "mine"],
      ["call.aborted", "mine"],
    ]);
  });

  check("lets no call run on that was aborted at once", async () => {
    const running = new Set<string>();
    const server = await rawServer();
    await server.serve(["test.raw"], (frame, reply) => {
      running.add(frame.requestId);
      if (frame.requestId === "last") void reply(responded(frame, "done"));
      return ({ type, requestId }) => void (type === "call.aborted" && running.delete(requestId));
    });
    const caller = await rawCaller();

    for (let n = 0; n < 100; n++) {
      const requestId = `call ${n}`;
      const follow: SendFollowUp = await caller.request("test.raw", requested("test.raw", {}, requestId), () => {});
      follow({ type: "call.credited", requestId, count: 1 });
      follow({ type: "call.aborted", requestId });
    }
    await exchange(caller, requested("test.raw", {}, "last"), []);

    await until(() => [...running].join() === "last");
  });

  check("drops what is sent after the end of a call", async () => {
    const server = await rawServer();
    await server.serve(["test.raw"], (frame, reply) => {
      void reply(responded(frame, "first"));
      void reply(responded(frame, "second"));
      return () => {};
    });
    const caller = await rawCaller();
    const heard: unknown[] = [];

    await exchange(caller, requested("test.raw", {}), heard);
    await sleep(10);

    expect(heard).toEqual(["first"]);
  });

  check("tells which peers there are, what they serve, and when they leave", async () => {
    const early = await rawServer();
    const spec = describeSpec(operation("first", () => 1));
    await early.announce([spec]);
    const watcher = await rawCaller();
    const events: PeerEvent[] = [];
    watcher.watchPeers((event) => events.push(event));
    await until(() => events.length === 1);

    await early.announce([spec, describeSpec(operation("second", () => 2))]);
    await until(() => events.length === 2);
    await early.close();
    await until(() => events.length === 3);

    expect(events.map((event) => [event.type, "specs" in event ? event.specs.map((one) => one.name) : []])).toEqual([
      ["peer.announced", ["first"]],
      ["peer.announced", ["first", "second"]],
      ["peer.left", []],
    ]);
    expect(new Set(events.map(({ peerId }) => peerId)).size).toBe(1);
    const [first] = events as unknown as [{ specs: OperationSpec[] }];
    expect(first.specs[0]).toEqual(JSON.parse(JSON.stringify(spec)));
  });

  check("knows the operations of the peers that are there when a source of them has loaded", async () => {
    await serve([operation("d", () => 4), operation("c", () => 3)]);
    await serve([operation("b", () => 2), operation("a", () => 1), operation("c", () => 3)]);
    const registry = new OperationRegistry();

    await using _following = await registry.follow(peerSource(await ask()));

    // Whichever peer replied first.
    expect(registry.list().map(({ name }) => name)).toEqual(["b", "a", "c", "d"]);
    expect((await registry.execute("test.d", {})).data).toBe(4);
  });

  check("works again after its link was lost", async () => {
    const quiet = subscription("quiet", async function* (_input, { signal }) {
      yield 0;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    });
    await serve([operation("echo", (input) => input), operation("hang", () => new Promise(() => {})), quiet]);
    const calls = await ask();
    const values = calls.subscribe("test.quiet", {});
    await values.next();
    const pending = calls.call("test.hang", {}).catch((problem) => problem);
    const next = values.next().catch((problem) => problem);

    await network().reconnect!();

    expect(await pending).toMatchObject({ code: "UNAVAILABLE", mayHaveRun: true });
    expect(await next).toMatchObject({ code: "UNAVAILABLE", mayHaveRun: true });
    await until(async () => (await calls.call("test.echo", 2, { deadline: Date.now() + 2_000 })).data === 2);
  });
}
