import { once } from "node:events";
import { MessageChannel, Worker } from "node:worker_threads";
import { PendingRequestMap } from "../../src/call/index.ts";
import { createInProcessTransport, InProcessBus } from "../../src/transport/in-process/index.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { createWebSocketTransport } from "../../src/transport/websocket/index.ts";
import { createWorkerTransport } from "../../src/transport/worker/index.ts";
import { connectBroker } from "../../test/faults/brokers.ts";
import { createSoakRegistry } from "./operations.ts";
import { serveOver } from "./serving.ts";
import { isBroker, isLocal, type TransportName } from "./transports.ts";

/** The connection from a caller to the server. */
export interface Way {
  /** A further caller, which the caller of this function closes. */
  connect(): Promise<PendingRequestMap>;
  /** Ends a server in this process. Fails if it does not end without a signal. */
  close(): Promise<void>;
}

/** Starts the server if it is part of this process, and returns how to reach it. */
export async function openWay(name: TransportName, port: number, serverProgram: string): Promise<Way> {
  if (isLocal(name)) return openLocal(name);
  if (name === "worker") return openThread(serverProgram);
  return {
    connect: async () => new PendingRequestMap(await connectRemote(name, port)),
    close: async () => {},
  };
}

function connectRemote(name: TransportName, port: number): Promise<Transport> {
  return isBroker(name) ? connectBroker(name, port) : createWebSocketTransport(`ws://127.0.0.1:${port}/`);
}

async function openLocal(name: TransportName): Promise<Way> {
  const registry = createSoakRegistry();
  const bus = new InProcessBus();
  const target = new EventTarget();
  const join = () => (name === "in-process" ? createInProcessTransport(bus) : target);
  const serving = await serveOver(registry, join());
  return { connect: async () => new PendingRequestMap(join()), close: () => serving.close() };
}

function openThread(serverProgram: string): Way {
  const thread = new Worker(serverProgram, { workerData: { transport: "worker" } });
  const exited = once(thread, "exit");
  let isFirst = true;
  return {
    async connect() {
      if (isFirst) {
        isFirst = false;
        return new PendingRequestMap(createWorkerTransport(thread));
      }
      const { port1, port2 } = new MessageChannel();
      thread.postMessage({ port: port2 }, [port2]);
      return new PendingRequestMap(createWorkerTransport(port1));
    },
    async close() {
      thread.postMessage({ kind: "close" });
      const timer = setTimeout(() => void thread.terminate(), 60_000);
      const [code] = await exited;
      clearTimeout(timer);
      if (code !== 0) throw new Error(`the thread did not end by itself (code ${code})`);
    },
  };
}
