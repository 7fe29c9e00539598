import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createConnection, createServer, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, type TestContext, test } from "vitest";
import { findFreePort } from "../../src/internal/testing.ts";
import { bundleProgram } from "../../src/transport/testing.ts";
import { startServer } from "../../src/transport/websocket/testing.ts";
import { startRedis } from "../services/redis.ts";

/**
 * In ms: how long a process may live after everything in it was closed. The client of Redis waits for up to 1.2 s before
 * it notices, and `fetch` of Node does not end an attempt to connect before 10 s.
 */
const exitTimeout = 30_000;

/** A server at a port that was free, which accepts connections and never sends anything. */
async function startSilentServer(port: number, { onTestFinished }: TestContext) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => {});
    sockets.push(socket);
  }).listen(port, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { accepted: () => (sockets.length > 0 ? Promise.resolve() : once(server, "connection").then(() => {})) };
}

/** A port whose queue of connections is full: the kernel does not reply to further ones, like an unreachable host. */
async function startUnreachableServer(port: number, { onTestFinished }: TestContext) {
  const code = `
    const server = require("node:net").createServer().listen(${port}, "127.0.0.1", 0, () => {
      process.send("listening", () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
    });`;
  const child = fork("-e", [code], { execArgv: [] });
  await once(child, "message");
  const fillers = Array.from({ length: 4 }, () => createConnection({ port, host: "127.0.0.1" }).on("error", () => {}));
  onTestFinished(() => {
    for (const filler of fillers) filler.destroy();
    child.kill("SIGKILL");
  });
  await once(fillers[0]!, "connect");
  await delay(50); // the second may be in the queue as well
}

const peer = await bundleProgram(new URL("closing-peer.ts", import.meta.url));

function startPeer(kind: string, port: number, { onTestFinished }: TestContext) {
  const child: ChildProcess = fork(peer, [kind, String(port)], { execArgv: [] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const exit = once(child, "exit");
  const said: string[] = [];
  child.on("message", (message) => said.push((message as { kind: string }).kind));
  const heard = async (kind: string) => {
    const failed = exit.then(() => Promise.reject(new Error(`The process ended before it was ${kind}.`)));
    while (!said.includes(kind)) await Promise.race([once(child, "message"), failed]);
    failed.catch(() => {});
  };
  return {
    ready: () => heard("ready"),
    /** Closes everything in it, and returns its exit code, or what happened instead. */
    async close() {
      child.send("close");
      await heard("stopped");
      const [code] = await Promise.race([exit, delay(exitTimeout, ["The process did not end."])]);
      return code as unknown;
    },
  };
}

/** Real servers, which are replaced by one that is silent. */
const servers: Record<string, () => Promise<{ port: number; end(): Promise<void> } | undefined>> = {
  redis: async () => {
    const service = await startRedis();
    return service && { port: service.port, end: () => service.close() };
  },
  websocket: async () => {
    const server = await startServer({}, { port: await findFreePort() });
    return { port: server.port, end: () => server.close() };
  },
};
const kinds = Object.keys(servers);

// Each of them waits for seconds, so that they run side by side.
describe.concurrent("a process in which everything was closed ends", () => {
  test.for(kinds)("%s: when a connection that was opened again does not respond", async (kind, context) => {
    const server = await servers[kind]!();
    if (server === undefined) return context.skip("The server is not installed.");
    const peer = startPeer(kind, server.port, context);
    await peer.ready();

    await server.end();
    const silent = await startSilentServer(server.port, context);
    await silent.accepted();

    expect(await peer.close()).toBe(0);
  });

  test.for(kinds)("%s: when the server cannot be reached any more", async (kind, context) => {
    const server = await servers[kind]!();
    if (server === undefined) return context.skip("The server is not installed.");
    const peer = startPeer(kind, server.port, context);
    await peer.ready();

    await server.end();
    await startUnreachableServer(server.port, context);
    await delay(1_500); // longer than any client waits before it tries again

    expect(await peer.close()).toBe(0);
  });

  test("mcp: when the server never responds", async (context) => {
    const port = await findFreePort();
    const silent = await startSilentServer(port, context);
    const peer = startPeer("mcp", port, context);
    await silent.accepted();
    await peer.ready();

    expect(await peer.close()).toBe(0);
  });

  test("mcp: when the server cannot be reached", async (context) => {
    const port = await findFreePort();
    await startUnreachableServer(port, context);
    const peer = startPeer("mcp", port, context);
    await peer.ready();

    expect(await peer.close()).toBe(0);
  });
});
