import { startServer } from "../../src/transport/websocket/testing.ts";

// A WebSocket server in a process of its own, so that tests can kill, stop and resume it.
const port = Number(process.argv[2] ?? 0);
const server = await startServer({ acceptOperations: true, heartbeat: 0 }, { port });
process.send?.({ port: server.port });
process.on("disconnect", () => process.exit());
