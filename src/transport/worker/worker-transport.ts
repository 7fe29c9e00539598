import type { Duplex } from "node:stream";
import { type Limits, resolveLimits } from "../../operation/index.ts";
import { type Channel, ChannelTransport, type Connection, toConnectionLimits } from "../peer/index.ts";
import type { Transport } from "../transport.ts";
import { readBuiltin } from "./builtin.ts";
import { takeParentPipe } from "./parent-pipe.ts";
import { openPipe } from "./pipe.ts";
import { openPort, type PortListener, type WorkerPort } from "./port.ts";

/** How a worker transport behaves. */
export interface WorkerTransportOptions {
  limits?: Limits | undefined;
}

/**
 * Carries calls through a worker or port, both ways. Inside a worker, and inside a process of a pool, the port may be
 * left out: the way to its parent is taken then. Messages that were sent before the other side is up wait for it. When
 * the worker ends, what is pending fails at once with `UNAVAILABLE`. `close()` closes a port, and leaves a worker running.
 */
export function createWorkerTransport(port?: WorkerPort, { limits }: WorkerTransportOptions = {}): Transport {
  const resolved = resolveLimits(limits); // before the pipe is taken, which can be done once only
  const hub = new ChannelTransport("worker");
  const pipe = port === undefined ? takeParentPipe() : undefined;
  if (pipe === undefined) attachPort(hub, port ?? findParentPort(), resolved);
  else attachPipe(hub, pipe, resolved);
  return hub;
}

/** Makes a port one of the hub's links. */
export function attachPort(hub: ChannelTransport, port: WorkerPort, limits: Limits | undefined): Connection {
  return attach(hub, limits, (listener) => openPort(port, listener));
}

/** The same for a pipe to another process. `explain` may find a better reason for its end. */
export function attachPipe(
  hub: ChannelTransport,
  pipe: Duplex,
  limits: Limits | undefined,
  explain: (error: Error) => Promise<Error> = async (error) => error,
): Connection {
  const { maxReceived } = toConnectionLimits(limits);
  return attach(hub, limits, ({ onMessage, onEnd }) =>
    openPipe(pipe, maxReceived, { onMessage, onEnd: (error) => void explain(error).then(onEnd) }),
  );
}

function attach(
  hub: ChannelTransport,
  limits: Limits | undefined,
  open: (listener: PortListener) => Channel,
): Connection {
  let link: Connection | undefined;
  const channel = open({
    onMessage: (message) => {
      // Others may use the same port for messages of their own.
      if (typeof message === "string") link?.receive(message);
    },
    onEnd: (error) => link?.close(error),
  });
  link = hub.attach(channel, {
    ...toConnectionLimits(limits),
    // A worker that computes for long says nothing meanwhile; that it has ended is told by the runtime.
    heartbeat: 0,
    acceptsOperations: true,
    passesIdentity: true,
  });
  return link;
}

function findParentPort(): WorkerPort {
  const port = readBuiltin("node:worker_threads")?.parentPort ?? undefined;
  if (port !== undefined) return port;
  if (typeof self === "object" && "importScripts" in self) return self as unknown as WorkerPort;
  throw new TypeError(
    "This is not a worker, or its parent is connected already. Give createWorkerTransport a Worker or a MessagePort.",
  );
}
