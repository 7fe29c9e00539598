import { Type } from "typebox";
import { describe, expect, test, vi } from "vitest";
import {
  CallError,
  type IOperationDefinition,
  localEnvelope,
  OperationRegistry,
  type OperationSpec,
  type SourceReport,
  subscribe,
} from "../index.ts";
import { checkAccess, createOperator, isOperator } from "../operation/inside.ts";
import { createInProcessTransport, InProcessBus } from "../transport/in-process/index.ts";
import type { CallRequested, PeerEvent, Transport } from "../transport/transport.ts";
import { buildCallHandler, PendingRequestMap, peerSource } from "./index.ts";
import { toPeerIdentity } from "./peers.ts";
import { describeSpec, operation, subscription, until } from "./testing.ts";

async function startWorker(bus: InProcessBus, definitions: IOperationDefinition[]) {
  const map = new PendingRequestMap(createInProcessTransport(bus));
  const registry = new OperationRegistry();
  registry.registerAll(definitions);
  const stop = map.handle(buildCallHandler({ registry, callMap: map }));
  await stop.ready;
  return { map, registry };
}

async function startHub(bus: InProcessBus, onReport?: Parameters<typeof peerSource>[1]) {
  const map = new PendingRequestMap(createInProcessTransport(bus));
  const registry = new OperationRegistry();
  const following = await registry.follow(peerSource(map, onReport));
  return { map, registry, following };
}

test("operations of workers are ordinary operations of the hub, as long as a worker serves them", async () => {
  const bus = new InProcessBus();
  const hub = await startHub(bus);
  const one = await startWorker(bus, [operation("echo", (input) => ({ one: input }))]);
  const two = await startWorker(bus, [
    operation("echo", (input) => ({ one: input })),
    subscription("ticks", async function* () {
      yield 1;
      yield 2;
    }),
  ]);

  expect(hub.registry.getAllSpecs().map(({ name, type }) => [name, type])).toEqual([
    ["echo", "query"],
    ["ticks", "subscription"],
  ]);
  expect((await hub.registry.execute("test.echo", 5)).data).toEqual({ one: 5 });
  await one.map.close();
  expect((await hub.registry.execute("test.echo", 6)).data).toEqual({ one: 6 });
  await two.map.close();

  expect(hub.registry.getAllSpecs()).toEqual([]);
});

test("operations that are there when following begins are registered and reported once", async () => {
  const bus = new InProcessBus();
  await startWorker(bus, [operation("echo", (input) => input)]);
  const registry = new OperationRegistry();
  const changes: string[] = [];
  registry.on("change", ({ kind, operationId }) => changes.push(`${kind} ${operationId}`));
  const reports: SourceReport[] = [];

  await registry.follow(peerSource(createInProcessTransport(bus)), { onReport: (report) => reports.push(report) });

  expect(changes).toEqual(["added test.echo"]);
  expect(reports).toEqual([{ imported: ["test.echo"], skipped: [], warnings: [] }]);
});

test("operations that a worker registers or removes later follow", async () => {
  const bus = new InProcessBus();
  const hub = await startHub(bus);
  const worker = await startWorker(bus, [operation("first", () => 1)]);

  worker.registry.register(operation("second", () => 2));
  worker.registry.unregister("test.first");

  await until(() => hub.registry.has("test.second") && !hub.registry.has("test.first"));
  expect((await hub.registry.execute("test.second", {})).data).toBe(2);
});

test("envelopes of a peer are not normalised again and keep their drift", async () => {
  const bus = new InProcessBus();
  const hub = await startHub(bus);
  const outputSchema = Type.Object({ id: Type.String(), name: Type.String({ default: "x" }) });
  await startWorker(bus, [{ ...operation("task", () => ({ id: 1, extra: true })), outputSchema }]);

  const envelope = await hub.registry.execute("test.task", {});

  expect(envelope.data).toEqual({ id: "1", name: "x" });
  expect(envelope.meta.drift?.map(({ kind, path }) => [kind, path]).sort()).toEqual([
    ["converted", "/id"],
    ["filled", "/name"],
    ["stripped", "/extra"],
  ]);
});

test("the hub does not change data that the peer's check policy left unchanged", async () => {
  const bus = new InProcessBus();
  const hub = await startHub(bus);
  const meta = { drift: [{ path: "/id", kind: "mismatch" as const }] };
  const handler = () => {
    const envelope = localEnvelope({ id: [1] }, "test.task");
    return { ...envelope, meta: { ...envelope.meta, ...meta } };
  };
  await startWorker(bus, [{ ...operation("task", handler), outputSchema: Type.Unknown() }]);

  expect((await hub.registry.execute("test.task", {})).meta.drift).toEqual(meta.drift);
});

test("errors of a peer reach the caller as they are, and a caller around it as nested ones", async () => {
  const bus = new InProcessBus();
  const hub = await startHub(bus);
  await startWorker(bus, [
    { ...operation("strict", () => 1), inputSchema: Type.Object({ a: Type.String() }) },
    operation("domain", () => {
      throw new CallError("NO_MONEY", "Nothing left.", { left: 0 });
    }),
  ]);
  hub.registry.register(operation("outer", (input, { env }) => env["test"]!["inner"]!(input)));
  hub.registry.register(operation("inner", (input, { env }) => env["test"]!["strict"]!(input)));

  await expect(hub.registry.execute("test.strict", {})).rejects.toMatchObject({
    code: "VALIDATION_ERROR",
    mayHaveRun: false,
  });
  await expect(hub.registry.execute("test.domain", {})).rejects.toMatchObject({
    code: "NO_MONEY",
    details: { left: 0 },
  });
  await expect(hub.registry.execute("test.inner", {})).rejects.toMatchObject({
    code: "EXECUTION_ERROR",
    details: { nested: { operationId: "test.strict", code: "VALIDATION_ERROR" } },
  });
});

test("a nested call that leaves for a peer is checked there against the original identity", async () => {
  const bus = new InProcessBus();
  const hub = await startHub(bus);
  await startWorker(bus, [
    {
      ...operation("secret", (_input, { identity, parentRequestId }) => [identity?.id, parentRequestId]),
      accessControl: { requiredScopes: ["admin"] },
    },
  ]);
  hub.registry.register(operation("outer", (_input, { env }) => env["test"]!["secret"]!({})));

  const low = hub.registry.execute("test.outer", {}, { identity: { id: "eve", scopes: [] } });
  const high = hub.registry.execute("test.outer", {}, { identity: { id: "ada", scopes: ["admin"] } });

  await expect(low).rejects.toMatchObject({ code: "EXECUTION_ERROR", details: { nested: { code: "ACCESS_DENIED" } } });
  expect((await high).data).toEqual(["ada", expect.any(String)]);
});

test("an abort at the hub reaches the handler of the worker", async () => {
  const bus = new InProcessBus();
  const hub = await startHub(bus);
  const reached = vi.fn();
  await startWorker(bus, [
    operation("hang", (_input, { signal }) => {
      signal.addEventListener("abort", reached);
      return new Promise(() => {});
    }),
  ]);
  const controller = new AbortController();
  const call = hub.registry.execute("test.hang", {}, { signal: controller.signal });

  controller.abort("enough");

  await expect(call).rejects.toMatchObject({ code: "ABORTED", cause: "enough" });
  expect(reached).toHaveBeenCalledTimes(1);
});

test("local beats remote, and a peer with another spec is reported and not merged", async () => {
  const bus = new InProcessBus();
  const reports: unknown[] = [];
  const hub = await startHub(bus, { onReport: ({ warnings }) => reports.push(...warnings.map(({ where }) => where)) });
  hub.registry.register(operation("own", () => "local"));
  await startWorker(bus, [operation("own", () => "remote"), operation("shared", () => 1)]);
  await startWorker(bus, [{ ...operation("shared", () => 2), version: "2.0.0" }]);

  expect((await hub.registry.execute("test.own", {})).data).toBe("local");
  expect(hub.registry.getSpec("test.shared")?.version).toBe("1.0.0");
  expect(reports).toEqual(["test.shared"]);
});

test("a hub does not offer to its peers what it has from them", async () => {
  const bus = new InProcessBus();
  const hub = await startHub(bus);
  await startWorker(bus, [operation("far", () => 1)]);
  hub.registry.register(operation("near", () => 2));

  const handler = buildCallHandler({ registry: hub.registry, callMap: hub.map });

  expect(handler.operations().map(({ name }) => name)).toEqual(["near"]);
});

describe("peers that a test plays", () => {
  /** A source over a transport whose announcements the test controls, and what it reports. */
  async function listen() {
    let say: (event: PeerEvent) => void = () => {};
    const transport: Transport = {
      name: "stage",
      request: () => () => {},
      serve: async () => async () => {},
      announce: async () => {},
      watchPeers(listener) {
        say = listener;
        return () => {};
      },
      close: async () => {},
    };
    const reports: SourceReport[] = [];
    const source = peerSource(transport, { onReport: (report) => reports.push(report) });
    await source.load();
    const announce = (peerId: string, specs: OperationSpec[]) => say({ type: "peer.announced", peerId, specs });
    return { source, announce, reports };
  }

  test("a peer whose name contains control characters cannot add a line to a report", async () => {
    const { announce, reports } = await listen();
    const spec = describeSpec(operation("shared", () => 1));

    announce("first", [spec]);
    announce("evil\n2030-01-01 all is well", [{ ...spec, version: "2.0.0" }]);

    expect(reports.flatMap(({ warnings }) => warnings)).toEqual([
      {
        where: "test.shared",
        reason:
          'The peer "evil\\n2030-01-01 all is well" announces "test.shared" with a different spec than the first peer. Its spec is ignored.',
      },
    ]);
  });

  test("an error that a spec throws when it is read is reported briefly", async () => {
    const { announce, reports } = await listen();
    const spec = describeSpec(operation("unusual", () => 1));
    const failing = () => {
      throw new Error("x".repeat(1_000_000));
    };

    announce("first", [{ ...spec, outputSchema: { toJSON: failing } }]);

    const reasons = reports.flatMap(({ skipped }) => skipped.map(({ reason }) => reason));
    expect(reasons).toHaveLength(1);
    expect(reasons[0]?.length).toBeLessThan(1_000);
  });
});

describe("a subscription to a followed operation", () => {
  async function follow() {
    const bus = new InProcessBus();
    const requests: CallRequested[] = [];
    const aborts: string[] = [];
    const server = createInProcessTransport(bus);
    await server.serve(["test.ticks"], (frame) => {
      requests.push(frame);
      return ({ type }) => aborts.push(type);
    });
    await server.announce([describeSpec(subscription("ticks", async function* () {}))]);
    const hub = await startHub(bus);
    return { hub, requests, aborts };
  }

  test("ends after its idleTimeout, and the peer is notified", async () => {
    const { hub, aborts } = await follow();

    await expect(subscribe(hub.registry, "test.ticks", {}, { idleTimeout: 30 }).next()).rejects.toMatchObject({
      code: "TIMEOUT",
      message: '"test.ticks" yielded no value within its idleTimeout of 30 ms.',
    });
    await until(() => aborts.length > 0);
    expect(aborts).toEqual(["call.aborted"]);
  });
});

test("an operator is at a peer an ordinary identity with the rights that the rule requires", () => {
  const operator = createOperator();
  const task = { resourceType: "task", resourceAction: "edit", resourceId: "/id" };
  const rule = { requiredScopes: ["write"], requiredScopesAny: ["a", "b"], ...task };

  const identity = toPeerIdentity(operator, rule)!;

  expect(identity).toEqual({ id: "operator", scopes: ["write", "a", "b"], resources: { "task:*": ["edit"] } });
  expect(isOperator(identity)).toBe(false);
  expect(checkAccess(rule, identity, { id: "1" })).toBe(true);
  const ann = { id: "ann", scopes: [] };
  expect(toPeerIdentity(ann, rule)).toBe(ann);
});
