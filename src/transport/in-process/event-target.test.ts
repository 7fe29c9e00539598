import { afterEach, describe, expect, test, vi } from "vitest";
import { operation, subscription, until } from "../../call/testing.ts";
import { buildCallHandler, localEnvelope, OperationRegistry, PendingRequestMap, peerSource } from "../../index.ts";
import type { CallRequested, OnRequest, ReplyFrame, Transport } from "../transport.ts";
import { createEventTargetTransport, type EventTargetLike } from "./index.ts";

const transports: Transport[] = [];
afterEach(async () => {
  for (const transport of transports.splice(0)) await transport.close();
});

const maps: PendingRequestMap[] = [];
afterEach(async () => {
  for (const map of maps.splice(0)) await map.close();
});

function mapAt(target: EventTargetLike, options?: { defaultTimeout: number }): PendingRequestMap {
  const map = new PendingRequestMap(target, options);
  maps.push(map);
  return map;
}

/** Carries every event of the protocol from one target to the other, as JSON. */
function bridge(one: EventTarget, other: EventTarget): void {
  const calls = ["requested", "responded", "progressed", "credited", "completed", "aborted", "error"];
  const types = [...calls.map((name) => `call.${name}`), "peer.announced", "peer.left"];
  const passed = new WeakSet<Event>();
  const pass = (to: EventTarget) => (event: Event) => {
    if (passed.has(event)) return;
    const copy = new CustomEvent(event.type, { detail: JSON.parse(JSON.stringify((event as CustomEvent).detail)) });
    passed.add(copy);
    to.dispatchEvent(copy);
  };
  for (const type of types) {
    one.addEventListener(type, pass(other));
    other.addEventListener(type, pass(one));
  }
}

function join(target: EventTarget): Transport {
  const transport = createEventTargetTransport(target);
  transports.push(transport);
  return transport;
}

function request(requestId: string): CallRequested {
  return { type: "call.requested", requestId, operationId: "test.hang", input: 1 };
}

const hang = () => vi.fn<OnRequest>(() => () => {});

describe("an EventTarget", () => {
  test("that delivers a request twice starts it once, also with two servers", async () => {
    const target = new EventTarget();
    const servers = [hang(), hang()];
    for (const server of servers) await join(target).serve(["test.hang"], server);

    for (let time = 0; time < 2; time++) {
      target.dispatchEvent(new CustomEvent("call.requested", { detail: request("r-1") }));
    }

    expect(servers.map((server) => server.mock.calls.length)).toEqual([1, 0]);
  });

  test("delivers a request to one server if that server responds during the dispatch", async () => {
    const target = new EventTarget();
    const starts: string[] = [];
    for (const name of ["first", "second"]) {
      const registry = new OperationRegistry();
      registry.register(operation("note", () => starts.push(name)));
      const map = mapAt(target);
      await map.handle(buildCallHandler({ registry, callMap: map })).ready;
    }
    const replies: unknown[] = [];
    target.addEventListener("call.responded", (event) => replies.push((event as CustomEvent).detail.requestId));

    const detail = { requestId: "r-1", operationId: "test.note", input: {} };
    target.dispatchEvent(new CustomEvent("call.requested", { detail }));
    await until(() => replies.length > 0);

    expect([starts, replies]).toEqual([["first"], ["r-1"]]);
  });

  test("brings a request to one of the handlers that listen to it themselves", async () => {
    const target = new EventTarget();
    const starts: string[] = [];
    for (const name of ["first", "second"]) {
      const registry = new OperationRegistry();
      registry.register(operation("note", () => starts.push(name)));
      const handler = buildCallHandler({ registry, callMap: mapAt(target) });
      target.addEventListener("call.requested", (event) => void handler((event as CustomEvent).detail));
    }

    await mapAt(target).call("test.note", {});

    expect(starts).toEqual(["first"]);
  });

  test("may be any object with its three methods", async () => {
    const inner = new EventTarget();
    const target: EventTargetLike = {
      addEventListener: (type, listener) => inner.addEventListener(type, listener),
      removeEventListener: (type, listener) => inner.removeEventListener(type, listener),
      dispatchEvent: (event) => inner.dispatchEvent(event),
    };
    const registry = new OperationRegistry();
    registry.register(operation("echo", (input) => input));
    const map = mapAt(target);
    await map.handle(buildCallHandler({ registry, callMap: map })).ready;

    expect((await mapAt(target).call("test.echo", { a: 1 })).data).toEqual({ a: 1 });
  });

  test("brings announcements as events, also through a bridge and to peers that start late", async () => {
    const [near, far] = [new EventTarget(), new EventTarget()];
    bridge(near, far);
    const registry = new OperationRegistry();
    registry.register(operation("nothing", () => undefined));
    const serving = mapAt(far);
    await serving.handle(buildCallHandler({ registry, callMap: serving })).ready;
    const events: string[] = [];
    for (const type of ["peer.announced", "peer.left"]) far.addEventListener(type, () => events.push(type));
    const hub = new OperationRegistry();
    const calls = mapAt(near);

    await hub.follow(peerSource(calls));
    const envelope = await hub.execute("test.nothing", {});
    registry.register(operation("later", () => undefined));
    await until(() => hub.getSpec("test.later") !== undefined);
    await serving.close();

    expect(envelope).toStrictEqual({
      data: undefined,
      meta: { source: "local", operationId: "test.nothing", timestamp: expect.any(Number) },
    });
    expect(hub.getAllSpecs()).toEqual([]);
    expect(new Set(events)).toEqual(new Set(["peer.announced", "peer.left"]));
    await hub.close();
  });

  test("has no listener left when its transports are closed", async () => {
    const listening = new Map<string, number>();
    const count = (type: string, by: number) => listening.set(type, (listening.get(type) ?? 0) + by);
    const target: EventTargetLike = {
      addEventListener: (type) => count(type, 1),
      removeEventListener: (type) => count(type, -1),
      dispatchEvent: () => true,
    };
    const transports = [createEventTargetTransport(target), createEventTargetTransport(target)];

    for (const transport of transports) await transport.close();

    expect(listening.size).toBe(9);
    expect([...listening.values()].every((left) => left === 0)).toBe(true);
  });

  test("fails a subscription that no server accepts with TIMEOUT, and keeps an accepted one without values open", async () => {
    const target = new EventTarget();
    const registry = new OperationRegistry();
    registry.register(
      subscription("quiet", async function* (_input, { signal }) {
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      }),
    );
    const serving = mapAt(target);
    await serving.handle(buildCallHandler({ registry, callMap: serving })).ready;
    const calls = mapAt(target, { defaultTimeout: 20 });
    let hasEnded = false;
    const quiet = calls.subscribe("test.quiet", {});
    const silent = quiet.next().finally(() => {
      hasEnded = true;
    });

    const missing = calls.subscribe("test.missing", {}).next();

    await expect(missing).rejects.toMatchObject({
      code: "TIMEOUT",
      message: 'No server accepted the subscription to "test.missing" within 20 ms.',
      retryable: true,
      mayHaveRun: false,
    });
    expect([hasEnded, calls.pendingCount]).toEqual([false, 1]);
    await quiet.return!();
    await silent;
  });

  test("whose transport is closed is notified once of the end of a call, as caller and as server", async () => {
    const transport = join(new EventTarget());
    const aborts: string[] = [];
    await transport.serve(["test.hang"], () => (followUp) => void aborts.push(followUp.type));
    const replies: ReplyFrame[] = [];
    await transport.request("test.hang", request("r-1"), (reply) => replies.push(reply));

    await transport.close();

    expect(replies).toMatchObject([{ type: "call.error", code: "UNAVAILABLE" }]);
    expect(aborts).toEqual(["call.aborted"]);
  });

  test("refuses a second request with the id of a pending one", async () => {
    const target = new EventTarget();
    await join(target).serve(["test.hang"], hang());
    const caller = join(target);
    const replies: ReplyFrame[] = [];
    await caller.request("test.hang", request("r-1"), (reply) => replies.push(reply));

    const second = () => caller.request("test.hang", request("r-1"), () => {});

    expect(second).toThrow(expect.objectContaining({ code: "EXECUTION_ERROR", mayHaveRun: false }));
    await caller.close();
    expect(replies).toMatchObject([{ type: "call.error", code: "UNAVAILABLE" }]);
  });

  test("that emits events which are not frames harms no call", async () => {
    const target = new EventTarget();
    const server = hang();
    await join(target).serve(["test.hang"], server);

    for (const detail of [undefined, null, 5, "call.requested", [], { requestId: 1 }, { requestId: "r" }]) {
      for (const type of ["call.requested", "call.responded", "call.error", "call.aborted", "call.credited"]) {
        target.dispatchEvent(new CustomEvent(type, { detail }));
      }
    }
    target.dispatchEvent(new Event("call.requested"));

    expect(server).not.toHaveBeenCalled();
  });
});

describe("a function alone as a handler", () => {
  test.each([
    ["in process", () => undefined],
    ["over an EventTarget", () => new EventTarget()],
  ])("receives every request that no other handler serves by name, %s", async (_, createTarget) => {
    const target = createTarget();
    const map = target === undefined ? new PendingRequestMap() : mapAt(target);
    const bare = map.handle(({ requestId, operationId, input }) => {
      if (operationId === "test.ticks") {
        for (const n of [1, 2]) map.respond(requestId, localEnvelope(n, operationId));
        return map.complete(requestId);
      }
      map.respond(requestId, localEnvelope({ bare: input }, operationId));
    });
    const registry = new OperationRegistry();
    registry.register(operation("echo", (input) => input));
    await map.handle(buildCallHandler({ registry, callMap: map })).ready;
    await bare.ready;

    const values: unknown[] = [];
    for await (const { data } of map.subscribe("test.ticks", {})) values.push(data);
    const answers = [(await map.call("test.echo", 1)).data, (await map.call("any.thing", 2)).data];
    await bare();

    expect([values, answers]).toEqual([
      [1, 2],
      [1, { bare: 2 }],
    ]);
    const options = { deadline: Date.now() + 50 };
    await expect(map.call("any.thing", 3, options)).rejects.toMatchObject({ mayHaveRun: target !== undefined });
    await map.close();
  });

  test("does not run a request that was withdrawn in the same turn", async () => {
    const map = mapAt(new EventTarget());
    const handler = vi.fn();
    await map.handle(handler).ready;
    const controller = new AbortController();

    const call = map.call("any.thing", {}, { signal: controller.signal }).catch(({ code }) => code);
    controller.abort();

    expect(await call).toBe("ABORTED");
    expect(handler).not.toHaveBeenCalled();
  });

  test("is refused by a transport that serves operations by name", async () => {
    const inner = join(new EventTarget());
    const transport: Transport = {
      name: "by name",
      request: (id, frame, onReply) => inner.request(id, frame, onReply),
      serve: (ids, onRequest) => inner.serve(ids, onRequest),
      announce: async () => {},
      watchPeers: () => () => {},
      close: () => inner.close(),
    };

    expect(() => new PendingRequestMap(transport).handle(() => {})).toThrow(
      "The by name transport serves operations by name. Add an operations() method to the handler that lists them.",
    );
  });
});
