import { once } from "node:events";
import { afterEach, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { createWebSocketTransport, type WebSocketServerOptions } from "../../src/transport/websocket/index.ts";
import { startServer, type TestServer } from "../../src/transport/websocket/testing.ts";

const closing: Array<() => unknown> = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function serve(options: WebSocketServerOptions = {}): Promise<TestServer> {
  const server = await startServer(options);
  closing.push(() => server.close());
  return server;
}

/** A client that sends arbitrary frames, and the frames that it receives. */
async function join({ url }: TestServer): Promise<{ socket: WebSocket; heard: Array<Record<string, unknown>> }> {
  const socket = new WebSocket(url);
  closing.push(() => socket.terminate());
  const heard: Array<Record<string, unknown>> = [];
  socket.on("message", (data) => {
    for (const line of String(data).split("\n")) if (line.startsWith("{")) heard.push(JSON.parse(line));
  });
  await once(socket, "open");
  return { socket, heard };
}

test("a client cannot respond to the call of another client", async () => {
  const server = await serve({ acceptOperations: true });
  const desk = await createWebSocketTransport(server.url);
  closing.push(() => desk.close());
  let requestId = "";
  let answer = () => {};
  await desk.serve(["desk.ask"], (frame, reply) => {
    requestId = frame.requestId;
    const meta = { source: "local" as const, operationId: frame.operationId, timestamp: 0 };
    answer = () => void reply({ type: "call.responded", requestId, output: { data: "the truth", meta } });
    return () => {};
  });
  const stranger = await join(server);
  const call = server.calls.call("desk.ask", {});
  await vi.waitFor(() => expect(requestId).not.toBe(""));

  const output = { data: "a lie", meta: { source: "local", operationId: "desk.ask", timestamp: 0 } };
  stranger.socket.send(JSON.stringify({ type: "call.responded", requestId, output }));
  const error = { code: "X", message: "x", retryable: false, mayHaveRun: false };
  stranger.socket.send(JSON.stringify({ type: "call.error", requestId, ...error }));
  stranger.socket.send(JSON.stringify({ type: "link.pinged" }));
  await vi.waitFor(() => expect(stranger.heard.some(({ type }) => type === "link.ponged")).toBe(true));
  answer();

  expect((await call).data).toBe("the truth");
});

test("two clients with the same request id receive their own responses", async () => {
  const server = await serve();
  const [one, two] = [await join(server), await join(server)];
  const request = { type: "call.requested", requestId: "same", operationId: "test.echo" };
  const answers = ({ heard }: typeof one) => heard.filter(({ requestId }) => requestId === "same");

  one.socket.send(JSON.stringify({ ...request, input: "one" }));
  two.socket.send(JSON.stringify({ ...request, input: "two" }));
  await vi.waitFor(() => expect([...answers(one), ...answers(two)]).toHaveLength(2));

  expect([answers(one), answers(two)]).toMatchObject([[{ output: { data: "one" } }], [{ output: { data: "two" } }]]);
});

test("identity and trust in a raw frame are ignored", async () => {
  const server = await serve();
  const { socket, heard } = await join(server);
  const root = { id: "root", scopes: ["admin"] };
  const trust = { trusted: true, isTrusted: true, internal: true };
  const claims = [
    { identity: root },
    { ...trust },
    { input: { ...trust, identity: root } },
    { metadata: { ...trust, identity: root } },
    { caller: root, context: { identity: root, trusted: true } },
  ];

  for (const [n, claim] of claims.entries()) {
    const request = { type: "call.requested", requestId: `r${n}`, operationId: "test.admin", input: {} };
    socket.send(JSON.stringify({ ...request, ...claim }));
  }
  const errors = () => heard.filter(({ type }) => type === "call.error");
  await vi.waitFor(() => expect(errors()).toHaveLength(claims.length));

  expect(errors().map(({ code }) => code)).toEqual(claims.map(() => "ACCESS_DENIED"));
});

test("invalid times are limited to what is allowed, or refused", async () => {
  const server = await serve();
  const { socket, heard } = await join(server);
  const send = (requestId: string, timeout: string) =>
    socket.send(
      `{"type":"call.requested","requestId":"${requestId}","operationId":"test.echo","input":1,"timeout":${timeout}}`,
    );
  const replies = () => heard.filter(({ requestId }) => requestId !== undefined);

  for (const [n, timeout] of [String(Date.UTC(9999, 11, 31)), "1e300", "-5", "0"].entries()) send(`r${n}`, timeout);
  await vi.waitFor(() => expect(replies()).toHaveLength(4));
  send("text", '"soon"');
  const [code] = await once(socket, "close");

  expect(
    replies()
      .map(({ requestId, type, code: why }) => [requestId, type, why])
      .sort(),
  ).toEqual([
    ["r0", "call.responded", undefined],
    ["r1", "call.responded", undefined],
    ["r2", "call.error", "TIMEOUT"],
    ["r3", "call.error", "TIMEOUT"],
  ]);
  expect(code).toBeGreaterThanOrEqual(4000);
});
