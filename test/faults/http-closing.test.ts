import { fork } from "node:child_process";
import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { PendingRequestMap } from "../../src/call/index.ts";
import { bundleProgram } from "../../src/transport/testing.ts";
import { createWebSocketTransport } from "../../src/transport/websocket/index.ts";
import type { ServerReport } from "./http-server-process.ts";

const program = await bundleProgram(new URL("http-server-process.ts", import.meta.url));

/** Starts a server in a process of its own. */
async function startServer() {
  const child = fork(program, [], { execArgv: [] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const exited = once(child, "exit") as Promise<[number | null, string | null]>;
  const reports: ServerReport[] = [];
  child.on("message", (message) => reports.push(message as ServerReport));
  const reported = async <T extends ServerReport>(matches: (report: ServerReport) => report is T): Promise<T> => {
    for (;;) {
      const found = reports.find(matches);
      if (found !== undefined) return found;
      const ended = exited.then(() => Promise.reject(new Error("The process ended without the report.")));
      await Promise.race([once(child, "message"), ended]);
      ended.catch(() => {});
    }
  };
  const { port } = await reported((report) => report.kind === "listening");
  return {
    port,
    kill: (signal: NodeJS.Signals) => void child.kill(signal),
    release: () => void child.send("release"),
    started: (count: number) =>
      reported((report): report is ServerReport => "count" in report && report.count >= count),
    closed: () => reported((report) => report.kind === "closed"),
    exited: async () => (await exited)[0],
  };
}

/** Calls an operation. Returns status and body, or the code of the network error: each call has one of them. */
async function call(agent: Agent, port: number, name: string, n: number): Promise<string> {
  const sending = request({
    agent,
    port,
    host: "127.0.0.1",
    method: "POST",
    path: `/test/${name}`,
    headers: { "content-type": "application/json" },
  });
  sending.end(JSON.stringify({ n }));
  try {
    const [response] = (await once(sending, "response")) as [IncomingMessage];
    let body = "";
    for await (const chunk of response) body += chunk;
    return `${response.statusCode} ${body}`;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

function createAgent(maxSockets: number): Agent {
  const agent = new Agent({ keepAlive: true, maxSockets });
  onTestFinished(() => agent.destroy());
  return agent;
}

test("under load, SIGTERM loses no call that started: each has one response, and the process ends with 0", async () => {
  const server = await startServer();
  const agent = createAgent(100);
  let isClosing = false;
  let [succeeded, next] = [0, 0];
  const failures = new Set<string>();
  const clients = Array.from({ length: 100 }, async () => {
    while (!isClosing) {
      const n = next++;
      const outcome = await call(agent, server.port, "work", n);
      if (outcome === `200 ${n}`) succeeded += 1;
      else failures.add(outcome.startsWith("503 ") ? "503" : outcome);
    }
  });
  await server.started(1_000);

  server.kill("SIGTERM");
  const { started, ended } = await server.closed();
  isClosing = true;
  await Promise.all(clients);

  expect({ started, ended }).toEqual({ started: succeeded, ended: succeeded });
  expect([...failures].filter((failure) => !["503", "ECONNREFUSED", "ECONNRESET"].includes(failure))).toEqual([]);
  expect(await server.exited()).toBe(0);
});

test("1,000 calls and streams on as many connections end once when the server is closed", async () => {
  const server = await startServer();
  const agent = createAgent(1_000);
  const calls = Array.from({ length: 500 }, (_, n) => call(agent, server.port, "hold", n));
  const streams = Array.from({ length: 500 }, (_, n) => call(agent, server.port, "ticks", n));
  await server.started(1_000);

  server.kill("SIGTERM");
  const ended = await Promise.all(streams);
  server.release();

  expect(await Promise.all(calls)).toEqual(Array.from({ length: 500 }, (_, n) => `200 ${n}`));
  expect(ended.map((stream) => stream.match(/^(?:data: \d+|event: \w+)$|"code":"\w+"/gm))).toEqual(
    Array.from({ length: 500 }, (_, n) => [`data: ${n}`, "event: problem", '"code":"UNAVAILABLE"']),
  );
  expect(await server.closed()).toEqual({ kind: "closed", started: 1_000, ended: 1_000 });
  expect(await server.exited()).toBe(0);
});

test("a call and a stream over a WebSocket of the same port end once when the server is closed", async () => {
  const server = await startServer();
  const transport = await createWebSocketTransport(`ws://127.0.0.1:${server.port}/calls`, { reconnect: false });
  await using calls = new PendingRequestMap(transport);
  const call = calls.call("test.hold", { n: 1 });
  const stream = calls.subscribe("test.ticks", { n: 2 });
  expect((await stream.next()).value).toMatchObject({ data: 2 });
  await server.started(2);

  server.kill("SIGTERM");
  await expect(stream.next()).rejects.toMatchObject({ code: "UNAVAILABLE" });
  server.release();

  expect(await call).toMatchObject({ data: 1 });
  expect(await server.closed()).toEqual({ kind: "closed", started: 2, ended: 2 });
  expect(await server.exited()).toBe(0);
});

test("a second signal ends a process whose calls do not end", async () => {
  const server = await startServer();
  const agent = createAgent(1);
  const lost = call(agent, server.port, "never", 1);
  await server.started(1);

  server.kill("SIGTERM");
  // New connections are refused as soon as the process has received the first signal.
  while (!/ECONNREFUSED/.test(await call(createAgent(1), server.port, "work", 1)));
  server.kill("SIGINT");

  expect(await server.exited()).toBe(130);
  expect(await lost).toBe("ECONNRESET");
});
