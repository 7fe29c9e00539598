import { afterEach, describe, expect, test, vi } from "vitest";
import { buildCallHandler, PendingRequestMap } from "../../src/call/index.ts";
import type { CallError } from "../../src/operation/index.ts";
import { OperationRegistry } from "../../src/registry/index.ts";
import type { BusOptions } from "../../src/transport/bus/index.ts";
import type { Service } from "../services/process.ts";
import { startProxy } from "../services/proxy.ts";
import { type BrokerName, connectBroker } from "./brokers.ts";
import { startChild, startWorker } from "./child.ts";
import { Ledger } from "./ledger.ts";
import { type Report, workOperations } from "./operations.ts";

/** In ms. Peers that are silent for three of them count as dead, and on a busy machine they may only be slow. */
const heartbeat = 1_000;

/** What must hold on every bus when processes, servers and networks fail. */
export function describeFaults(broker: BrokerName, service: Service): void {
  const open: PendingRequestMap[] = [];
  const connect = async (port = service.port, options: BusOptions = { heartbeat }) => {
    const map = new PendingRequestMap(await connectBroker(broker, port, options));
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
    afterEach(async () => {
      if (service.pid === undefined) await service.start();
      await closeAll();
    });

    test("three workers start each of 2,000 calls exactly once", async () => {
      // A busy machine holds peers that do so much up for longer than a short heartbeat bears.
      const slow = { heartbeat: 5_000 };
      await using first = await startWorker(broker, service.port, slow);
      await using second = await startWorker(broker, service.port, slow);
      await using third = await startWorker(broker, service.port, slow);
      const calls = await connect(service.port, slow);
      const ledger = new Ledger(broker);
      const deadline = Date.now() + 90_000;

      await Promise.all(Array.from({ length: 2_000 }, (_, n) => ledger.call(calls, "work.echo", n, { deadline })));

      const children = [first, second, third];
      await vi.waitFor(() => expect(children.flatMap(({ said }) => starts(said))).toHaveLength(2_000));
      for (const [index, { said }] of children.entries()) ledger.add(`worker ${index}`, said);
      expect(ledger.violations()).toEqual([]);
      expect(children.every(({ said }) => said.length > 1)).toBe(true);
    });

    test("calls of a worker that was killed settle by their deadline and may have run", async () => {
      await using worker = await startWorker(broker, service.port, { heartbeat });
      const calls = await connect();
      const ledger = new Ledger(broker);
      const pending = Array.from({ length: 100 }, (_, n) => outcome(ledger.call(calls, "work.hang", n, soon())));
      await vi.waitFor(() => expect(starts(worker.said)).toHaveLength(100));

      worker.kill("SIGKILL");
      ledger.noteKilled("worker");

      const errors = await Promise.all(pending);
      ledger.add("worker", worker.said);
      expect(ledger.violations()).toEqual([]);
      expect(errors.every(({ code }) => code === "TIMEOUT" || code === "UNAVAILABLE")).toBe(true);
      expect(errors.every(({ mayHaveRun }) => mayHaveRun)).toBe(true);
      expect(calls.pendingCount).toBe(0);
    });

    test("a subscription whose worker was killed fails", async () => {
      await using worker = await startWorker(broker, service.port);
      const calls = await connect();
      const values = calls.subscribe("work.count", { n: 3 });
      for (let n = 0; n < 3; n++) await values.next();

      worker.kill("SIGKILL");

      await expect(values.next()).rejects.toMatchObject({ code: "UNAVAILABLE", mayHaveRun: true });
    });

    test("a handler is notified when its caller was killed", async () => {
      const events: string[] = [];
      await serve(({ kind, operation }) => events.push(`${operation} ${kind}`));
      await using caller = await startChild(broker, service.port, { heartbeat, role: "ask" });
      await caller.heard("heard");

      caller.kill("SIGKILL");

      await vi.waitFor(() => expect(events).toEqual(["count started", "count stopped"]));
    });

    test("an aborted call stops its handler on its worker", async () => {
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
    });

    test("calls that are pending when the server is killed fail, and new ones work when it is back", async () => {
      const ledger = new Ledger(broker);
      await serve(ledger.reportOf("worker"));
      const calls = await connect();
      const pending = Array.from({ length: 200 }, (_, n) => outcome(ledger.call(calls, "work.hang", n)));
      await ledger.call(calls, "work.echo", 1);

      const noteHealed = ledger.noteFault("server killed");
      await service.kill("SIGKILL");
      const errors = await Promise.all(pending);
      const offline = await outcome(ledger.call(calls, "work.echo", 2));
      await service.start();
      noteHealed();

      expect(errors.every(({ code, mayHaveRun }) => code === "UNAVAILABLE" && mayHaveRun)).toBe(true);
      expect(offline).toMatchObject({ code: "UNAVAILABLE", mayHaveRun: false });
      await retry((n, options) => ledger.call(calls, "work.echo", n, options));
      expect(ledger.violations()).toEqual([]);
    });

    test("calls that were made while the server was down do not run when it is back", async () => {
      const ledger = new Ledger(broker);
      await serve(ledger.reportOf("worker"));
      const calls = await connect();
      await ledger.call(calls, "work.echo", 0);

      await service.kill("SIGKILL");
      const errors = await Promise.all([1, 2, 3].map((n) => outcome(ledger.call(calls, "work.echo", n))));
      await service.start();
      await retry((n, options) => ledger.call(calls, "work.echo", n, options));

      expect(errors.map(({ code }) => code)).toEqual(["UNAVAILABLE", "UNAVAILABLE", "UNAVAILABLE"]);
      expect(ledger.violations()).toEqual([]);
    });

    test("when connections are reset, pending calls fail and the connections are restored", async () => {
      await using proxy = await startProxy(service.port);
      const ledger = new Ledger(broker);
      await serve(ledger.reportOf("worker"));
      const calls = await connect(proxy.port);
      const pending = Array.from({ length: 100 }, (_, n) => outcome(ledger.call(calls, "work.hang", n)));
      await ledger.call(calls, "work.echo", 1);

      proxy.reset();

      const errors = await Promise.all(pending);
      expect(errors.every(({ code, mayHaveRun }) => code === "UNAVAILABLE" && mayHaveRun)).toBe(true);
      await retry((n, options) => ledger.call(calls, "work.echo", n, options));
      expect(ledger.violations()).toEqual([]);
    });

    test("a caller without a network receives TIMEOUT, and continues when the network is back", async () => {
      await using proxy = await startProxy(service.port);
      const ledger = new Ledger(broker);
      await serve(ledger.reportOf("worker"));
      const calls = await connect(proxy.port);
      await ledger.call(calls, "work.echo", 1);

      proxy.blackhole();
      const error = await outcome(ledger.call(calls, "work.echo", 2, { deadline: Date.now() + 1_000 }));
      proxy.heal();

      expect(error).toMatchObject({ code: "TIMEOUT", mayHaveRun: true });
      await retry((n, options) => ledger.call(calls, "work.echo", n, options));
      expect(ledger.violations()).toEqual([]);
    });

    // NATS delivers what it holds for a worker when the worker is back, so there a handler may start late.
    test.runIf(broker === "redis")(
      "a worker that was disconnected does not run requests that arrive too late",
      async () => {
        await using proxy = await startProxy(service.port);
        const ledger = new Ledger(broker);
        const started: number[] = [];
        const report = ledger.reportOf("worker");
        await serve((event) => {
          report(event);
          if (event.kind === "started") started.push(event.n);
        }, proxy.port);
        const calls = await connect();
        await ledger.call(calls, "work.echo", 1);

        proxy.blackhole();
        const late = Date.now() + 3_200; // The worker counts as dead then.
        await outcome(ledger.call(calls, "work.echo", 2, { deadline: late }));
        await vi.waitUntil(() => Date.now() > late);
        proxy.heal();

        await retry((n, options) => ledger.call(calls, "work.echo", n, options));
        expect(started).not.toContain(2);
        expect(ledger.violations()).toEqual([]);
      },
    );

    test("peers are notified of new peers, of changes, and of peers that leave or die", async () => {
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
      await vi.waitFor(() => expect(events).toEqual([`peer 1 peer.announced ${all}`]));
      killed.kill("SIGKILL");
      await vi.waitFor(() => expect(events).toContain("peer 1 peer.left"));
      const polite = await serve();
      await vi.waitFor(() => expect(events).toContain(`peer 2 peer.announced ${all}`));
      await polite.stop();

      await vi.waitFor(() => expect(events.at(-1)).toBe("peer 2 peer.left"));
      expect(events).toHaveLength(4);
    });

    test("a call above the limit of pending calls is refused, and all calls settle when the transport is closed", async () => {
      await serve();
      const transport = await connectBroker(broker, service.port, { heartbeat });
      const calls = new PendingRequestMap(transport, { limits: { pendingCalls: 1_000 } });
      const pending = Array.from({ length: 1_000 }, (_, n) => outcome(calls.call("work.hang", { n })));

      const tooMany = await outcome(calls.call("work.hang", { n: 1_000 }));
      await calls.close();

      expect(tooMany).toMatchObject({ code: "LIMIT_EXCEEDED", mayHaveRun: false });
      expect(new Set((await Promise.all(pending)).map(({ code }) => code))).toEqual(new Set(["UNAVAILABLE"]));
    });

    test("a subscription of many values to a slow consumer loses none", async () => {
      await serve();
      const calls = await connect();
      let next = 0;

      for await (const { data } of calls.subscribe("work.count", { n: 5_000 })) {
        if (data !== next) break;
        if (next % 1_000 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
        next++;
      }

      expect(next).toBe(5_000);
    });
  });
}

/** Late enough that everything before it has happened, on a busy machine too. */
function soon(): { deadline: number } {
  return { deadline: Date.now() + 60_000 };
}

/** Calls until that works, each time with another number from 100 on. Answers of peers that are not back are lost. */
async function retry(call: (n: number, options: { deadline: number }) => Promise<unknown>): Promise<void> {
  let n = 100;
  await vi.waitFor(() => call(n++, { deadline: Date.now() + 2_000 }));
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
