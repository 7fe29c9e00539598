import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { afterEach, describe, expect, test, vi } from "vitest";
import { WebSocket as RawSocket } from "ws";
import { PendingRequestMap } from "../../src/call/index.ts";
import { backOffDelay } from "../../src/internal/back-off.ts";
import { findFreePort } from "../../src/internal/testing.ts";
import type { CallError } from "../../src/operation/index.ts";
import { bundleProgram } from "../../src/transport/testing.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { resolveReconnect } from "../../src/transport/websocket/reconnecting-socket.ts";
import { startServer } from "../../src/transport/websocket/testing.ts";
import {
  createWebSocketTransport,
  type WebSocketTransportOptions,
} from "../../src/transport/websocket/web-socket-client.ts";

const closing: Array<() => unknown> = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const program = await bundleProgram(new URL("../support/websocket-server.ts", import.meta.url));

async function startChild(port = 0): Promise<{ child: ChildProcess; url: string; port: number }> {
  const child = fork(program, [String(port)], { execArgv: [] });
  closing.push(() => child.kill("SIGKILL"));
  const [{ port: found }] = (await once(child, "message")) as [{ port: number }];
  return { child, url: `ws://127.0.0.1:${found}/`, port: found };
}

async function dial(url: string, options?: WebSocketTransportOptions): Promise<PendingRequestMap> {
  const calls = new PendingRequestMap(await createWebSocketTransport(url, options));
  closing.push(() => calls.close());
  return calls;
}

const quickly = { reconnect: { first: 20, max: 100 } };

describe("a server that dies", () => {
  test("killed with 500 calls pending: all settle, and calls work again once it is back", async () => {
    const { child, url, port } = await startChild(await findFreePort());
    const calls = await dial(url, quickly);
    const pending = Array.from({ length: 500 }, () => calls.call("test.hang", {}).catch((error) => error));
    const subscription = calls.subscribe("test.count", { to: 1_000_000 });
    await subscription.next();

    child.kill("SIGKILL");
    const errors = await Promise.all(pending);

    expect(new Set(errors.map(({ code, retryable, mayHaveRun }) => `${code} ${retryable} ${mayHaveRun}`))).toEqual(
      new Set(["UNAVAILABLE true true"]),
    );
    await expect(drain(subscription)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(calls.pendingCount).toBe(0);
    await expect(calls.call("test.echo", 1)).rejects.toMatchObject({ code: "UNAVAILABLE", mayHaveRun: false });

    await startChild(port);
    await vi.waitFor(async () => expect((await calls.call("test.echo", 1)).data).toBe(1));
  });

  test("the operations of a client are announced again after a reconnect", async () => {
    const first = await startServer({ acceptOperations: true }, { port: await findFreePort() });
    const client = await createWebSocketTransport(first.url, quickly);
    closing.push(() => client.close());
    await client.serve(["desk.ping"], (frame, reply) => {
      const meta = { source: "local" as const, operationId: frame.operationId, timestamp: 0 };
      void reply({ type: "call.responded", requestId: frame.requestId, output: { data: "pong", meta } });
      return () => {};
    });
    await client.announce([{ namespace: "desk", name: "ping" } as never]);
    await first.close();

    const second = await startServer({ acceptOperations: true }, { port: first.port });
    closing.push(() => second.close());
    const events: unknown[] = [];
    second.transport.watchPeers((event) => events.push(event));
    await vi.waitFor(() => expect(events).toHaveLength(1));

    expect(events).toMatchObject([{ type: "peer.announced", specs: [{ namespace: "desk", name: "ping" }] }]);
    expect((await second.calls.call("desk.ping", {})).data).toBe("pong");
  });

  test("a server that is stopped is detected by the heartbeat", async () => {
    const { child, url } = await startChild();
    const calls = await dial(url, { heartbeat: 1_000, reconnect: false });
    expect((await calls.call("test.echo", 1)).data).toBe(1);

    child.kill("SIGSTOP");
    const ends: string[] = [];
    const unheard = calls.call("test.echo", 1).catch(({ code, mayHaveRun }) => ends.push(`${code} ${mayHaveRun}`));
    const last = calls.call("test.echo", 2, { deadline: Date.now() + 60_000 }).catch(({ code }) => ends.push(code));
    await Promise.all([unheard, last]);

    // Without the heartbeat, the deadline would have ended the call.
    expect(ends).toEqual(["UNAVAILABLE true", "UNAVAILABLE"]);
  });

  test("a client that is stopped is dropped by the server, and its calls are aborted", async () => {
    const server = await startServer({ heartbeat: 500 });
    closing.push(() => server.close());
    const silent = new RawSocket(server.url);
    closing.push(() => silent.terminate());
    await once(silent, "open");
    silent.send('{"type":"call.requested","requestId":"h","operationId":"test.hang"}');
    await vi.waitFor(() => expect(server.seen.started).toBe(1));

    // It does not reply to `link.pinged`, like a stopped process.
    await vi.waitFor(() => expect(server.seen).toMatchObject({ started: 1, aborted: 1 }));

    expect(server.transport.connections).toBe(0);
  });

  test("a server that never completes the handshake fails the connection", async () => {
    const { WebSocketServer } = await import("ws");
    const mute = new WebSocketServer({
      port: 0,
      host: "127.0.0.1",
      handleProtocols: (offered) => [...offered][0] ?? false,
    });
    closing.push(() => {
      for (const client of mute.clients) client.terminate();
      return new Promise((resolve) => mute.close(resolve));
    });
    await once(mute, "listening");
    const { port } = mute.address() as { port: number };

    const dialled = dial(`ws://127.0.0.1:${port}`, { connectTimeout: 100 });

    await expect(dialled).rejects.toMatchObject({ code: "UNAVAILABLE", mayHaveRun: false });
  });

  test("a connection without a server fails immediately", async () => {
    const server = await startServer();
    await server.close();

    await expect(dial(server.url)).rejects.toMatchObject({ code: "UNAVAILABLE", retryable: true, mayHaveRun: false });
  });

  test("attempts to reconnect are spread and their delays grow to the maximum", () => {
    const delays = [0, 1, 2, 10, 1_000].map((attempt) => [
      backOffDelay(attempt, resolveReconnect({}), () => 0),
      backOffDelay(attempt, resolveReconnect({}), () => 1),
    ]);

    expect(delays).toEqual([
      [125, 250],
      [250, 500],
      [500, 1_000],
      [5_000, 10_000],
      [5_000, 10_000],
    ]);
  });
});

describe("a client that does not read", () => {
  test("200 MB of a subscription wait at the producer, and others are served meanwhile", async () => {
    const server = await startServer({ heartbeat: 0 });
    closing.push(() => server.close());
    const other = await dial(server.url);
    const slow = new RawSocket(server.url);
    closing.push(() => slow.terminate());
    await once(slow, "open");
    const request = { type: "call.requested", requestId: "s", operationId: "test.flood", credit: 1_000_000 };

    slow.pause();
    slow.send(JSON.stringify({ ...request, input: { times: 200, size: 1_000_000 } }));
    await vi.waitFor(() => expect(server.seen.sent).toBeGreaterThan(1));
    for (let call = 0; call < 50; call++) await other.call("test.echo", call);

    expect(server.seen.sent).toBeLessThan(50);
    slow.resume();
    await vi.waitFor(() => expect(server.seen.sent).toBe(200));
  });

  test("responses that pile up end the connection, and no other", async () => {
    const server = await startServer({ heartbeat: 0 });
    closing.push(() => server.close());
    const other = await dial(server.url);
    const slow = new RawSocket(server.url);
    closing.push(() => slow.terminate());
    await once(slow, "open");
    const input = "x".repeat(500_000);

    slow.pause();
    for (let call = 0; call < 200; call++) {
      slow.send(JSON.stringify({ type: "call.requested", requestId: `r${call}`, operationId: "test.echo", input }));
    }
    await vi.waitFor(() => expect(server.transport.connections).toBe(1));

    expect((await other.call("test.echo", 1)).data).toBe(1);
  });
});

describe("closing", () => {
  test("calls after close() fail, close() may be called twice, and a call during close() settles", async () => {
    const server = await startServer();
    closing.push(() => server.close());
    const transport = await createWebSocketTransport(server.url);
    const calls = new PendingRequestMap(transport);
    const pending = calls.call("test.hang", {}).catch((error) => error.code);

    await Promise.all([calls.close(), calls.close(), transport.close()]);

    expect(await pending).toBe("UNAVAILABLE");
    await expect(calls.call("test.echo", 1)).rejects.toMatchObject({ code: "UNAVAILABLE", mayHaveRun: false });
    await vi.waitFor(() => expect(server.transport.connections).toBe(0));
  });

  test("a transport that is closed between two attempts to reconnect makes no further one", async () => {
    const server = await startServer();
    const transport = await createWebSocketTransport(server.url, quickly);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    closing.push(() => vi.useRealTimers());
    await server.close();
    while (isConnected(transport)) await new Promise(setImmediate);
    const waiting = vi.getTimerCount();

    await transport.close();

    expect(waiting).toBeGreaterThan(0);
    expect(vi.getTimerCount()).toBe(0);
  });
});

function isConnected(transport: Transport): boolean {
  try {
    transport.request("test.echo", { type: "call.requested", requestId: "r", operationId: "", input: 1 }, () => {});
    return true;
  } catch (error) {
    return (error as CallError).code !== "UNAVAILABLE";
  }
}

async function drain(values: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of values);
}
