import { connect as connectNATS } from "@nats-io/transport-node";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { buildCallHandler, PendingRequestMap } from "../../src/call/index.ts";
import { operation } from "../../src/call/testing.ts";
import type { IOperationDefinition } from "../../src/index.ts";
import { OperationRegistry } from "../../src/registry/index.ts";
import { createNATSTransport, type NATSTransport, type NATSTransportOptions } from "../../src/transport/nats/index.ts";
import { startNATS } from "../services/nats.ts";
import { outcome } from "./suite.ts";

const service = await startNATS(`
max_payload: 65536
authorization {
  users: [
    { user: all, password: x }
    { user: ada, password: x, permissions: {
      publish: ["operations.>", "_INBOX_ada.>", "_INBOX.>"], subscribe: ["_INBOX_ada.>", "operations.peers"] } }
    { user: bob, password: x, permissions: { publish: ["operations.peers", "_INBOX.>"], subscribe: ["_INBOX.>"] } }
    { user: dan, password: x, permissions: { publish: [">"], subscribe: ["_INBOX.>", "operations.*.test.mine"] } }
    { user: eve, password: x, permissions: { publish: [">"], subscribe: ["_INBOX.>"] } }
  ]
}`);
afterAll(() => service?.close());

describe.skipIf(service === undefined)("calls over NATS", () => {
  const servers = `127.0.0.1:${service?.port}`;
  const joined: NATSTransport[] = [];
  afterEach(async () => {
    await Promise.all(joined.splice(0).map((transport) => transport.close()));
  });
  const join = async (user = "all", options: NATSTransportOptions = {}) => {
    const transport = await createNATSTransport({ servers, connect: { user, pass: "x" }, ...options });
    joined.push(transport);
    return transport;
  };
  const serve = async (definitions: IOperationDefinition[]) => {
    const transport = await join();
    const map = new PendingRequestMap(transport);
    const registry = new OperationRegistry();
    registry.registerAll(definitions);
    const stop = map.handle(buildCallHandler({ registry, callMap: map }));
    await stop.ready;
    return { map, stop, transport };
  };

  test("operations with unusual names are reached by exactly their names", async () => {
    const names = [
      "plain",
      "with blank",
      "*",
      ">",
      "a.b",
      "a..b",
      ".",
      "=20=",
      "ÄÖ 🚀",
      "x".repeat(256),
      "🚀".repeat(128),
    ];
    await serve(names.map((name) => operation(name, () => name)));
    const calls = new PendingRequestMap(await join());

    const answers = await Promise.all(names.map((name) => calls.call(`test.${name}`, {})));
    const others = await Promise.all(
      ["a", "b", "a.b.c", "=", " "].map((name) => outcome(calls.call(`test.${name}`, {}))),
    );

    expect(answers.map(({ data }) => data)).toEqual(names);
    expect(new Set(others.map(({ code }) => code))).toEqual(new Set(["OPERATION_NOT_FOUND"]));
  });

  test("a response above the server's limit is PAYLOAD_TOO_LARGE, and one at the limit arrives", async () => {
    await serve([operation("sized", ({ size }) => "x".repeat(size))]);
    const calls = new PendingRequestMap(await join());

    const error = await outcome(calls.call("test.sized", { size: 65_536 }));
    const { data } = await calls.call<string>("test.sized", { size: 65_000 });

    expect(error).toMatchObject({ code: "PAYLOAD_TOO_LARGE", mayHaveRun: true });
    expect(data).toHaveLength(65_000);
  });

  test("a user that may read other inboxes does not see responses to a custom prefix", async () => {
    await serve([operation("secret", () => "for ada")]);
    const eve = await connectNATS({ servers, user: "eve", pass: "x" });
    const seen: string[] = [];
    eve.subscribe("_INBOX.>", { callback: (_error, message) => void seen.push(message.string()) });
    await eve.flush();
    const calls = new PendingRequestMap(await join("ada", { inboxPrefix: "_INBOX_ada" }));

    const { data } = await calls.call("test.secret", {});
    await eve.flush();

    expect(data).toBe("for ada");
    expect(seen.filter((text) => text.includes("ada"))).toEqual([]);
    await eve.close();
  });

  test("restarting three workers one after the other under load fails no call", async () => {
    const echo = operation("echo", ({ n }) => new Promise((resolve) => setTimeout(() => resolve(n), 5)));
    const workers = await Promise.all([serve([echo]), serve([echo]), serve([echo])]);
    const calls = new PendingRequestMap(await join());
    let restarted = 0;
    const callers = Array.from({ length: 10 }, async (_, caller) => {
      const answers: unknown[] = [];
      // Each caller continues until a call that began after the last restart has succeeded.
      for (let last = false; !last; ) {
        last = restarted === workers.length;
        answers.push((await calls.call("test.echo", { n: caller })).data);
      }
      return new Set(answers);
    });

    for (const { stop, map } of workers) {
      await serve([echo]);
      await calls.call("test.echo", { n: "between" });
      await stop();
      await map.close();
      restarted += 1;
    }

    const results = await Promise.allSettled(callers);
    expect(results).toEqual(callers.map((_, caller) => ({ status: "fulfilled", value: new Set([caller]) })));
  });

  test("a caller that may not call an operation is denied immediately", async () => {
    const { map: serving } = await serve([operation("echo", (input) => input)]);
    const calls = new PendingRequestMap(await join("bob"));

    const answers = await Promise.all([1, 2].map((n) => outcome(calls.call("test.echo", n))));

    expect(answers).toMatchObject(Array(2).fill({ code: "UPSTREAM_DENIED", retryable: false }));
    expect(answers[0]?.message).toContain("call test.echo");
    await calls.close();
    await serving.close();
  });

  test("a worker that may serve one of two operations serves neither, and receives an error", async () => {
    const { map: serving } = await serve([operation("mine", () => "theirs"), operation("other", () => "theirs")]);
    const transport = await join("dan");
    const calls = new PendingRequestMap(await join());

    const refused = await outcome(transport.serve(["test.mine", "test.other"], () => () => {}));
    const answers = await Promise.all(Array.from({ length: 20 }, () => calls.call("test.mine", {})));

    expect(refused).toMatchObject({ code: "UPSTREAM_DENIED", mayHaveRun: false });
    expect(refused.message).toContain("serve test.other");
    expect(new Set(answers.map(({ data }) => data))).toEqual(new Set(["theirs"]));
    await transport.close();
    await calls.close();
    await serving.close();
  });

  test("malformed messages on the bus are dropped and counted", async () => {
    const { transport } = await serve([operation("echo", (input) => input)]);
    const calls = new PendingRequestMap(await join());
    const stranger = await connectNATS({ servers, user: "all", pass: "x" });

    stranger.publish("operations.call.test.echo", "no JSON");
    stranger.publish("operations.call.test.echo", new Uint8Array([0xff, 0xfe]), { reply: "somewhere" });
    stranger.publish("operations.call.test.echo", '{"type":"call.requested"}');
    stranger.publish("operations.peers", '{"type":"link.specs","peerId":7}');
    stranger.publish("operations.abort.test.echo", "@\n[]");
    await stranger.flush();

    await vi.waitFor(() => expect(transport.dropped).toBe(5));
    expect((await calls.call("test.echo", 1)).data).toBe(1);
    await stranger.close();
  });

  test("a connection of the caller stays open, and prefixes separate peers", async () => {
    const connection = await connectNATS({ servers, user: "all", pass: "x" });
    await serve([operation("echo", (input) => input)]);
    const calls = new PendingRequestMap(await createNATSTransport({ connection }));
    const apart = new PendingRequestMap(await createNATSTransport({ connection, prefix: "other" }));

    expect((await calls.call("test.echo", 1)).data).toBe(1);
    expect(await outcome(apart.call("test.echo", 1))).toMatchObject({ code: "OPERATION_NOT_FOUND" });
    await calls.close();
    await apart.close();

    expect(connection.isClosed()).toBe(false);
    await connection.close();
  });

  test("a server that is not there is UNAVAILABLE, and prefixes must be subjects", async () => {
    const error = await outcome(createNATSTransport({ servers: "127.0.0.1:1" }));

    expect(error).toMatchObject({ code: "UNAVAILABLE", mayHaveRun: false });
    await expect(createNATSTransport({ servers, prefix: "a b" })).rejects.toThrow(TypeError);
    await expect(createNATSTransport({ servers, inboxPrefix: ">" })).rejects.toThrow(TypeError);
  });
});
