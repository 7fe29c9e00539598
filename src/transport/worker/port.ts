import type { Channel } from "../peer/index.ts";

/** Returns a built-in module of Node, or `undefined` elsewhere. Loads it at run time, for browsers. */
export function readBuiltin<Module extends BuiltinName>(name: Module): Builtins[Module] | undefined {
  return typeof process === "object" ? (process.getBuiltinModule?.(name) as Builtins[Module] | undefined) : undefined;
}

interface Builtins {
  "node:worker_threads": typeof import("node:worker_threads");
}

type BuiltinName = keyof Builtins;

/** A worker, or a port to one, in Node. */
export interface NodePort {
  /** Sends a message. */
  postMessage(message: unknown): void;
  /** Adds a listener. */
  on(event: string, listener: (value: unknown) => void): unknown;
  /** Removes a listener. */
  off(event: string, listener: (value: unknown) => void): unknown;
  /** Closes the port. */
  close?(): void;
}

/** A worker, a port to one, or the global scope of a worker, in browsers. */
export interface WebPort {
  /** Sends a message. */
  postMessage(message: unknown): void;
  /** Adds a listener. */
  addEventListener(type: string, listener: (event: Event) => void): void;
  /** Removes a listener. */
  removeEventListener(type: string, listener: (event: Event) => void): void;
  /** Starts receiving messages. */
  start?(): void;
  /** Closes the port. */
  close?(): void;
}

/** Either end of a worker: a `Worker`, a `MessagePort`, `parentPort` of Node, or `self` inside a web worker. */
export type WorkerPort = NodePort | WebPort;

/** Receives the events of a port. */
export interface PortListener {
  onMessage(message: unknown): void;
  /** Called when no further message can arrive. */
  onEnd(error: Error): void;
}

/**
 * Listens to a port and returns a channel that sends through it. The channel closes ports, but does not end workers.
 */
export function openPort(port: WorkerPort, listener: PortListener): Channel {
  const stop = "on" in port ? listenInNode(port, listener) : listenInBrowser(port, listener);
  return {
    bufferedAmount: 0, // a port does not report how many bytes are unread
    send: (message) => port.postMessage(message),
    close() {
      stop();
      if (isMessagePort(port)) port.close?.();
    },
  };
}

function listenInNode(port: NodePort, { onMessage, onEnd }: PortListener): () => void {
  const listeners: Array<[string, (value: unknown) => void]> = [
    ["message", onMessage],
    ["messageerror", (error) => onEnd(toError("A message could not be read", error))],
    ["error", (error) => onEnd(toError("The worker failed", error))],
    ["exit", (code) => onEnd(new Error(`The worker ended with code ${code}`))],
    ["close", () => onEnd(new Error("The port was closed"))],
  ];
  for (const [event, listener] of listeners) port.on(event, listener);
  return () => {
    for (const [event, listener] of listeners) port.off(event, listener);
  };
}

function listenInBrowser(port: WebPort, { onMessage, onEnd }: PortListener): () => void {
  const listeners: Array<[string, (event: Event) => void]> = [
    ["message", (event) => onMessage((event as MessageEvent).data)],
    ["messageerror", () => onEnd(new Error("A message could not be read"))],
    ["error", (event) => onEnd(toError("The worker failed", (event as ErrorEvent).error))],
    ["close", () => onEnd(new Error("The port was closed"))],
  ];
  for (const [type, listener] of listeners) port.addEventListener(type, listener);
  port.start?.();
  return () => {
    for (const [type, listener] of listeners) port.removeEventListener(type, listener);
  };
}

/** Returns whether a port can be closed. In a web worker, `close()` of the global scope would end the worker itself. */
function isMessagePort(port: WorkerPort): boolean {
  return typeof MessagePort === "function" && port instanceof MessagePort;
}

function toError(what: string, cause: unknown): Error {
  return new Error(cause instanceof Error ? `${what}: ${cause.message}` : what, { cause });
}
