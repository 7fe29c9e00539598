import type { Limits } from "../../operation/index.ts";
import { type Link, LinkHub, toLinkLimits } from "../link/index.ts";
import type { Transport } from "../transport.ts";
import { openPort, type WorkerPort } from "./port.ts";
import { readThreads } from "./threads.ts";

/** How a worker transport behaves. */
export interface WorkerTransportOptions {
  limits?: Limits;
}

/**
 * Carries calls through a worker or port, both ways. Inside a worker the port may be left out: the one to its parent is
 * taken then. Messages that were sent before the other side is up wait for it. When the worker ends, what is pending
 * fails at once with `UNAVAILABLE`. `close()` closes a port, and leaves a worker running.
 */
export function createWorkerTransport(
  port: WorkerPort = findParentPort(),
  { limits }: WorkerTransportOptions = {},
): Transport {
  const hub = new LinkHub("worker");
  attachPort(hub, port, limits);
  return hub;
}

/** Makes a port one of the hub's links. */
export function attachPort(hub: LinkHub, port: WorkerPort, limits: Limits | undefined): Link {
  let link: Link | undefined;
  const channel = openPort(port, {
    onMessage: (message) => {
      // Others may use the same port for messages of their own.
      if (typeof message === "string") link?.receive(message);
    },
    onEnd: (error) => link?.close(error),
  });
  link = hub.attach(channel, {
    ...toLinkLimits(limits),
    // A worker that computes for long says nothing meanwhile; that it has ended is told by the runtime.
    heartbeat: 0,
    acceptsOperations: true,
    passesIdentity: true,
  });
  return link;
}

function findParentPort(): WorkerPort {
  const port = readThreads()?.parentPort ?? undefined;
  if (port !== undefined) return port;
  if (typeof self === "object" && "importScripts" in self) return self as unknown as WorkerPort;
  throw new TypeError("This is not a worker. Give createWorkerTransport a Worker or a MessagePort.");
}
