import { type Limits, resolveLimits } from "../../operation/inside.ts";
import { ChannelTransport, type Connection, ServingPeer } from "../peer/index.ts";
import type { Transport } from "../transport.ts";
import { openPort, readBuiltin, type WorkerPort } from "./port.ts";

/** Options of {@link createWorkerTransport}. */
export interface WorkerTransportOptions {
  /** Limits for messages and pending calls. @default those of `Limits` */
  limits?: Limits | undefined;
}

/**
 * Creates a transport through a worker or port, for calls in both directions. Inside a worker, omit the port to use the
 * connection to the parent. Messages to a worker that is starting are queued. When the worker ends, pending calls fail
 * immediately with `UNAVAILABLE`. `close()` closes a port, but does not end a worker.
 */
export function createWorkerTransport(
  port?: WorkerPort,
  { limits }: WorkerTransportOptions = {},
): Transport & AsyncDisposable {
  const resolved = resolveLimits(limits);
  const transport = new ChannelTransport("worker", ServingPeer);
  attachPort(transport, port ?? findParentPort(), resolved);
  return transport;
}

/** Adds the connection through a port to a transport. */
export function attachPort(transport: ChannelTransport, port: WorkerPort, limits: Limits | undefined): Connection {
  let connection: Connection | undefined;
  const channel = openPort(port, {
    onMessage: (message) => {
      // The program may use the same port for its own messages.
      if (typeof message === "string") connection?.receive(message);
    },
    onEnd: (error) => connection?.close(error),
  });
  connection = transport.attach(channel, {
    limits: resolveLimits(limits),
    // A worker that computes for long sends no heartbeats, and the runtime reports the end of a worker.
    heartbeat: 0,
    acceptsOperations: true,
    passesIdentity: true,
  });
  return connection;
}

function findParentPort(): WorkerPort {
  const port = readBuiltin("node:worker_threads")?.parentPort ?? undefined;
  if (port !== undefined) return port;
  if (typeof self === "object" && "importScripts" in self) return self as unknown as WorkerPort;
  throw new TypeError("This is not a worker. Pass a Worker or a MessagePort to createWorkerTransport.");
}
