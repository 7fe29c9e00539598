// The server of the brokers bench, in its own process. Arguments: kind, port, schemas of input and output.
import { connect } from "@nats-io/transport-node";
import { createClient } from "@redis/client";
import { ServiceBroker } from "moleculer";
import { buildCallHandler, OperationRegistry, PendingRequestMap } from "../../dist/index.js";
import { createNATSTransport } from "../../dist/transport/nats/index.js";
import { createRedisTransport } from "../../dist/transport/redis/index.js";

const [kind, port, schemas] = process.argv.slice(2);
const { inputSchema, outputSchema } = JSON.parse(schemas);
const createTask = async ({ title, priority }) => ({ id: "task-1", title, priority, done: false });

async function serve(transport) {
  const registry = new OperationRegistry();
  registry.register({
    namespace: "task",
    name: "create",
    version: "1.0.0",
    type: "mutation",
    description: "",
    inputSchema,
    outputSchema,
    accessControl: { requiredScopes: [] },
    handler: createTask,
  });
  const calls = new PendingRequestMap(transport);
  await calls.handle(buildCallHandler({ registry, callMap: calls })).ready;
}

/** Serves a subject with a queue group. The reply is sent to the subject that the request names. */
async function serveNATSByHand() {
  const connection = await connect({ servers: `127.0.0.1:${port}` });
  connection.subscribe("by-hand", {
    queue: "workers",
    callback: async (_error, message) => {
      const { id, input } = message.json();
      connection.publish(message.reply, JSON.stringify({ id, data: await createTask(input) }));
    },
  });
  await connection.flush();
}

/**
 * Serves a stream with a group. Entries are deleted after reading. The reply is sent to the channel that the entry
 * names.
 */
async function serveRedisByHand() {
  const settings = { RESP: 2, maintNotifications: "disabled", commandOptions: { timeout: 0 } };
  const client = createClient({ url: `redis://127.0.0.1:${port}`, ...settings });
  const reader = client.duplicate();
  await Promise.all([client.connect(), reader.connect()]);
  await client.sendCommand(["XGROUP", "CREATE", "by-hand", "workers", "0", "MKSTREAM"]);
  const options = ["GROUP", "workers", "one", "COUNT", "256", "BLOCK", "1000", "NOACK"];
  const read = async () => {
    for (;;) {
      const reply = await reader.sendCommand(["XREADGROUP", ...options, "STREAMS", "by-hand", ">"]);
      const entries = reply?.[0][1] ?? [];
      if (entries.length > 0) void client.sendCommand(["XDEL", "by-hand", ...entries.map(([id]) => id)]);
      for (const [, [, channel, , text]] of entries) void answer(channel, text);
    }
  };
  const answer = async (channel, text) => {
    const { id, input } = JSON.parse(text);
    await client.sendCommand(["PUBLISH", channel, JSON.stringify({ id, data: await createTask(input) })]);
  };
  void read();
}

async function serveMoleculer() {
  const broker = new ServiceBroker({ nodeID: "worker", logger: false, transporter: `nats://127.0.0.1:${port}` });
  broker.createService({ name: "task", actions: { create: ({ params }) => createTask(params) } });
  await broker.start();
}

const starts = {
  "nats by hand": serveNATSByHand,
  nats: async () => serve(await createNATSTransport({ servers: `127.0.0.1:${port}` })),
  "redis by hand": serveRedisByHand,
  redis: async () => serve(await createRedisTransport({ url: `redis://127.0.0.1:${port}` })),
  moleculer: serveMoleculer,
};

await starts[kind]();
process.send("ready");
process.on("disconnect", () => process.exit());
