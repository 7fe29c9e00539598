import type { CallError, Identity, OperationSpec } from "../operation/index.ts";
import type { WireFrame } from "./codec/index.ts";
import type { PeerEvent } from "./frames.ts";

/** Another end of a wire: one peer, or the group of peers from which the engine chooses one for each request. */
export interface Peer {
  /** Identifies the peer on its wire. Empty for a group. */
  readonly id: string;
  /** The identity that the wire has authenticated. It is read for each call. */
  readonly identity?: Identity | undefined;
  /** Whether it stands for all peers that serve an operation. The sender of the first reply becomes the peer of a call. */
  readonly isGroup?: boolean;
  /** Whether a request still waits for one of the peers of the group, so that silence does not mean a lost worker. */
  isWaiting?(requestId: string): boolean;
  /** Sends a frame. If it returns a promise, wait for it before the next value. Throws a `CallError`. */
  send(frame: WireFrame): void | Promise<void>;
}

/** What a peer serves from now on. It replaces what it served before. */
export interface Served {
  /** Ids of the operations whose requests it accepts. */
  readonly operationIds: ReadonlySet<string>;
  /** The operations that it announces. */
  readonly specs: readonly OperationSpec[];
}

/** What a wire reports. */
export interface WireEvents {
  /** Number of calls that run here. Subscriptions do not count. */
  readonly runningCalls: number;
  /** A frame arrived. Without a sender, the wire itself reports what became of a request, as `call.error`. */
  onFrame(frame: WireFrame, from: Peer | undefined): void;
  /** A peer is gone, with the reason. */
  onGone(peer: Peer, error: CallError): void;
  /** A peer announced its operations or left. */
  onPeer(event: PeerEvent): void;
  /** The link to the engine was lost, with the reason, or restored. */
  onLink(error: CallError | undefined): void;
}

/** Carries frames between peers. It knows neither calls nor handlers. Frames between two peers stay in order. */
export interface Wire {
  /** Label for logs and errors, such as `nats`. */
  readonly name: string;
  /** Whether frames can be sent. */
  readonly isConnected: boolean;
  /** Interval in ms at which workers report running calls. Absent where the wire itself notices that a peer is gone. */
  readonly heartbeat?: number;
  /** Starts to report. Called once, before everything else. */
  start(events: WireEvents): void;
  /** Starts to report peers. Resolves when those that are present are known. */
  watch(): Promise<void>;
  /** Returns the peer or group that serves an operation. Throws `OPERATION_NOT_FOUND` or `UNAVAILABLE`. */
  route(operationId: string): Peer;
  /** Resolves when requests for exactly these operations arrive. Those that were accepted before may still arrive. */
  serve(served: Served): Promise<void>;
  /** Sends what was passed to `send`, then releases everything. */
  close(): Promise<void>;
}
