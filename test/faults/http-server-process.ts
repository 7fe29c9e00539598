/**
 * Serves HTTP and WebSockets in a process of its own, which a signal closes. Sends its port, then reports every call that starts and, when
 * it is closed, how many calls started and ended. The message "release" ends the calls of "test.hold".
 */
import { setTimeout as delay } from "node:timers/promises";
import { createRegistry, defineOperation, Type } from "../../src/index.ts";
import { listen } from "../../src/node/index.ts";
import { serveHTTP } from "../../src/serve/http/index.ts";
import { serveWebSocket } from "../../src/transport/websocket/index.ts";

/** What the process reports. */
export type ServerReport =
  | { kind: "listening"; port: number }
  | { kind: "started"; count: number }
  | { kind: "closed"; started: number; ended: number };

const counts = { started: 0, ended: 0 };
const report = (message: ServerReport) => void process.send!(message);

let release!: () => void;
const released = new Promise<void>((resolve) => {
  release = resolve;
});
process.once("message", release);

async function count<T>(work: Promise<T>): Promise<T> {
  counts.started += 1;
  report({ kind: "started", count: counts.started });
  try {
    return await work;
  } finally {
    counts.ended += 1;
  }
}

const shared = { namespace: "test", inputSchema: Type.Object({ n: Type.Integer() }), outputSchema: Type.Integer() };
const registry = createRegistry({
  operations: [
    defineOperation({
      ...shared,
      name: "work",
      type: "mutation",
      handler: ({ n }) => count(delay(n % 50).then(() => n)),
    }),
    defineOperation({ ...shared, name: "hold", type: "mutation", handler: ({ n }) => count(released.then(() => n)) }),
    defineOperation({
      ...shared,
      name: "never",
      type: "mutation",
      handler: () => count(new Promise<number>(() => {})),
    }),
    defineOperation({
      ...shared,
      name: "ticks",
      type: "subscription",
      handler: async function* ({ n }, { signal }) {
        counts.started += 1;
        report({ kind: "started", count: counts.started });
        try {
          yield n;
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
        } finally {
          counts.ended += 1;
        }
      },
    }),
  ],
});

// Keeps the process alive until the registry is closed, as the program of an MCP server does.
const running = setInterval(() => {}, 60_000);
await registry.follow({ name: "program", load: async () => [], close: async () => clearInterval(running) });

const options = { authenticate: "none" } as const;
const servers = { "/": serveHTTP(registry, options), "/calls": serveWebSocket(registry, options) };
const listener = await listen(servers, { closeOnSignals: true });
report({ kind: "listening", port: listener.port });
await listener.closed;
report({ kind: "closed", ...counts });
process.disconnect(); // Nothing else may keep the process alive.
