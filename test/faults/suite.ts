import { afterAll, describe, expect, test, vi } from "vitest";
import { buildCallHandler, PendingRequestMap } from "../../src/call/index.ts";
import type { CallError } from "../../src/operation/index.ts";
import { OperationRegistry } from "../../src/registry/index.ts";
import type { Service } from "../services/process.ts";
import { startProxy } from "../services/proxy.ts";
import { type BrokerName, connectBroker } from "./brokers.ts";
import { startChild, startWorker } from "./child.ts";
import { type Report, workOperations } from "./operations.ts";

const heartbeat = 200;

/** What must hold on every bus when processes, servers and networks fail. */
export function describeFaults(broker: BrokerName, service: Service): void {
  const open: PendingRequestMap[] = [];
  const connect = async (port = service.port) => {
    const map = new PendingRequestMap(await connectBroker(broker, port, { heartbeat }));
    open.push(map);
    return map;
  };
  const serve = async (report?: Report, port?: number) => {
    const map = await connect(port);
    const registry = new OperationRegistry();
    registry.registerAll(workOperations(report));
    const stop = map.handle(buildCallHandler({ registry, callMap: map }));
    await stop.ready;
    return { map, stop };
  };
  const closeAll = async () => {
    await Promise.all(open.splice(0).map((map) => map.close()));
  };

  describe(`faults on ${broker}`, () => {
    afterAll(closeAll);

    test("three workers start each of 10,000 calls exactly once", async () => {
      await using first = await startWorker(broker, service.port);
      await using second = await startWorker(broker, service.port);
      await using third = await startWorker(broker, service.port);
      const calls = await connect();

      const answers = await Promise.all(Array.from({ length: 10_000 }, (_, n) => calls.call("work.echo", { n })));

      const numbers = answers.map(({ data }) => (data as { n: number }).n);
      expect(numbers).toEqual(Array.from({ length: 10_000 }, (_, n) => n));
      const children = [first, second, third];
      await vi.waitFor(() => expect(children.flatMap(({ said }) => starts(said))).toHaveLength(10_000), 10_000);
      expect(new Set(children.flatMap(({ said }) => starts(said))).size).toBe(10_000);
      expect(children.every(({ said }) => said.length > 1)).toBe(true);
      await closeAll();
    });

    test("calls of a worker that was killed settle by their deadline and may have run", async () => {
      await using worker = await startWorker(broker, service.port);
      const calls = await connect();
      const pending = Array.from({ length: 100 }, (_, n) => outcome(calls.call("work.hang", { n }, soon())));
      await vi.waitFor(() => expect(starts(worker.said)).toHaveLength(100), 10_000);

      worker.kill("SIGKILL");

      const errors = await Promise.all(pending);
      expect(errors.every(({ code }) => code === "TIMEOUT" || code === "UNAVAILABLE")).toBe(true);
      expect(errors.every(({ mayHaveRun }) => mayHaveRun)).toBe(true);
      expect(calls.getPendingCount()).toBe(0);
      await closeAll();
    });

    test("a subscription whose worker was killed fails", async () => {
      await using worker = await startWorker(broker, service.port);
      const calls = await connect();
      const values = calls.subscribe("work.count", { n: 3 });
      for (let n = 0; n < 3; n++) await values.next();

      worker.kill("SIGKILL");

      await expect(values.next()).rejects.toMatchObject({ code: "UNAVAILABLE", mayHaveRun: true });
      await closeAll();
    });

    test("a handler hears when its asker was killed", async () => {
      const events: string[] = [];
      await serve(({ kind, operation }) => events.push(`${operation} ${kind}`));
      await using asker = startChild(broker, service.port, { heartbeat, role: "ask" });
      await asker.heard("heard");

      asker.kill("SIGKILL");

      await vi.waitFor(() => expect(events).toEqual(["count started", "count stopped"]), 10_000);
      await closeAll();
    });

    test("a call that is given up stops its handler, on the worker that has it", async () => {
      const events: string[] = [];
      await serve(({ kind, operation }) => events.push(`${operation} ${kind}`));
      await serve(({ kind, operation }) => events.push(`${operation} ${kind}`));
      const calls = await connect();
      const controller = new AbortController();
      const call = outcome(calls.call("work.hang", { n: 1 }, { signal: controller.signal }));
      await vi.waitFor(() => expect(events).toEqual(["hang started"]));

      controller.abort();

      expect(await call).toMatchObject({ code: "ABORTED" });
      await vi.waitFor(() => expect(events).toEqual(["hang started", "hang stopped"]));
      await closeAll();
    });

    test("calls that are pending when the server is killed fail, and new ones work when it is back", async () => {
      await serve();
      const calls = await connect();
      const pending = Array.from({ length: 1_000 }, (_, n) => outcome(calls.call("work.hang", { n })));
      await calls.call("work.echo", { n: 1 });

      await service.kill("SIGKILL");
      const errors = await Promise.all(pending);
      const offline = await outcome(calls.call("work.echo", { n: 2 }));
      await service.start();

      expect(errors.every(({ code, mayHaveRun }) => code === "UNAVAILABLE" && mayHaveRun)).toBe(true);
      expect(offline).toMatchObject({ code: "UNAVAILABLE", mayHaveRun: false });
      await vi.waitFor(async () => expect((await calls.call("work.echo", { n: 3 })).data).toMatchObject({ n: 3 }), {
        timeout: 10_000,
        interval: 50,
      });
      await closeAll();
    });

    test("nothing that was asked while the server was away is run when it is back", async () => {
      const started: number[] = [];
      await serve(({ kind, n }) => kind === "started" && started.push(n));
      const calls = await connect();
      await calls.call("work.echo", { n: 0 });

      await service.kill("SIGKILL");
      const errors = await Promise.all([1, 2, 3].map((n) => outcome(calls.call("work.echo", { n }))));
      await service.start();
      await vi.waitFor(() => calls.call("work.echo", { n: 4 }), { timeout: 10_000, interval: 50 });

      expect(errors.map(({ code }) => code)).toEqual(["UNAVAILABLE", "UNAVAILABLE", "UNAVAILABLE"]);
      expect(started.filter((n) => n < 4)).toEqual([0]);
      await closeAll();
    });

    test("connections that are reset fail what is pending and are made again", async () => {
      await using proxy = await startProxy(service.port);
      await serve();
      const calls = await connect(proxy.port);
      const pending = Array.from({ length: 100 }, (_, n) => outcome(calls.call("work.hang", { n })));
      await calls.call("work.echo", { n: 1 });

      proxy.reset();

      const errors = await Promise.all(pending);
      expect(errors.every(({ code, mayHaveRun }) => code === "UNAVAILABLE" && mayHaveRun)).toBe(true);
      await vi.waitFor(() => calls.call("work.echo", { n: 2 }), { timeout: 10_000, interval: 50 });
      await closeAll();
    });

    test("a caller that is cut off without a word gets TIMEOUT, and works when the network is back", async () => {
      await using proxy = await startProxy(service.port);
      await serve();
      const calls = await connect(proxy.port);
      await calls.call("work.echo", { n: 1 });

      proxy.blackhole();
      const error = await outcome(calls.call("work.echo", { n: 2 }, { deadline: Date.now() + 300 }));
      proxy.heal();

      expect(error).toMatchObject({ code: "TIMEOUT", mayHaveRun: true });
      await vi.waitFor(() => calls.call("work.echo", { n: 3 }), { timeout: 10_000, interval: 50 });
      await closeAll();
    });

    test("a worker that was cut off does not run what came too late", async () => {
      await using proxy = await startProxy(service.port);
      const started: number[] = [];
      await serve(({ kind, n }) => kind === "started" && started.push(n), proxy.port);
      const calls = await connect();
      await calls.call("work.echo", { n: 1 });

      proxy.blackhole();
      const late = Date.now() + 1_600;
      await outcome(calls.call("work.echo", { n: 2 }, { deadline: late }));
      await vi.waitUntil(() => Date.now() > late, { timeout: 5_000 });
      proxy.heal();

      await vi.waitFor(() => calls.call("work.echo", { n: 3 }), { timeout: 15_000, interval: 50 });
      expect(started).not.toContain(2);
      await closeAll();
    });

    test("peers hear of each other, of what changes, and of those who leave or die", async () => {
      const watcher = await connect();
      const events: string[] = [];
      const names = new Map<string, string>();
      watcher.transport.watchPeers((event) => {
        const name = names.get(event.peerId) ?? `peer ${names.size + 1}`;
        names.set(event.peerId, name);
        const specs = event.type === "peer.announced" ? event.specs.map((spec) => spec.name).sort() : [];
        events.push([name, event.type, ...specs].join(" "));
      });
      const all = "again count die echo hang";

      await using killed = await startWorker(broker, service.port, { heartbeat });
      await vi.waitFor(() => expect(events).toEqual([`peer 1 peer.announced ${all}`]), 10_000);
      killed.kill("SIGKILL");
      await vi.waitFor(() => expect(events).toContain("peer 1 peer.left"), 10_000);
      const polite = await serve();
      await vi.waitFor(() => expect(events).toContain(`peer 2 peer.announced ${all}`), 10_000);
      await polite.stop();

      await vi.waitFor(() => expect(events.at(-1)).toBe("peer 2 peer.left"), 10_000);
      expect(events).toHaveLength(4);
      await closeAll();
    });

    test("10,000 calls can be pending, one more is refused, and all settle when the transport is closed", async () => {
      await serve();
      const calls = await connect();
      const pending = Array.from({ length: 10_000 }, (_, n) => outcome(calls.call("work.hang", { n })));

      const tooMany = await outcome(calls.call("work.hang", { n: 10_000 }));
      await calls.close();

      expect(tooMany).toMatchObject({ code: "LIMIT_EXCEEDED", mayHaveRun: false });
      expect(new Set((await Promise.all(pending)).map(({ code }) => code))).toEqual(new Set(["UNAVAILABLE"]));
      await closeAll();
    });

    test("a subscription of many values to a slow consumer loses none", async () => {
      await serve();
      const calls = await connect();
      let next = 0;

      for await (const { data } of calls.subscribe("work.count", { n: 20_000 })) {
        if (data !== next) break;
        if (next % 1_000 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
        next++;
      }

      expect(next).toBe(20_000);
      await closeAll();
    });
  });
}

function soon(): { deadline: number } {
  return { deadline: Date.now() + 3_000 };
}

/** The numbers of the calls that a child has started. */
function starts(said: ReadonlyArray<{ kind: string; n?: number }>): number[] {
  return said.flatMap(({ kind, n }) => (kind === "started" && n !== undefined ? [n] : []));
}

/** What a call that must fail fails with. */
export async function outcome(call: Promise<unknown>): Promise<CallError> {
  return call.then(
    (answer) => Promise.reject(new Error(`It should have failed, but gave ${JSON.stringify(answer)}`)),
    (error) => error as CallError,
  );
}
