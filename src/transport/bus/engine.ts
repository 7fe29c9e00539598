import type { CallError } from "../../operation/index.ts";

/**
 * What a message broker does, such as NATS or Redis, for one peer. `BusWire` contains everything that is the same on all of
 * them. A message has one frame per line, after a line with the address of its sender.
 */
export interface BusEngine {
  /** Label for logs and errors. */
  readonly name: string;
  /** Address of this peer. It is random at each start. */
  readonly address: string;
  /** Current maximum size of a message that the broker accepts, in bytes. */
  readonly maxMessage: number;
  /** Whether the broker is connected. */
  readonly isConnected: boolean;
  /**
   * Sends a request to one of the peers that serve the operation, within `timeout` ms if it is set. Throws a `CallError`.
   */
  request(operationId: string, requestId: string, message: string, timeout?: number): void;
  /** Withdraws a request, and sends the message to all peers that serve the operation if one of them may have it. */
  withdraw(operationId: string, requestId: string, message: string): void;
  /** Whether the broker still holds a request. Absent if it delivers requests immediately. */
  isWaiting?(requestId: string): boolean;
  /** Forgets a request that has a worker or has ended. */
  forget?(requestId: string): void;
  /** Sends to one peer. With `isProbe`, `onGone` reports if no peer is at the address. */
  send(address: string, message: string, isProbe?: boolean): void;
  /** Sends to all peers that listen to announcements. */
  publish(message: string): void;
  /** Starts to receive announcements. */
  listen(): Promise<void>;
  /** Accepts requests for exactly these operations. Those that were received before are still reported. */
  serve(operationIds: ReadonlySet<string>): Promise<void>;
  /** Called at every heartbeat while the broker is connected. */
  beat?(): void;
  /** Returns a promise that resolves when the peer may send more, or `undefined` when it may send immediately. */
  whenWritable(): Promise<void> | undefined;
  /** Sends the pending messages, then releases all resources. */
  close(): Promise<void>;
}

/** What an engine reports. */
export interface EngineEvents {
  /** Number of calls that this peer runs. Subscriptions do not count. */
  readonly runningCalls: number;
  /** A request arrived. `from` is the caller's address, or empty when it cannot receive a reply. */
  onRequest(message: string | Uint8Array, from: string): void;
  /** A message to this peer, to all peers that serve one of its operations, or to all peers arrived. */
  onMessage(message: string | Uint8Array): void;
  /** The request has not run: no peer serves the operation, or the broker refused it with the error. */
  onUnserved(requestId: string, error?: CallError): void;
  /** No peer is at this address. */
  onGone(address: string): void;
  /** The connection to the broker was lost, and messages may be lost with it; or it was restored. */
  onLink(error: Error | undefined): void;
}
