/**
 * Connects to a server that may fall silent, closes when it receives a message, and must then end without help.
 * Arguments: kind of client, port.
 */
import { MCPClientLoader } from "../../src/from/mcp/index.ts";
import { createRedisTransport } from "../../src/transport/redis/index.ts";
import { createWebSocketTransport } from "../../src/transport/websocket/index.ts";

type Closable = { close(): Promise<void> };

/** The attempts are as long as the clients' defaults allow, so that none ends before the test does. */
const clients: Record<string, (port: number) => Promise<Closable>> = {
  redis: (port) =>
    createRedisTransport({ url: `redis://127.0.0.1:${port}`, connect: { socket: { connectTimeout: 60_000 } } }),
  websocket: (port) => createWebSocketTransport(`ws://127.0.0.1:${port}`, { connectTimeout: 60_000 }),
  mcp: async (port) => {
    const loader = new MCPClientLoader();
    void loader.load({ silent: { url: `http://127.0.0.1:${port}/mcp` } }).catch(() => {});
    return { close: () => loader[Symbol.asyncDispose]() };
  },
};

const [kind, port] = process.argv.slice(2) as [string, string];
const client = await clients[kind]!(Number(port)).catch(() => undefined);
process.send!({ kind: "ready" });
process.once("message", async () => {
  await client?.close();
  process.send!({ kind: "stopped" });
  process.disconnect();
});
