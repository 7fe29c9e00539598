import type { CallError } from "../../operation/index.ts";

/**
 * The functions of a message broker, such as NATS, for one peer. Each wire implements them. `BrokerTransport` contains
 * everything that is the same on every broker. A message has one frame per line. Its first line may be the sender's
 * address, see {@link readSender}.
 */
export interface BrokerAdapter {
  /** Label for logs and errors. */
  readonly name: string;
  /** Address of this peer. It is random, and only peers that this one has called or served receive it. */
  readonly address: string;
  /** Current maximum size of a message that the broker accepts, in bytes. */
  readonly maxMessage: number;
  readonly isConnected: boolean;

  /**
   * Sends a request to one of the peers that serve the operation. `onUnserved` reports later if no peer serves it. The
   * result identifies the request in other methods.
   */
  request(operationId: string, requestId: string, message: string): unknown;
  /** Sends to all peers that serve an operation. */
  broadcast(operationId: string, message: string): void;
  /** Withdraws a request, if the broker still holds it. */
  withdraw?(ticket: unknown): void;
  /** Withdraws a request. Resolves with `true` if no worker can have received it. */
  recall?(ticket: unknown): Promise<boolean>;
  /** Stores a request for inspection after several of its workers were lost. */
  bury?(operationId: string, message: string): void;
  /** Sends to one peer. With `isProbe`, `onGone` reports if no peer is at the address. */
  send(address: string, message: string, isProbe?: boolean): void;
  /** Sends to every peer that listens to announcements. */
  gossip(message: string): void;
  /** Starts to receive announcements. */
  listen(): Promise<void>;

  /** Starts to accept requests for these operations. */
  serve(operationIds: readonly string[]): Promise<void>;
  /** Resolves when no further request for these operations can arrive. */
  stop(operationIds: readonly string[]): Promise<void>;
  /** Checks whether the operations of these requests are still served. Reports to `onUnserved` and `onRefused`. */
  checkWorkers?(requests: readonly PendingRequest[]): void;

  /** Returns a promise that resolves when the peer may send more, or `undefined` when it may send immediately. */
  whenWritable(): Promise<void> | undefined;
  /** Sends the pending messages, then releases all resources. */
  close(): Promise<void>;
}

/** A request that no worker has acknowledged for more than a heartbeat. */
export interface PendingRequest {
  requestId: string;
  operationId: string;
  /** The value that `request` returned. */
  ticket: unknown;
}

/** Events that an adapter reports to its transport. */
export interface BrokerEvents {
  /** Number of requests that this peer is running. */
  readonly runningRequests: number;
  /** A request arrived. `from` is the caller's address, or empty when it cannot receive a reply. */
  onRequest(message: string | Uint8Array, from: string): void;
  /** A message to this peer's address arrived, or one to all peers that serve one of its operations. */
  onMessage(message: string | Uint8Array): void;
  /** An announcement arrived. */
  onGossip(message: string | Uint8Array): void;
  /** No peer serves the operation of this request. */
  onUnserved(requestId: string): void;
  /** The request could not be sent, or the worker that had accepted it is gone. */
  onRefused(requestId: string, error: CallError): void;
  /** The broker does not allow this peer to call the operation. */
  onDenied(operationId: string, error: CallError): void;
  /** No peer is at this address. */
  onGone(address: string): void;
  /** The connection to the broker was lost, and replies may be lost with it. */
  onLinkLost(error: Error): void;
  onLinkRestored(): void;
}
