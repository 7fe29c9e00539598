import type { CallError } from "../../operation/index.ts";

/**
 * What a message broker, such as NATS, does for one peer. Implemented by each wire; everything else about calls is the
 * same on every broker and belongs to `BrokerTransport`. A message is one frame per line; its first line may be the
 * sender's address, see {@link readSender}.
 */
export interface BrokerAdapter {
  /** Label for logs and errors. */
  readonly name: string;
  /** Where other peers reach this one: random, and known only to peers that it has called or served. */
  readonly address: string;
  /** Largest message that the broker accepts now, in bytes. */
  readonly maxMessage: number;
  readonly isConnected: boolean;

  /**
   * Hands a request to one of the peers that serve the operation. `onUnserved` reports later that no peer serves it. The
   * result identifies the request in other methods.
   */
  request(operationId: string, requestId: string, message: string): unknown;
  /** Sends to all peers that serve an operation. */
  broadcast(operationId: string, message: string): void;
  /** Withdraws a request, if the broker still holds it. */
  withdraw?(ticket: unknown): void;
  /** Withdraws a request, and resolves with whether no worker can have seen it. */
  recall?(ticket: unknown): Promise<boolean>;
  /** Keeps a request that several workers were lost with, for inspection. */
  bury?(operationId: string, message: string): void;
  /** Sends to one peer. With `isProbe`, `onGone` reports when it is not there. */
  send(address: string, message: string, isProbe?: boolean): void;
  /** Sends to every peer that listens to announcements. */
  gossip(message: string): void;
  /** Starts to listen to announcements. */
  listen(): Promise<void>;

  /** Starts to accept requests for these operations. */
  serve(operationIds: readonly string[]): Promise<void>;
  /** Resolves when no further request for these operations can arrive. */
  stop(operationIds: readonly string[]): Promise<void>;
  /** Checks whether operations without a reply for a while are still served. `onUnserved` and `onRefused` report. */
  checkWorkers?(requests: readonly PendingRequest[]): void;

  /** A promise that resolves when more may be sent, or `undefined` when it may be sent now. */
  whenWritable(): Promise<void> | undefined;
  /** Sends what waits, then releases everything. */
  close(): Promise<void>;
}

/** A request that no worker has acknowledged for a while. */
export interface PendingRequest {
  requestId: string;
  operationId: string;
  /** What `request` returned. */
  ticket: unknown;
}

/** What an adapter reports to its transport. */
export interface BrokerEvents {
  /** A request arrived. `from` is the caller's address, or empty when it cannot receive a reply. */
  onRequest(message: string | Uint8Array, from: string): void;
  /** A message to this peer's address arrived, or one to all peers that serve one of its operations. */
  onMessage(message: string | Uint8Array): void;
  /** An announcement arrived. */
  onGossip(message: string | Uint8Array): void;
  /** No peer serves the operation of this request. */
  onUnserved(requestId: string): void;
  /** The request could not be sent, or the worker that had taken it is gone. */
  onRefused(requestId: string, error: CallError): void;
  /** The broker does not allow this peer to call the operation. */
  onDenied(operationId: string, error: CallError): void;
  /** No peer is at this address. */
  onGone(address: string): void;
  /** The connection to the broker was lost, and replies may be lost with it. */
  onLinkLost(error: Error): void;
  onLinkRestored(): void;
}
