import type { CallError } from "../../operation/index.ts";

/**
 * What a message engine, such as NATS, does for one peer. Everything else about calls is the same on every bus, and is
 * in `BusTransport`. Texts are frames, one in a line; the first line may tell who sends, see `message.ts`.
 */
export interface Engine {
  readonly name: string;
  /** Where others reach this peer: random, and known only to those it has asked or served. */
  readonly address: string;
  /** Largest message that it takes now, in bytes. */
  readonly maxMessage: number;
  readonly isConnected: boolean;

  /**
   * Hands a request to one of those who serve the operation. `onUnserved` tells later when nobody does. What it returns
   * stands for the request in other methods.
   */
  ask(operationId: string, requestId: string, text: string): unknown;
  /** Sends to all who serve an operation. */
  broadcast(operationId: string, text: string): void;
  /** Takes a request back, if the engine still holds it. */
  withdraw?(ticket: unknown): void;
  /** The same, and resolves with whether no worker can have seen the request. */
  recall?(ticket: unknown): Promise<boolean>;
  /** Keeps a request that several workers were lost with, to be looked at. */
  bury?(operationId: string, text: string): void;
  /** Sends to one peer. With `isProbe`, `onGone` tells when nobody is there. */
  send(address: string, text: string, isProbe?: boolean): void;
  /** Sends to every peer that hears of peers. */
  gossip(text: string): void;
  /** Begins to hear what others gossip. */
  listen(): Promise<void>;

  serve(operationIds: readonly string[]): Promise<void>;
  /** Resolves when no further request for these operations can come. */
  stop(operationIds: readonly string[]): Promise<void>;
  /** Finds out whether anybody alive serves operations whose answers take long. `onUnserved` and `onRefused` tell. */
  checkWorkers?(requests: readonly LongRequest[]): void;

  /** A promise that resolves when more may be sent, or nothing while it may. */
  whenWritable(): Promise<void> | undefined;
  /** Sends what waits, then lets go of everything. */
  close(): Promise<void>;
}

/** A request that nobody has answered for a while. */
export interface LongRequest {
  requestId: string;
  operationId: string;
  ticket: unknown;
}

/** What an engine tells. */
export interface EngineEvents {
  /** `from` is empty when nobody can be answered. */
  onRequest(message: string | Uint8Array, from: string): void;
  /** Something was sent to this peer's address, or was said to all who serve an operation of it. */
  onMessage(message: string | Uint8Array): void;
  onGossip(message: string | Uint8Array): void;
  /** Nobody serves the operation. */
  onUnserved(requestId: string): void;
  /** The request could not be sent, or whoever had taken it is gone. */
  onRefused(requestId: string, error: CallError): void;
  /** The server does not take requests for this operation from here. */
  onDenied(operationId: string, error: CallError): void;
  onGone(address: string): void;
  /** Replies may have been lost. */
  onLinkLost(error: Error): void;
  onLinkRestored(): void;
}
