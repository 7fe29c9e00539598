import { connect as connectNATS, type NatsConnection } from "@nats-io/transport-node";
import { afterAll, describe, expect, test, vi } from "vitest";
import { buildCallHandler, PendingRequestMap, peerSource } from "../../src/call/index.ts";
import { deferred, operation } from "../../src/call/testing.ts";
import type { IOperationDefinition, SourceReport } from "../../src/index.ts";
import { OperationRegistry } from "../../src/registry/index.ts";
import { createNATSTransport, type NATSTransportOptions } from "../../src/transport/nats/index.ts";
import { startNATS } from "../services/nats.ts";
import { startService } from "../services/process.ts";
import { outcome } from "./suite.ts";

const service = await startNATS(`
max_payload: 65536
no_auth_user: all
authorization {
  users: [
    { user: all, password: x }
    { user: caller, password: x, permissions: { publish: ">", subscribe: ["_INBOX.>", "operations.peers"] } }
  ]
}`);
afterAll(() => service?.close());

describe.skipIf(service === undefined)("connections to NATS", () => {
  const servers = `127.0.0.1:${service?.port}`;
  const serve = async (definitions: IOperationDefinition[], options: NATSTransportOptions = { servers }) => {
    const transport = await createNATSTransport(options);
    const map = new PendingRequestMap(transport);
    const registry = new OperationRegistry();
    registry.registerAll(definitions);
    const stop = map.handle(buildCallHandler({ registry, callMap: map }));
    await stop.ready;
    return { transport, map, stop, [Symbol.asyncDispose]: () => map.close() };
  };
  const ask = async () => new PendingRequestMap(await createNATSTransport({ servers }));
  const echo = operation("echo", (input) => input);

  test("responses that leave together and fit one by one arrive, however many bytes their characters have", async () => {
    await using _ = await serve([operation("sized", ({ size }) => "ä".repeat(size))]);
    await using calls = await ask();
    await calls.call("test.sized", { size: 1 });

    const answers = await Promise.all(
      Array.from({ length: 8 }, () => calls.call<string>("test.sized", { size: 20_000 })),
    );

    expect(answers.map(({ data }) => data.length)).toEqual(answers.map(() => 20_000));
  });

  test("a worker whose connection was drained by its owner before a response stays alive", async () => {
    const connection = await connectNATS({ servers });
    const [started, release] = [deferred<void>(), deferred<void>()];
    const hold = operation("hold", () => {
      started.resolve();
      return release.promise;
    });
    await using worker = await serve([hold], { connection });
    await using calls = await ask();
    const controller = new AbortController();
    const lost = outcome(calls.call("test.hold", {}, { signal: controller.signal }));
    await started.promise;

    const drained = connection.drain();
    // When it takes no further message, and is not closed yet.
    await vi.waitUntil(() => isRefusingToPublish(connection), { interval: 0 });
    release.resolve();
    await drained;
    controller.abort();

    expect(await lost).toMatchObject({ code: "ABORTED" });
    expect(await outcome(worker.map.call("test.hold", {}))).toMatchObject({ code: "UNAVAILABLE", mayHaveRun: false });
  });

  test("when its owner closes the connection, pending calls fail and serving can still be stopped", async () => {
    const connection = await connectNATS({ servers });
    const release = deferred<void>();
    const hold = operation("hold", () => release.promise);
    const { map, stop } = await serve([echo, hold], { connection });
    const pending = outcome(map.call("test.hold", {}));
    await map.call("test.echo", {});

    await connection.close();

    expect(await pending).toMatchObject({ code: "UNAVAILABLE", mayHaveRun: true });
    expect(await outcome(map.call("test.echo", {}))).toMatchObject({ code: "UNAVAILABLE", mayHaveRun: false });
    release.resolve();
    await stop();
    await map.close();
    expect(await outcome(createNATSTransport({ connection }))).toMatchObject({ code: "UNAVAILABLE" });
  });

  test("an operation whose spec is larger than a message is reported at the hub, and one that just fits is imported", async () => {
    const reports: SourceReport[] = [];
    await using calls = await ask();
    const hub = new OperationRegistry();
    await hub.follow(peerSource(calls, { onReport: (report) => reports.push(report) }));

    const described = (name: string, size: number) => ({ ...operation(name, () => 1), description: "x".repeat(size) });
    await using _ = await serve([echo, described("large", 50_000), described("huge", 70_000)]);

    await vi.waitFor(() => expect(hub.has("test.large")).toBe(true));
    expect([hub.has("test.echo"), hub.has("test.huge")]).toEqual([true, false]);
    expect(reports.flatMap(({ skipped }) => skipped)).toEqual([
      { where: "test.huge", reason: expect.stringMatching(/cannot announce "test\.huge": its spec is too large\.$/) },
    ]);
    await hub.close();
  });

  test("transports that are opened together are closed one by one", async () => {
    const opened = await Promise.all(Array.from({ length: 4 }, () => serve([echo])));

    for (const [index, { map }] of opened.entries()) {
      for (const other of opened.slice(index)) expect((await other.map.call("test.echo", index)).data).toBe(index);
      await map.close();
    }
  });

  test("closed transports leave nothing on a connection of the caller", async () => {
    const connection = await connectNATS({ servers });
    for (let n = 0; n < 3; n++) {
      const { map } = await serve([echo], { connection });
      await map.close();
    }
    await connection.flush();

    expect(countKept(connection)).toEqual({ subscriptions: 0, listeners: 0 });
    await connection.close();
  });

  test("a request without a reply address is dropped and counted", async () => {
    let starts = 0;
    await using worker = await serve([operation("count", () => ++starts)]);
    const stranger = await connectNATS({ servers });
    const request = { type: "call.requested", requestId: "a", operationId: "test.count", input: {} };
    const replies = [undefined, "nowhere", "operations.peers.x", "_INBOX.>.r1", "..r1", "_INBOX.short.r1"];

    for (const reply of replies) {
      const options = reply === undefined ? undefined : { reply };
      stranger.publish("operations.call.test.count", JSON.stringify(request), options);
    }
    await stranger.flush();

    await vi.waitFor(() => expect(worker.transport.dropped).toBe(replies.length));
    expect(starts).toBe(0);
    await stranger.close();
  });

  test("nothing is published to an address of a peer that is not an inbox", async () => {
    await using _ = await serve([echo]);
    await using calls = await ask();
    const stranger = await connectNATS({ servers });
    const published: string[] = [];
    let inbox = "";
    const spy = (_error: unknown, { subject, reply = "" }: { subject: string; reply?: string }) => {
      if (subject === "operations.call.test.echo") inbox = reply.slice(0, reply.lastIndexOf("."));
      if (!subject.startsWith("_INBOX.")) published.push(subject);
    };
    stranger.subscribe(">", { callback: spy });
    await stranger.flush();
    await calls.call("test.echo", 1);
    await stranger.flush();

    const invalid = ["a b", "x 0\r\n\r\nPUB evil", "*", ">", "evil", "operations.call.test", "", "x".repeat(5_000)];
    for (const address of invalid) {
      stranger.publish(`${inbox}.m`, JSON.stringify({ type: "link.taken", calls: [{ requestId: "r" }], address }));
      stranger.publish(`${inbox}.m`, JSON.stringify({ type: "link.pinged", question: "q", address }));
    }
    await stranger.flush();
    published.length = 0;

    expect((await calls.call("test.echo", 2)).data).toBe(2);
    await stranger.flush();
    expect(published).toEqual(["operations.call.test.echo"]);
    await stranger.close();
  });

  test("a subscription that the server does not allow is an error immediately", async () => {
    const connect = { user: "caller", pass: "x" };
    await using calls = new PendingRequestMap(await createNATSTransport({ servers, connect }));
    const registry = new OperationRegistry();
    registry.register(echo);

    const serving = await outcome(calls.handle(buildCallHandler({ registry, callMap: calls })).ready);
    const inbox = await outcome(createNATSTransport({ servers, connect, inboxPrefix: "_OTHER" }));

    expect(serving).toMatchObject({ code: "UPSTREAM_DENIED", mayHaveRun: false });
    expect(serving.message).toContain("serve test.echo");
    expect(inbox).toMatchObject({ code: "UPSTREAM_DENIED", mayHaveRun: false });
  });
});

test.skipIf(service === undefined)("a server that refuses the credentials for a while is tried again", async () => {
  let password = "right";
  const recipe = { name: "nats-server", stopSignal: "SIGINT" } as const;
  const args = (port: number) => ["-a", "127.0.0.1", "-p", String(port), "--user", "me", "--pass", password];
  await using server = (await startService({ ...recipe, args }))!;
  let attempts = 0;
  const authenticator = () => {
    attempts += 1;
    return { user: "me", pass: "right" };
  };
  const transport = await createNATSTransport({ servers: `127.0.0.1:${server.port}`, connect: { authenticator } });
  await using calls = new PendingRequestMap(transport);

  await server.kill();
  password = "wrong";
  await server.start();
  const refused = attempts;
  await vi.waitFor(() => expect(attempts).toBeGreaterThan(refused + 4));
  await server.kill();
  password = "right";
  await server.start();

  await vi.waitFor(async () => {
    expect(await outcome(calls.call("test.nothing", {}))).toMatchObject({ code: "OPERATION_NOT_FOUND" });
  });
});

interface Internals {
  protocol: { noMorePublishing: boolean; listeners: unknown[]; subscriptions: { subs: Map<number, unknown> } };
}

function isRefusingToPublish(connection: NatsConnection): boolean {
  return (connection as unknown as Internals).protocol.noMorePublishing;
}

/** What the client holds for those who use the connection. */
function countKept(connection: NatsConnection): { subscriptions: number; listeners: number } {
  const { listeners, subscriptions } = (connection as unknown as Internals).protocol;
  return { subscriptions: subscriptions.subs.size, listeners: listeners.length };
}
