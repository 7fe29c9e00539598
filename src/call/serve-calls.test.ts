import { expect, test, vi } from "vitest";
import {
  buildCallHandler,
  createInProcessTransport,
  createRegistry,
  InProcessBus,
  OperationRegistry,
  PendingRequestMap,
  peerSource,
  serveCalls,
} from "../index.ts";
import { deferred, operation, subscription } from "./testing.ts";

const echo = operation("echo", (input) => input);
const whoami = operation("whoami", (_input, { identity }) => identity?.id);

test("a registry is served until it is closed, and its transport with it", async () => {
  const bus = new InProcessBus();
  const calls = new PendingRequestMap(createInProcessTransport(bus));
  const transport = createInProcessTransport(bus);

  const served = await serveCalls(createRegistry({ operations: [echo] }), transport);
  const { data } = await calls.call("test.echo", 1);
  await served.close();
  const later = await calls.call("test.echo", 2).catch(({ code }) => code);

  expect([data, later]).toEqual([1, "OPERATION_NOT_FOUND"]);
  await expect(transport.announce([])).rejects.toMatchObject({ code: "UNAVAILABLE" });
});

test("callers are authenticated, and what is registered later is served too", async () => {
  const target = new EventTarget();
  const registry = new OperationRegistry();
  const authenticate = (token?: string) => (token === "sesame" ? { id: "ali", scopes: [] } : undefined);
  await using _served = await serveCalls(registry, target, { authenticate });
  await using calls = new PendingRequestMap(target);

  registry.register(whoami);

  expect((await calls.call("test.whoami", {}, { token: "sesame" })).data).toBe("ali");
  expect((await calls.call("test.whoami", {}, { token: "other" })).data).toBeUndefined();
});

test("include and exclude select operations, also those that are registered later", async () => {
  const bus = new InProcessBus();
  const registry = new OperationRegistry();
  registry.register(echo);
  const transport = createInProcessTransport(bus);
  await using _served = await serveCalls(registry, transport, { include: ["test.*"], exclude: ["test.who*"] });
  await using calls = new PendingRequestMap(createInProcessTransport(bus));

  registry.register(whoami);

  expect((await calls.call("test.echo", 1)).data).toBe(1);
  await expect(calls.call("test.whoami", {})).rejects.toMatchObject({ code: "OPERATION_NOT_FOUND" });
});

test("running calls may finish while it closes, and subscriptions end", async () => {
  const bus = new InProcessBus();
  await using calls = new PendingRequestMap(createInProcessTransport(bus));
  const [begun, finish] = [deferred<void>(), deferred<string>()];
  const slow = operation("slow", () => {
    begun.resolve();
    return finish.promise;
  });
  const ticks = subscription("ticks", async function* () {
    yield 1;
    await new Promise(() => {});
  });
  const registry = createRegistry({ operations: [slow, ticks] });
  const served = await serveCalls(registry, createInProcessTransport(bus));
  const call = calls.call("test.slow", {});
  await begun.promise;
  const values = calls.subscribe("test.ticks", {});
  await values.next();

  const closing = served.close();
  await expect(values.next()).rejects.toMatchObject({ code: "UNAVAILABLE", retryable: true });
  finish.resolve("done");
  await closing;

  expect((await call).data).toBe("done");
});

test("calls that take too long fail when the time to finish is up", async () => {
  const bus = new InProcessBus();
  await using calls = new PendingRequestMap(createInProcessTransport(bus));
  const begun = deferred<void>();
  const hang = operation("hang", () => {
    begun.resolve();
    return new Promise(() => {});
  });
  const served = await serveCalls(createRegistry({ operations: [hang] }), createInProcessTransport(bus));
  const call = calls.call("test.hang", {}).catch(({ code }) => code);
  await begun.promise;

  await served.close({ timeout: 0 });

  expect(await call).toBe("UNAVAILABLE");
});

test("a map that also makes calls stays open", async () => {
  const bus = new InProcessBus();
  await using peer = new PendingRequestMap(createInProcessTransport(bus));
  await using _peerServed = await serveCalls(createRegistry({ operations: [whoami] }), peer);
  await using calls = new PendingRequestMap(createInProcessTransport(bus));
  const served = await serveCalls(createRegistry({ operations: [echo] }), calls);
  const before = (await peer.call("test.echo", 1)).data;

  await served.close();

  expect(before).toBe(1);
  expect((await calls.call("test.whoami", {}, { identity: { id: "ada", scopes: [] } })).data).toBe("ada");
});

test("a transport that refuses is closed, and the refusal is thrown", async () => {
  let isClosed = false;
  const transport = createInProcessTransport();
  const refusing = Object.assign(Object.create(transport), {
    name: "refusing",
    request: () => () => {},
    serve: async () => {
      throw new Error("no permission");
    },
    close: async () => {
      isClosed = true;
    },
    announce: async () => {},
  });

  await expect(serveCalls(createRegistry({ operations: [echo] }), refusing)).rejects.toThrow("no permission");

  expect(isClosed).toBe(true);
});

test("a map whose transport refuses stays open, and serves nothing later either", async () => {
  const registry = new OperationRegistry();
  registry.register(echo);
  const serve = vi.fn(async () => {
    throw new Error("no permission");
  });
  const transport = Object.assign(Object.create(createInProcessTransport()), {
    name: "refusing",
    request: () => () => {},
    serve,
    close: vi.fn(async () => {}),
    announce: async () => {},
  });

  await expect(serveCalls(registry, new PendingRequestMap(transport))).rejects.toThrow("no permission");
  registry.register(whoami);
  await new Promise(setImmediate);

  expect(serve).toHaveBeenCalledTimes(1);
  expect(transport.close).not.toHaveBeenCalled();
});

test.each([{ defaultTimeout: -1 }, { limits: { pendingCalls: 0 } }])("%j is refused", async (options) => {
  await expect(serveCalls(new OperationRegistry(), new EventTarget(), options)).rejects.toMatchObject({
    code: "VALIDATION_ERROR",
  });
});

test("something that is not a registry or not a transport is refused", async () => {
  await expect(serveCalls({} as never, new EventTarget())).rejects.toThrow("This is not a registry.");
  for (const transport of [{}, undefined, "ws://127.0.0.1"]) {
    await expect(serveCalls(new OperationRegistry(), transport as never)).rejects.toThrow(
      "serveCalls() requires a transport or an EventTarget.",
    );
    expect(() => peerSource(transport as never)).toThrow("peerSource() requires a transport or an EventTarget.");
  }
});

test("options that are not valid are refused before anything is served", async () => {
  const authenticate = "none" as never;

  await expect(serveCalls(new OperationRegistry(), new EventTarget(), { authenticate })).rejects.toThrow(
    "The option authenticate must be a function",
  );
  expect(() => buildCallHandler(undefined as never)).toThrow("buildCallHandler() takes an object, not undefined.");
  expect(() => buildCallHandler({ registry: new OperationRegistry() } as never)).toThrow("must be a PendingRequestMap");
});

test("a call that closing ends is reported by the registry as failed", async () => {
  const bus = new InProcessBus();
  await using calls = new PendingRequestMap(createInProcessTransport(bus));
  const registry = createRegistry({ operations: [operation("slow", () => new Promise(() => {}))] });
  const kinds: string[] = [];
  registry.on("call", (event) => kinds.push(event.kind === "failed" ? event.error.code : event.kind));
  const served = await serveCalls(registry, createInProcessTransport(bus));
  const slow = calls.call("test.slow", {}).catch(({ code }) => code);

  await served.close({ timeout: 0 });

  expect(await slow).toBe("UNAVAILABLE");
  expect(kinds).toEqual(["started", "UNAVAILABLE"]);
});
