import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  buildCallHandler,
  type CallHandlerOptions,
  PendingRequestMap,
  type PendingRequestMapOptions,
} from "../../src/call/index.ts";
import { CallError, type IOperationDefinition, OperationRegistry, type OperationSpec } from "../../src/index.ts";
import type { Frame, PeerEvent, SendFollowUp, Transport } from "../../src/transport/transport.ts";
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
} from "./transport-helpers.ts";
import { wireValues } from "./wire-values.ts";

/** Peers that can reach each other over one kind of transport. */
export interface TransportNetwork {
  /** A new peer that asks. */
  asker(): Promise<Transport>;
  /** A new peer that serves; askers made before or after reach it. */
  server(): Promise<Transport>;
  /** Breaks every link, without a word to either side, and lets it come back. Absent where there is no link. */
  reconnect?(): Promise<void>;
  /** Bytes that a message may have; absent where there is no limit. Tests want it small, such as 64 KiB. */
  maxMessage?: number;
  /** Ends what is left. Peers have been closed before. */
  close(): Promise<void>;
}

/** Tests that a transport does not take part in, each with the reason. */
export interface TransportSuiteOptions {
  skip?: Record<string, string>;
}

/** What every transport does. One file per transport calls this with a maker of networks. */
export function describeTransport(
  name: string,
  createNetwork: () => Promise<TransportNetwork>,
  { skip = {} }: TransportSuiteOptions = {},
): void {
  const unknown = new Set(Object.keys(skip));
  const check = (title: string, run: () => Promise<void>) => {
    unknown.delete(title);
    if (skip[title] === undefined) test(title, run);
    else test.skip(`${title} (${skip[title]})`, run);
  };

  describe(`${name} as a transport`, () => {
    let network: TransportNetwork;
    let maps: PendingRequestMap[];
    let transports: Transport[];

    beforeEach(async () => {
      network = await createNetwork();
      maps = [];
      transports = [];
    });
    afterEach(async () => {
      await Promise.all(maps.map((map) => map.close()));
      await Promise.all(transports.map((transport) => transport.close()));
      await network.close();
    });

    const rawAsker = async () => track(await network.asker());
    const rawServer = async () => track(await network.server());
    const track = (transport: Transport) => {
      transports.push(transport);
      return transport;
    };
    const ask = async (options?: PendingRequestMapOptions) => {
      const map = new PendingRequestMap(await network.asker(), options);
      maps.push(map);
      return map;
    };
    const serve = async (definitions: IOperationDefinition[], options: Partial<CallHandlerOptions> = {}) => {
      const map = new PendingRequestMap(await network.server());
      maps.push(map);
      const registry = new OperationRegistry();
      registry.registerAll(definitions);
      const stop = map.handle(buildCallHandler({ registry, callMap: map, trustedBus: true, ...options }));
      await stop.ready;
      return { map, registry, stop };
    };

    check("gives the answer of the operation to the one who asked", async () => {
      await serve([operation("echo", (input) => ({ got: input }))]);
      const calls = await ask();

      const envelope = await calls.call("test.echo", { a: 1 });

      expect(envelope).toEqual({
        data: { got: { a: 1 } },
        meta: { source: "local", operationId: "test.echo", timestamp: expect.any(Number) },
      });
      expect(calls.getPendingCount()).toBe(0);
    });

    for (const [kind, value] of Object.entries(wireValues)) {
      check(`carries ${kind} both ways as it is`, async () => {
        const seen: unknown[] = [];
        const note = (input: unknown) => {
          seen.push(input);
          return input;
        };
        await serve([operation("echo", note)]);
        const calls = await ask();

        const { data } = await calls.call("test.echo", value);

        expect(seen).toStrictEqual([value]);
        expect(data).toStrictEqual(value);
      });
    }

    check("carries errors in data with their name, message and cause", async () => {
      await serve([operation("echo", () => new RangeError("too far", { cause: new Error("why") }))]);
      const calls = await ask();

      const { data } = await calls.call<RangeError>("test.echo", {});

      expect(data).toBeInstanceOf(Error);
      expect([data.name, data.message]).toEqual(["RangeError", "too far"]);
    });

    check("refuses what cannot travel with EXECUTION_ERROR and its path", async () => {
      const cyclic: Record<string, unknown> = {};
      cyclic["self"] = cyclic;
      await serve([operation("echo", (input) => input), operation("code", () => ({ deep: [() => {}] }))]);
      const calls = await ask();

      await expect(calls.call("test.echo", cyclic)).rejects.toMatchObject({
        code: "EXECUTION_ERROR",
        mayHaveRun: false,
      });
      await expect(calls.call("test.echo", { a: Symbol("x") })).rejects.toMatchObject({ code: "EXECUTION_ERROR" });
      await expect(calls.call("test.code", {})).rejects.toMatchObject({
        code: "EXECUTION_ERROR",
        message: expect.stringContaining("/deep/0"),
        mayHaveRun: true,
      });
      expect((await calls.call("test.echo", 1)).data).toBe(1);
    });

    check("refuses messages above its limit at once, to either side", async () => {
      const limit = network.maxMessage!;
      let starts = 0;
      await serve([
        operation("echo", (input) => {
          starts += 1;
          return input;
        }),
        operation("large", () => "x".repeat(limit + 1)),
      ]);
      const calls = await ask();

      const asked = calls.call("test.echo", "x".repeat(limit + 1));
      const answered = calls.call("test.large", {});

      await expect(asked).rejects.toMatchObject({ code: "PAYLOAD_TOO_LARGE", mayHaveRun: false });
      await expect(answered).rejects.toMatchObject({ code: "PAYLOAD_TOO_LARGE", mayHaveRun: true });
      expect(starts).toBe(0);
      expect((await calls.call("test.echo", "x".repeat(limit / 2))).data).toHaveLength(limit / 2);
    });

    check("fails at once when nobody serves the operation", async () => {
      await serve([operation("echo", (input) => input)]);
      const calls = await ask();

      await expect(calls.call("test.ecko", {})).rejects.toMatchObject({
        code: "OPERATION_NOT_FOUND",
        mayHaveRun: false,
      });
      expect(calls.getPendingCount()).toBe(0);
    });

    check("serves operations that are registered later, and no longer those that are removed", async () => {
      const { registry } = await serve([operation("first", () => 1)]);
      const calls = await ask({ defaultTimeout: 500 });
      registry.register(operation("second", () => 2));

      await until(async () => (await calls.call("test.second", {})).data === 2);
      registry.unregister("test.first");

      await until(async () => {
        const error = await calls.call("test.first", {}).catch((problem) => problem);
        return error.code === "OPERATION_NOT_FOUND" || error.code === "TIMEOUT";
      });
    });

    check("tells an error with code, message, details and flags", async () => {
      const details = { at: new Date(0), list: [1n] };
      await serve([
        operation("fail", () => {
          throw new CallError("NO_MONEY", "Nothing left.", details, { retryable: true });
        }),
      ]);
      const calls = await ask();

      const error = await calls.call("test.fail", {}).catch((problem) => problem);

      expect(error).toBeInstanceOf(CallError);
      const { code, message, retryable, mayHaveRun } = error;
      expect({ code, message, details: error.details, retryable, mayHaveRun }).toStrictEqual({
        code: "NO_MONEY",
        message: "Nothing left.",
        details,
        retryable: true,
        mayHaveRun: true,
      });
      expect(error.stack).not.toContain("conformance/transport.ts");
    });

    check("runs each request once when several serve it", async () => {
      const starts = new Map<unknown, number>();
      const note = operation("note", ({ n }) => {
        starts.set(n, (starts.get(n) ?? 0) + 1);
        return n;
      });
      await serve([note]);
      await serve([note]);
      await serve([note]);
      const calls = await ask();

      await Promise.all(Array.from({ length: 300 }, (_, n) => calls.call("test.note", { n })));

      expect([...starts.values()]).toEqual(Array.from({ length: 300 }, () => 1));
    });

    check("spreads requests over those who serve them", async () => {
      await serve([operation("who", () => "a")]);
      await serve([operation("who", () => "b")]);
      const calls = await ask();

      const answers = await Promise.all(Array.from({ length: 100 }, () => calls.call("test.who", {})));

      expect(new Set(answers.map(({ data }) => data))).toEqual(new Set(["a", "b"]));
    });

    check("replies to the asker only, also when two use one request id", async () => {
      const server = await rawServer();
      await server.serve(["test.raw"], (frame, reply) => {
        setTimeout(() => void reply(responded(frame, (frame.input as { who: string }).who)), 5);
        return () => {};
      });
      const [one, two] = [await rawAsker(), await rawAsker()];
      const heard: Record<string, unknown[]> = { one: [], two: [] };

      await Promise.all([
        exchange(one, requested("test.raw", { who: "one" }, "same-id"), heard["one"]!),
        exchange(two, requested("test.raw", { who: "two" }, "same-id"), heard["two"]!),
      ]);

      expect(heard).toEqual({ one: ["one"], two: ["two"] });
    });

    check("keeps 200 answers with the calls that they belong to", async () => {
      await serve([operation("echo", ({ n, ms }) => sleep(ms).then(() => n))]);
      const calls = await ask();

      const answers = await Promise.all(
        Array.from({ length: 200 }, (_, n) => calls.call("test.echo", { n, ms: (n * 7) % 13 })),
      );

      expect(answers.map(({ data }) => data)).toEqual(Array.from({ length: 200 }, (_, n) => n));
    });

    check("tells progress in order, before the answer", async () => {
      await serve([
        operation("work", async (_input, context) => {
          for (const progress of [1, 2, 3]) context.progress({ progress, total: 3, message: `step ${progress}` });
          await sleep(1);
          return "done";
        }),
      ]);
      const calls = await ask();
      const heard: unknown[] = [];

      const { data } = await calls.call("test.work", {}, { onProgress: (progress) => heard.push(progress) });

      expect([...heard, data]).toEqual([
        { progress: 1, total: 3, message: "step 1" },
        { progress: 2, total: 3, message: "step 2" },
        { progress: 3, total: 3, message: "step 3" },
        "done",
      ]);
    });

    check("aborts the handler when the caller gives up", async () => {
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
      const controller = new AbortController();
      const call = calls.call("test.hang", {}, { signal: controller.signal }).catch((problem) => problem);
      await started.promise;

      controller.abort("enough");

      expect(await call).toMatchObject({ code: "ABORTED", cause: "enough", mayHaveRun: true });
      await fired.promise;
      expect(calls.getPendingCount()).toBe(0);
    });

    check("ends a call at its deadline on both sides", async () => {
      const fired = deferred<unknown>();
      await serve([
        operation("hang", (_input, { signal, deadline }) => {
          signal.addEventListener("abort", () => fired.resolve(typeof deadline));
          return new Promise(() => {});
        }),
      ]);
      const calls = await ask();

      const error = await calls.call("test.hang", {}, { deadline: Date.now() + 150 }).catch((problem) => problem);

      expect(error).toMatchObject({ code: "TIMEOUT", retryable: true });
      expect(await fired.promise).toBe("number");
    });

    check("does not start a call whose time is up or that was aborted", async () => {
      let starts = 0;
      await serve([operation("count", () => starts++)]);
      const calls = await ask();

      await expect(calls.call("test.count", {}, { deadline: Date.now() - 1 })).rejects.toMatchObject({
        code: "TIMEOUT",
        mayHaveRun: false,
      });
      await expect(calls.call("test.count", {}, { signal: AbortSignal.abort() })).rejects.toMatchObject({
        code: "ABORTED",
        mayHaveRun: false,
      });
      await calls.call("test.count", {});
      expect(starts).toBe(1);
    });

    check("gives the values of a subscription in order and then its end", async () => {
      await serve([
        subscription("count", async function* ({ upTo }) {
          for (let n = 0; n < upTo; n++) yield n;
        }),
      ]);
      const calls = await ask();
      const values: unknown[] = [];

      for await (const { data } of calls.subscribe("test.count", { upTo: 500 })) values.push(data);

      expect(values).toEqual(Array.from({ length: 500 }, (_, n) => n));
      expect(calls.getPendingCount()).toBe(0);
    });

    check("gives the error of a subscription after its values", async () => {
      await serve([
        subscription("count", async function* () {
          yield 1;
          yield 2;
          throw new CallError("BROKEN", "It broke.");
        }),
      ]);
      const calls = await ask();
      const values: unknown[] = [];

      const error = await (async () => {
        for await (const { data } of calls.subscribe("test.count", {})) values.push(data);
      })().catch((problem) => problem);

      expect([values, error.code]).toEqual([[1, 2], "BROKEN"]);
    });

    check("keeps a producer no further ahead than its credit", async () => {
      let produced = 0;
      const ended = deferred<void>();
      await serve([
        subscription("count", async function* () {
          try {
            for (;;) {
              produced += 1;
              yield produced;
            }
          } finally {
            ended.resolve();
          }
        }),
      ]);
      const calls = await ask();
      const values = calls.subscribe("test.count", {}, { credit: 10 });

      for (let n = 0; n < 25; n++) await values.next();
      await sleep(30);
      const ahead = produced - 25;
      await values.return!();

      expect(ahead).toBeGreaterThanOrEqual(0);
      expect(ahead).toBeLessThanOrEqual(11);
      await ended.promise;
    });

    check("ends the producer when the consumer leaves", async () => {
      const ended = deferred<string>();
      await serve([
        subscription("ticks", async function* (_input, { signal }) {
          try {
            yield 0;
            await new Promise((resolve) => signal.addEventListener("abort", resolve));
          } finally {
            ended.resolve(`aborted: ${signal.aborted}`);
          }
        }),
      ]);
      const calls = await ask();

      for await (const { data } of calls.subscribe("test.ticks", {})) {
        expect(data).toBe(0);
        break;
      }

      expect(await ended.promise).toBe("aborted: true");
      expect(calls.getPendingCount()).toBe(0);
    });

    check("fails a silent subscription with TIMEOUT", async () => {
      await serve([
        subscription("quiet", async function* (_input, { signal }) {
          yield 0;
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
        }),
      ]);
      const calls = await ask();
      const values = calls.subscribe("test.quiet", {}, { idleTimeout: 60 });

      expect((await values.next()).value.data).toBe(0);
      await expect(values.next()).rejects.toMatchObject({ code: "TIMEOUT" });
    });

    check("aborts what it serves when the asker is gone", async () => {
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
      expect(calls.getPendingCount()).toBe(0);
    });

    check("refuses calls after it was closed, and closes twice", async () => {
      await serve([operation("echo", (input) => input)]);
      const calls = await ask();

      await Promise.all([calls.close(), calls.close()]);

      await expect(calls.call("test.echo", {})).rejects.toMatchObject({ code: "UNAVAILABLE", mayHaveRun: false });
      await expect(calls.subscribe("test.echo", {}).next()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    });

    check("refuses requests after the transport itself was closed", async () => {
      const transport = await rawAsker();
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

    check("delivers credit and abort to the call that they belong to", async () => {
      const server = await rawServer();
      const heard: Frame[] = [];
      const arrived = deferred<void>();
      await server.serve(["test.raw"], () => (frame) => {
        heard.push(frame);
        if (frame.type === "call.aborted") arrived.resolve();
      });
      const asker = await rawAsker();
      const [mine, other] = [requested("test.raw", {}, "mine"), requested("test.raw", {}, "other")];
      const follow: SendFollowUp = await asker.request("test.raw", mine, () => {});
      await asker.request("test.raw", other, () => {});

      follow({ type: "call.credited", requestId: "mine", count: 3 });
      follow({ type: "call.aborted", requestId: "mine" });
      follow({ type: "call.credited", requestId: "mine", count: 4 });
      await arrived.promise;
      await sleep(10);

      expect(heard.map(({ type, requestId }) => [type, requestId])).toEqual([
        ["call.credited", "mine"],
        ["call.aborted", "mine"],
      ]);
    });

    check("drops what is sent after the end of a call", async () => {
      const server = await rawServer();
      await server.serve(["test.raw"], (frame, reply) => {
        void reply(responded(frame, "first"));
        void reply(responded(frame, "second"));
        return () => {};
      });
      const asker = await rawAsker();
      const heard: unknown[] = [];

      await exchange(asker, requested("test.raw", {}), heard);
      await sleep(10);

      expect(heard).toEqual(["first"]);
    });

    check("tells which peers there are, what they serve, and when they leave", async () => {
      const early = await rawServer();
      const spec = describeSpec(operation("first", () => 1));
      await early.announce([spec]);
      const watcher = await rawAsker();
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

    check("settles 2,000 calls at once and leaves nothing pending", async () => {
      await serve([operation("echo", (input) => input)]);
      const calls = await ask();

      const answers = await Promise.all(Array.from({ length: 2_000 }, (_, n) => calls.call("test.echo", n)));

      expect(answers.every(({ data }, n) => data === n)).toBe(true);
      expect([calls.getPendingCount(), calls.getIgnoredCount()]).toEqual([0, 0]);
    });

    check("works again after its link was lost", async () => {
      await serve([operation("echo", (input) => input), operation("hang", () => new Promise(() => {}))]);
      const calls = await ask();
      await calls.call("test.echo", 1);
      const pending = calls.call("test.hang", {}).catch((problem) => problem);

      await network.reconnect!();

      expect(await pending).toMatchObject({ code: "UNAVAILABLE", mayHaveRun: true });
      await until(async () => (await calls.call("test.echo", 2)).data === 2);
    });

    test("skips only tests that there are", () => {
      expect([...unknown]).toEqual([]);
    });
  });
}
