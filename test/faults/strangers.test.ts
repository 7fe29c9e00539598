import { afterAll, describe, expect, test, vi } from "vitest";
import { buildCallHandler, type CallHandlerOptions, PendingRequestMap } from "../../src/call/index.ts";
import { operation } from "../../src/call/testing.ts";
import type { IOperationDefinition, OperationContext } from "../../src/index.ts";
import { OperationRegistry } from "../../src/registry/index.ts";
import { startNATS } from "../services/nats.ts";
import { startRedis } from "../services/redis.ts";
import { connectBroker } from "./brokers.ts";
import { joinAsStranger, type Stranger } from "./stranger.ts";

// NATS itself takes no more than that.
const [nats, redis] = await Promise.all([startNATS("max_payload: 67108864"), startRedis()]);
afterAll(async () => {
  await Promise.all([nats?.close(), redis?.close()]);
});

const root = { id: "root", scopes: ["admin"] };
const admin: IOperationDefinition = {
  ...operation("admin", () => "done"),
  accessControl: { requiredScopes: ["admin"] },
};

for (const [broker, service] of [["nats", nats] as const, ["redis", redis] as const]) {
  describe.skipIf(service === undefined)(`strangers on ${broker}`, () => {
    const port = service?.port ?? 0;
    const ask = async () => new PendingRequestMap(await connectBroker(broker, port));
    const serve = async (definitions: IOperationDefinition[], options: Partial<CallHandlerOptions> = {}) => {
      const transport = await connectBroker(broker, port);
      const map = new PendingRequestMap(transport);
      const registry = new OperationRegistry();
      registry.registerAll(definitions);
      await map.handle(buildCallHandler({ registry, callMap: map, ...options })).ready;
      return { transport, [Symbol.asyncDispose]: () => map.close() };
    };
    /** Sends a request and returns the first frame of the reply. */
    const exchange = async (stranger: Stranger, frame: object, operationId = "test.admin") => {
      const request = { type: "call.requested", requestId: crypto.randomUUID(), operationId, input: {}, ...frame };
      await stranger.request(operationId, JSON.stringify(request));
      return vi.waitFor(() => {
        const reply = stranger.heard.find(({ requestId }) => requestId === request.requestId);
        expect(reply).toBeDefined();
        return reply!;
      });
    };

    test("the identity in a raw request is ignored, except on a trusted bus", async () => {
      let starts = 0;
      const count: IOperationDefinition = { ...admin, handler: () => ++starts };
      await using stranger = await joinAsStranger(broker, port);

      const denied = await (async () => {
        await using _ = await serve([count]);
        return await exchange(stranger, { identity: root }); // before the worker is closed
      })();
      const startsBefore = starts;
      await using _ = await serve([count], { trustedBus: true });
      const believed = await exchange(stranger, { identity: root });

      expect(denied).toMatchObject({ type: "call.error", code: "ACCESS_DENIED", mayHaveRun: false });
      expect(startsBefore).toBe(0);
      expect(believed).toMatchObject({ type: "call.responded", output: { data: 1 } });
    });

    test("trust cannot be sent: neither in the frame, nor in its input or metadata", async () => {
      await using _ = await serve([admin]);
      await using stranger = await joinAsStranger(broker, port);
      const trust = { trusted: true, isTrusted: true, internal: true, context: { trusted: true } };

      const replies = [
        await exchange(stranger, trust),
        await exchange(stranger, { input: { ...trust, identity: root } }),
        await exchange(stranger, { metadata: { ...trust, identity: root } }),
        await exchange(stranger, { identity: { ...root, trusted: true } }),
        await exchange(stranger, { parentRequestId: "trusted", metadata: { trusted: true } }),
      ];

      expect(replies.map(({ code }) => code)).toEqual(Array.from(replies, () => "ACCESS_DENIED"));
    });

    test("invalid times are limited to what is allowed, or refused", async () => {
      const left: number[] = [];
      const note = (_input: unknown, { deadline }: OperationContext) => left.push(deadline! - Date.now());
      await using worker = await serve([operation("note", note)], { maxTimeout: 60_000 });
      await using stranger = await joinAsStranger(broker, port);
      const until9999 = Date.UTC(9999, 11, 31);

      const allowed = [
        await exchange(stranger, { timeout: until9999 }, "test.note"),
        await exchange(stranger, { timeout: 1e300 }, "test.note"),
        await exchange(stranger, {}, "test.note"),
      ];
      const ended = [
        await exchange(stranger, { timeout: -5 }, "test.note"),
        await exchange(stranger, { timeout: 0 }, "test.note"),
      ];
      const request = '"type":"call.requested","requestId":"invalid","operationId":"test.note","input":{}';
      await stranger.request("test.note", `{${request},"timeout":"soon"}`);
      await stranger.request("test.note", `{${request},"timeout":null}`);
      await stranger.request("test.note", `~{${request},"timeout":["~number","NaN"]}`);
      await vi.waitFor(() => expect(worker.transport.dropped).toBe(3));

      expect(allowed.map(({ type }) => type)).toEqual(["call.responded", "call.responded", "call.responded"]);
      expect(ended.map(({ code, mayHaveRun }) => [code, mayHaveRun])).toEqual([
        ["TIMEOUT", false],
        ["TIMEOUT", false],
      ]);
      expect(left).toHaveLength(3);
      expect(left.every((time) => time > 0 && time <= 60_000)).toBe(true);
    });

    test("a repeated request is started once, while it runs and after it has ended", async () => {
      const starts: string[] = [];
      let release = () => {};
      const hold = operation("hold", (_input, { requestId }) => {
        starts.push(requestId);
        return new Promise<string>((resolve) => {
          release = () => resolve("done");
        });
      });
      await using _ = await serve([hold, operation("echo", (input) => input)]);
      await using stranger = await joinAsStranger(broker, port);
      const twice = JSON.stringify({ type: "call.requested", requestId: "r", operationId: "test.hold", input: {} });

      await stranger.request("test.hold", twice);
      await stranger.request("test.hold", twice);
      await vi.waitFor(() => expect(starts).toEqual(["r"]));
      release();
      await vi.waitFor(() => expect(stranger.heard).toHaveLength(1));
      await stranger.request("test.hold", twice);
      await exchange(stranger, {}, "test.echo");
      await exchange(stranger, {}, "test.echo");

      expect(starts).toEqual(["r"]);
      expect(stranger.heard.filter(({ requestId }) => requestId === "r")).toHaveLength(1);
    });

    test("each of two workers starts a repeated request at most once", async () => {
      const starts: string[] = [];
      const note = (who: string) => operation("note", (_input, { requestId }) => starts.push(`${requestId} ${who}`));
      await using _first = await serve([note("first")]);
      await using _second = await serve([note("second")]);
      await using stranger = await joinAsStranger(broker, port);
      const request = { type: "call.requested", requestId: "r", operationId: "test.note", input: {} };

      for (let n = 0; n < 50; n++) await stranger.request("test.note", JSON.stringify(request));
      for (let n = 0; n < 20; n++) await exchange(stranger, {}, "test.note");

      const own = starts.filter((start) => start.startsWith("r "));
      expect(own.length).toBe(new Set(own).size);
      expect(own.length).toBeGreaterThan(0);
    });

    test("a third party that knows the id of a call can neither respond to it, nor end it, nor send values", async () => {
      let requestId = "";
      let release = () => {};
      const hold = operation("hold", (_input, context) => {
        requestId = context.requestId;
        return new Promise<string>((resolve) => {
          release = () => resolve("the truth");
        });
      });
      await using _ = await serve([hold]);
      await using calls = await ask();
      await using stranger = await joinAsStranger(broker, port);
      const call = calls.call("test.hold", {});
      await vi.waitFor(() => expect(requestId).not.toBe(""));
      const output = { data: "a lie", meta: { source: "local", operationId: "test.hold", timestamp: 0 } };
      const lies = [
        { type: "call.responded", requestId, output },
        { type: "call.error", requestId, code: "X", message: "x", retryable: false, mayHaveRun: false },
        { type: "call.aborted", requestId },
        { type: "call.credited", requestId, count: 1_000 },
      ];

      for (const lie of lies) {
        await stranger.abort("test.hold", JSON.stringify(lie));
        await stranger.abort("test.hold", `@${stranger.address}\n${JSON.stringify(lie)}`);
        await stranger.gossip(JSON.stringify(lie));
        await stranger.request("test.hold", JSON.stringify(lie));
      }
      // The worker has read all of it: a later request has its reply.
      await exchange(stranger, { operationId: "test.nothing" }, "test.hold");
      release();

      expect((await call).data).toBe("the truth");
      expect(calls.ignoredCount).toBe(0);
    });

    test("two peers with the same request id receive their own responses", async () => {
      await using _ = await serve([operation("echo", (input) => input)]);
      await using one = await joinAsStranger(broker, port);
      await using two = await joinAsStranger(broker, port);
      const request = { type: "call.requested", requestId: "same", operationId: "test.echo" };

      await one.request("test.echo", JSON.stringify({ ...request, input: "one" }));
      await two.request("test.echo", JSON.stringify({ ...request, input: "two" }));
      await vi.waitFor(() => expect([one.heard.length, two.heard.length]).toEqual([1, 1]));

      expect([one.heard, two.heard]).toMatchObject([[{ output: { data: "one" } }], [{ output: { data: "two" } }]]);
    });

    test("malformed envelopes are dropped and counted", async () => {
      await using worker = await serve([operation("echo", (input) => input)]);
      await using stranger = await joinAsStranger(broker, port);
      const malformed = [
        { type: "call.imagined", requestId: "a" },
        { type: "call.requested", requestId: "x".repeat(10_000), operationId: "test.echo" },
        { type: "call.requested", requestId: "", operationId: "test.echo" },
        { type: "call.requested", requestId: 7, operationId: "test.echo" },
        { type: "call.requested", operationId: "test.echo" },
        { type: "call.requested", requestId: "a", operationId: "x".repeat(10_000) },
        { type: "call.requested", requestId: "a", operationId: "test.echo", metadata: [] },
        { type: "call.requested", requestId: "a", operationId: "test.echo", credit: -1 },
      ];

      for (const frame of malformed) await stranger.request("test.echo", JSON.stringify(frame));
      await stranger.request("test.echo", '{"type":"call.requested",\n"requestId":"a"');
      await vi.waitFor(() => expect(worker.transport.dropped).toBe(malformed.length + 1));
      const multiLine = await exchange(stranger, { requestId: "a\nb: c" }, "test.echo");

      expect(multiLine).toMatchObject({ type: "call.responded", requestId: "a\nb: c" });
    });

    test("malformed data of up to 64 MB is dropped, wherever it is sent, and all peers continue", async () => {
      await using worker = await serve([operation("echo", (input) => input)]);
      await using calls = await ask();
      await using stranger = await joinAsStranger(broker, port);
      const lines = "\n".repeat(8 * 1024 * 1024);

      const dropped = (count: number) => vi.waitFor(() => expect(worker.transport.dropped).toBe(count));
      await stranger.request("test.echo", "x".repeat(64 * 1024 * 1024 - 1024));
      await dropped(1);
      await stranger.abort("test.echo", lines);
      await dropped(2);
      await stranger.gossip(lines);
      await dropped(3);

      expect((await calls.call("test.echo", 1)).data).toBe(1);
    });
  });
}
