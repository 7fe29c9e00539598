// The servers of the transports bench, each in its own thread. `workerData.kind` selects one.
import { createServer } from "node:http";
import { parentPort, workerData } from "node:worker_threads";
import { WebSocketServer } from "ws";
import { buildCallHandler, OperationRegistry, PendingRequestMap } from "../../dist/index.js";
import { createWebSocketServer } from "../../dist/transport/websocket/index.js";
import { createWorkerTransport } from "../../dist/transport/worker/index.js";

const createTask = async ({ title, priority }) => ({ id: "task-1", title, priority, done: false });

async function serve(transport) {
  const registry = new OperationRegistry();
  registry.register({
    namespace: "task",
    name: "create",
    version: "1.0.0",
    type: "mutation",
    description: "",
    inputSchema: workerData.inputSchema,
    outputSchema: workerData.outputSchema,
    accessControl: { requiredScopes: [] },
    handler: createTask,
  });
  const calls = new PendingRequestMap(transport);
  await calls.handle(buildCallHandler({ registry, callMap: calls })).ready;
}

const starts = {
  "raw port": () =>
    parentPort.on("message", async ({ id, input }) => parentPort.postMessage({ id, data: await createTask(input) })),
  port: () => serve(createWorkerTransport()),
  "raw socket": async () => {
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: false });
    server.on("connection", (socket) => {
      socket.on("message", async (text) => {
        const { id, input } = JSON.parse(text);
        socket.send(JSON.stringify({ id, data: await createTask(input) }));
      });
    });
    await new Promise((resolve) => server.on("listening", resolve));
    parentPort.postMessage(server.address().port);
  },
  socket: async () => {
    const server = createServer();
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    await serve(await createWebSocketServer({ server }));
    parentPort.postMessage(server.address().port);
  },
};

await starts[workerData.kind]();
