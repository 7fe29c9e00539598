import type { Channel } from "../peer/index.ts";

/** What a worker, or a port to one, has in Node. */
interface NodePort {
  postMessage(message: unknown): void;
  on(event: string, listener: (value: unknown) => void): unknown;
  off(event: string, listener: (value: unknown) => void): unknown;
  close?(): void;
}

/** What a worker, a port to one, or the scope inside of one has in browsers. */
interface WebPort {
  postMessage(message: unknown): void;
  addEventListener(type: string, listener: (event: Event) => void): void;
  removeEventListener(type: string, listener: (event: Event) => void): void;
  start?(): void;
  close?(): void;
}

/** Either end of a worker: a `Worker`, a `MessagePort`, `parentPort` of Node, or `self` inside a web worker. */
export type WorkerPort = NodePort | WebPort;

/** What a port tells. */
export interface PortListener {
  onMessage(message: unknown): void;
  /** Nothing will come any more. */
  onEnd(error: Error): void;
}

/** Listens to a port and gives the channel that sends through it. The channel closes ports, and never ends a worker. */
export function openPort(port: WorkerPort, listener: PortListener): Channel {
  const stop = "on" in port ? listenInNode(port, listener) : listenInBrowser(port, listener);
  return {
    // What a port holds until the other side reads it cannot be told.
    bufferedAmount: 0,
    send: (text) => port.postMessage(text),
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

/** Inside a web worker `close()` of the scope would end the worker itself. */
function isMessagePort(port: WorkerPort): boolean {
  return typeof MessagePort === "function" && port instanceof MessagePort;
}

function toError(what: string, cause: unknown): Error {
  return new Error(cause instanceof Error ? `${what}: ${cause.message}` : what, { cause });
}
