import { BoundedMap } from "../../internal/bounded.ts";
import { Emitter } from "../../internal/emitter.ts";
import { logger } from "../../internal/log.ts";
import { deferTurn } from "../../internal/timers.ts";
import { settlesWithin } from "../../internal/wait.ts";
import {
  aborted,
  CallError,
  limitExceeded,
  nearestOperation,
  notServedNow,
  type OperationSpec,
  operationNotFound,
  overloaded,
  unavailable,
} from "../../operation/inside.ts";
import type { WireFrame } from "../codec/index.ts";
import {
  type CallRequested,
  type CallRunning,
  type FollowUp,
  isLastReply,
  type OnRequest,
  type PeerEvent,
  type ReplyFrame,
  requestPending,
  type SendFollowUp,
  type StopServing,
  type Transport,
  toFailedFrame,
  transportClosed,
  type Unsubscribe,
} from "../transport.ts";
import { TurnoverMap } from "../turnover-map.ts";
import type { Peer, Wire, WireEvents } from "../wire.ts";
import { workerGone } from "./errors.ts";
import { PeerDirectory } from "./peer-directory.ts";

const log = logger("transport", "peer");

/** Maximum number of calls that this peer makes over one transport. */
const maxPendingCalls = 10_000;
/** Maximum number of open subscriptions of one caller. */
const maxSubscriptions = 1_024;
/** A call fails after this many heartbeats without a sign of its worker. */
const maxSilentBeats = 3;
/** Heartbeats for which an operation that was served counts as restarting. */
const restartBeats = 3;
/** Maximum number of aborts that are remembered for requests that may arrive later. */
const maxEarlyAborts = 10_000;
/** Number of requests that are remembered, so that one that is sent again does not run twice. */
const maxSeen = 10_000;
/** Interval in ms of the check for pauses of this process, and for callers whose heartbeat is due. */
const tickMs = 250;
/** Minimum interval of reports to one caller, in ms, whatever it requests. */
const minHeartbeatMs = 100;
/** Maximum time to wait for a change of what is served when this peer is closed, in ms. */
const maxChangeMs = 1_500;
/** Number of ids in one report of running calls. */
const maxIdsPerReport = 500;

/** A call that this peer has made. */
interface PendingCall {
  readonly operationId: string;
  readonly onReply: (frame: ReplyFrame) => void;
  /** The group, until the first reply. */
  peer: Peer;
  /** Credit that is held back until the worker is known. */
  heldCredit: number;
  /** Heartbeats since the last sign of its worker. */
  silentBeats: number;
}

/** A call that runs here. */
interface RunningCall {
  readonly frame: CallRequested;
  readonly peer: Peer;
  hasEnded: boolean;
  /** Passes later frames of the caller to the handler, once it runs. */
  toHandler: SendFollowUp | undefined;
}

/** The calls of one peer that run here. */
interface Caller {
  readonly calls: Map<string, RunningCall>;
  subscriptions: number;
  /** Interval in ms at which the caller expects a report. */
  heartbeat: number;
  /** When the next report is due, by `performance.now()`. */
  dueAt: number;
}

/** The calls over a wire: those that this peer has made, and those that it runs, each in one table. */
export class WireTransport implements Transport, AsyncDisposable, WireEvents {
  readonly name: string;
  runningCalls = 0;
  readonly #wire: Wire;
  readonly #maxRunning: number;
  readonly #pending = new TurnoverMap<string, PendingCall>();
  /** By id of the peer. */
  readonly #callers = new Map<string, Caller>();
  #running = 0;
  readonly #servers = new Map<string, OnRequest>();
  #specs: readonly OperationSpec[] = [];
  /** Operations that the wire must not serve any more, but whose late requests are still run. */
  readonly #withdrawn = new Set<string>();
  #lastChange: Promise<void> = Promise.resolve();
  #nextChange: Promise<void> | undefined = undefined;
  readonly #seen = new BoundedMap<string, true>(maxSeen);
  /** Aborts of requests that have not arrived, with the heartbeat of their arrival. */
  readonly #earlyAborts = new BoundedMap<string, number>(maxEarlyAborts);
  #beats = 0;
  /** Until this heartbeat, peers may not have announced their operations again. */
  #restoringUntil = 0;
  /** Operations that have replied since the last heartbeat. */
  readonly #served = new Set<string>();
  readonly #directory = new PeerDirectory<string>({ now: () => this.#beats, duration: restartBeats });
  readonly #links = new Emitter<Error | undefined>((error) => log.error("A link listener failed: {error}", { error }));
  #watching: Promise<void> | undefined = undefined;
  readonly #timers: Array<ReturnType<typeof setInterval>> = [];
  #tickedAt = performance.now();
  /** By how many ms the last tick was late, until what arrived meanwhile is read. */
  #lateBy = 0;
  #closing: Promise<void> | undefined = undefined;

  /** @param maxRunning maximum number of calls that run here for all callers */
  constructor(wire: Wire, maxRunning: number) {
    this.name = wire.name;
    this.#wire = wire;
    this.#maxRunning = maxRunning;
    wire.start(this);
    const { heartbeat } = wire;
    if (heartbeat === undefined) return;
    this.#every(tickMs, () => this.#tick());
    // What has arrived is read before a heartbeat counts.
    this.#every(heartbeat, () => deferTurn(() => deferTurn(() => this.#beat())));
  }

  request(operationId: string, frame: CallRequested, onReply: (frame: ReplyFrame) => void): SendFollowUp {
    this.#assertOpen();
    const { requestId } = frame;
    if (this.#pending.size >= maxPendingCalls) {
      throw overloaded("Too many calls are pending on this connection", maxPendingCalls);
    }
    if (this.#pending.get(requestId) !== undefined) throw requestPending(requestId);
    const call: PendingCall = {
      operationId,
      onReply,
      peer: this.#wire.route(operationId),
      heldCredit: 0,
      silentBeats: 0,
    };
    if (this.#wire.heartbeat !== undefined) frame.heartbeat = this.#wire.heartbeat;
    // Add the call before sending, because sending may detect that the link is lost.
    this.#pending.set(requestId, call);
    try {
      void call.peer.send(frame);
    } catch (error) {
      this.#pending.delete(requestId);
      throw error;
    }
    return (followUp) => {
      if (this.#pending.get(requestId) !== call) return;
      if (followUp.type === "call.aborted") this.#pending.delete(requestId);
      else if (call.peer.isGroup) {
        call.heldCredit += followUp.count;
        return;
      }
      void call.peer.send(followUp);
    };
  }

  async serve(operationIds: readonly string[], onRequest: OnRequest): Promise<StopServing> {
    this.#assertOpen();
    for (const id of operationIds) {
      this.#servers.set(id, onRequest);
      this.#withdrawn.delete(id);
    }
    const forget = (ids: readonly string[]) => {
      for (const id of ids) if (this.#servers.get(id) === onRequest) this.#servers.delete(id);
    };
    try {
      await this.#serveAll();
    } catch (error) {
      forget(operationIds);
      await this.#serveAll().catch(() => {}); // The first error is reported.
      throw error;
    }
    return async (ids = operationIds) => {
      const stopped = ids.filter((id) => this.#servers.get(id) === onRequest);
      if (stopped.length === 0 || this.#closing !== undefined) return forget(stopped);
      for (const id of stopped) this.#withdrawn.add(id);
      // Aborts to all peers that serve an operation will not reach this one any more.
      for (const caller of this.#callers.values()) this.#report(caller);
      await this.#serveAll().catch((error) =>
        log.warn("{transport}: Serving was not stopped cleanly: {error}", { transport: this.name, error }),
      );
      // Requests that were sent to this peer before have been started.
      forget(stopped.filter((id) => this.#withdrawn.delete(id)));
    };
  }

  async announce(specs: readonly OperationSpec[]): Promise<void> {
    this.#assertOpen();
    this.#specs = specs;
    await this.#serveAll();
  }

  watchPeers(listener: (event: PeerEvent) => void): Unsubscribe {
    const stop = this.#directory.watch(listener);
    this.#watching ??= this.#wire.watch().catch((error) => {
      this.#watching = undefined;
      log.warn("{transport}: Announcements cannot be received: {error}", { transport: this.name, error });
    });
    return stop;
  }

  async whenPeersKnown(): Promise<void> {
    await this.#watching;
  }

  isIncomplete(operationId: string): boolean {
    return !this.#wire.isConnected || this.#beats < this.#restoringUntil || this.#directory.mayReturn(operationId);
  }

  onLinkChange(listener: (error: Error | undefined) => void): Unsubscribe {
    return this.#links.on(listener);
  }

  close(reason?: Error): Promise<void> {
    this.#closing ??= this.#close(reason);
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  onFrame(frame: WireFrame, from: Peer | undefined): void {
    switch (frame.type) {
      case "call.requested":
        if (from !== undefined) this.#accept(frame as CallRequested, from);
        return;
      case "call.credited":
      case "call.aborted":
        if (from !== undefined) this.#follow(frame as FollowUp, from);
        return;
      case "call.running":
        if (from !== undefined) this.#noteRunning(frame as CallRunning, from);
        return;
      case "call.responded":
      case "call.progressed":
      case "call.completed":
      case "call.error":
        return this.#take(frame as ReplyFrame, from);
    }
  }

  onGone(peer: Peer, error: CallError): void {
    for (const [requestId, call] of this.#pending.entries()) {
      if (!call.peer.isGroup && call.peer.id === peer.id) this.#fail(requestId, call, error);
    }
    const caller = this.#callers.get(peer.id);
    for (const call of [...(caller?.calls.values() ?? [])]) this.#abort(call, "the caller is gone");
  }

  onPeer(event: PeerEvent): void {
    const { peerId } = event;
    const before = this.#directory.get(peerId)?.specs ?? [];
    const now = new Set(event.type === "peer.announced" ? event.specs.map(idOf) : []);
    for (const id of before.map(idOf)) {
      if (event.type === "peer.left") this.#directory.noteServed(id);
      else if (!now.has(id)) this.#directory.noteWithdrawn(id);
    }
    if (event.type === "peer.announced") this.#directory.set(peerId, event);
    else this.#directory.delete(peerId);
  }

  onLink(error: CallError | undefined): void {
    if (error === undefined) this.#restoringUntil = this.#beats + restartBeats;
    else {
      for (const [requestId, call] of this.#pending.entries()) this.#fail(requestId, call, error);
      // Values that are lost with the link would leave a gap. The consumers notice that nothing reports them any more.
      for (const { calls } of this.#callers.values()) {
        for (const call of [...calls.values()]) if (isSubscription(call)) this.#abort(call, error.message);
      }
    }
    this.#links.emit(error);
  }

  /** Passes a reply to its call. The sender of the first one becomes the peer of the call; others are ignored. */
  #take(frame: ReplyFrame, from: Peer | undefined): void {
    const { requestId } = frame;
    const call = this.#pending.get(requestId);
    if (call === undefined || !this.#adopt(requestId, call, from)) return;
    if (from === undefined && frame.type === "call.error" && frame.code === "OPERATION_NOT_FOUND") {
      return this.#fail(requestId, call, this.#notFound(call.operationId));
    }
    if (from !== undefined && frame.type !== "call.error") this.#served.add(call.operationId);
    if (isLastReply(frame)) this.#pending.delete(requestId);
    call.onReply(frame);
  }

  /** Notes a sign of the worker of a call. Returns false if it is not its worker. */
  #adopt(requestId: string, call: PendingCall, from: Peer | undefined): boolean {
    if (from === undefined) return true; // reported by the wire itself
    if (!call.peer.isGroup && call.peer.id !== from.id) return false;
    call.silentBeats = 0;
    if (!call.peer.isGroup) return true;
    call.peer = from;
    if (call.heldCredit > 0) void from.send({ type: "call.credited", requestId, count: call.heldCredit });
    return true;
  }

  /** Handles a report of a worker. Calls that this peer does not wait for are aborted. */
  #noteRunning({ requestIds }: CallRunning, from: Peer): void {
    for (const requestId of requestIds) {
      const call = this.#pending.get(requestId);
      if (call !== undefined) this.#adopt(requestId, call, from);
      else void from.send({ type: "call.aborted", requestId, reason: "the caller does not wait for it" });
    }
  }

  #accept(frame: CallRequested, from: Peer): void {
    const { requestId, operationId } = frame;
    const key = `${from.id} ${requestId}`;
    if (this.#seen.has(key)) return; // It was sent again.
    this.#seen.set(key, true);
    const onRequest = this.#servers.get(operationId);
    const refusal = this.#refusalOf(frame, from, onRequest);
    if (refusal !== undefined) return void from.send(toFailedFrame(requestId, refusal));
    const caller = this.#callerOf(from, frame);
    const call: RunningCall = { frame, peer: from, hasEnded: false, toHandler: undefined };
    caller.calls.set(requestId, call);
    this.#running += 1;
    if (isSubscription(call)) caller.subscriptions += 1;
    else this.runningCalls += 1;
    const toHandler = onRequest!(frame, (reply) => this.#reply(call, reply), from.identity);
    call.toHandler = toHandler;
  }

  #refusalOf(frame: CallRequested, from: Peer, onRequest: OnRequest | undefined): CallError | undefined {
    const { requestId, operationId, timeout, credit } = frame;
    const abortedAt = this.#earlyAborts.get(`${from.id} ${requestId}`);
    if (abortedAt !== undefined && this.#beats - abortedAt <= 1) return aborted(operationId, undefined, false);
    // The operation was served here when the engine chose this peer.
    if (onRequest === undefined || this.#closing !== undefined) return notServedNow(operationId);
    if (timeout !== undefined && timeout > 0 && this.#pausedMs() > timeout) return workerPaused(operationId);
    if (this.#running >= this.#maxRunning) {
      return limitExceeded("Too many calls are pending", "pendingCalls", this.#maxRunning);
    }
    if (credit !== undefined && (this.#callers.get(from.id)?.subscriptions ?? 0) >= maxSubscriptions) {
      return overloaded("Too many subscriptions are open for this peer", maxSubscriptions);
    }
    return undefined;
  }

  #callerOf({ id }: Peer, { heartbeat }: CallRequested): Caller {
    const own = this.#wire.heartbeat ?? Number.POSITIVE_INFINITY;
    const interval = Math.max(minHeartbeatMs, Math.min(own, heartbeat ?? own));
    let caller = this.#callers.get(id);
    if (caller === undefined) {
      caller = { calls: new Map(), subscriptions: 0, heartbeat: interval, dueAt: performance.now() + interval };
      this.#callers.set(id, caller);
    }
    caller.heartbeat = Math.min(caller.heartbeat, interval);
    return caller;
  }

  #follow(frame: FollowUp, from: Peer): void {
    const { requestId } = frame;
    const call = this.#callers.get(from.id)?.calls.get(requestId);
    if (call !== undefined) {
      if (frame.type === "call.aborted") this.#end(call);
      call.toHandler?.(frame);
    } else if (frame.type === "call.aborted" && this.#wire.heartbeat !== undefined) {
      this.#earlyAborts.set(`${from.id} ${requestId}`, this.#beats);
    }
  }

  /** Sends a reply, unless the call has ended. The last reply ends it. Throws a `CallError` if it cannot be sent. */
  #reply(call: RunningCall, frame: ReplyFrame): Promise<void> | void {
    if (call.hasEnded) return undefined;
    const sent = call.peer.send(frame);
    if (isLastReply(frame)) this.#end(call);
    return sent;
  }

  #abort(call: RunningCall, reason: string): void {
    if (call.hasEnded) return;
    this.#end(call);
    call.toHandler?.({ type: "call.aborted", requestId: call.frame.requestId, reason });
  }

  #end(call: RunningCall): void {
    if (call.hasEnded) return;
    call.hasEnded = true;
    this.#running -= 1;
    const caller = this.#callers.get(call.peer.id);
    caller?.calls.delete(call.frame.requestId);
    if (!isSubscription(call)) this.runningCalls -= 1;
    else if (caller !== undefined) caller.subscriptions -= 1;
    if (caller?.calls.size === 0) this.#callers.delete(call.peer.id);
  }

  #fail(requestId: string, call: PendingCall, error: CallError): void {
    this.#pending.delete(requestId);
    call.onReply(toFailedFrame(requestId, error));
  }

  #notFound(operationId: string): CallError {
    for (const id of this.#served) this.#directory.noteServed(id);
    this.#served.clear();
    if (this.isIncomplete(operationId)) return notServedNow(operationId);
    return operationNotFound(operationId, nearestOperation(operationId, this.#directory.specs(), undefined));
  }

  /** Makes the wire serve what is served now. Changes while it is busy are one change. */
  #serveAll(): Promise<void> {
    this.#nextChange ??= this.#lastChange.then(async () => {
      this.#nextChange = undefined;
      const operationIds = new Set([...this.#servers.keys()].filter((id) => !this.#withdrawn.has(id)));
      try {
        await this.#wire.serve({ operationIds, specs: this.#specs });
      } catch (error) {
        throw error instanceof CallError ? error : unserved(this.name, error);
      }
    });
    this.#lastChange = this.#nextChange.catch(() => {});
    return this.#nextChange;
  }

  #every(interval: number, run: () => void): void {
    const timer = setInterval(run, interval);
    if (typeof timer === "object") timer.unref(); // heartbeats must not keep the process alive
    this.#timers.push(timer);
  }

  /** Returns how long this process did not run before it read what arrives now, in ms. */
  #pausedMs(): number {
    return Math.max(this.#lateBy, performance.now() - this.#tickedAt - tickMs);
  }

  /** Reports running calls to the callers whose heartbeat is due. Short calls never meet one. */
  #tick(): void {
    const now = performance.now();
    const lateBy = now - this.#tickedAt - tickMs;
    this.#tickedAt = now;
    if (lateBy > 0) {
      // A timer fires before what arrived during the pause is read.
      this.#lateBy = lateBy;
      deferTurn(() =>
        deferTurn(() => {
          this.#lateBy = 0;
        }),
      );
    }
    if (!this.#wire.isConnected) return;
    for (const caller of this.#callers.values()) {
      if (now < caller.dueAt) continue;
      caller.dueAt = now + caller.heartbeat;
      this.#report(caller);
    }
  }

  /** Reports to a caller which of its calls run here. */
  #report({ calls }: Caller): void {
    const [first] = calls.values();
    const requestIds = [...calls.keys()];
    for (let start = 0; start < requestIds.length; start += maxIdsPerReport) {
      void first!.peer.send({ type: "call.running", requestIds: requestIds.slice(start, start + maxIdsPerReport) });
    }
  }

  /** Fails the calls whose workers were silent for too long. */
  #beat(): void {
    for (const id of this.#served) this.#directory.noteServed(id);
    this.#served.clear();
    this.#beats += 1;
    for (const [requestId, call] of this.#pending.entries()) {
      if (call.peer.isWaiting?.(requestId)) continue;
      call.silentBeats += 1;
      if (call.silentBeats < maxSilentBeats) continue;
      void call.peer.send({ type: "call.aborted", requestId, reason: "its worker was silent" });
      this.#fail(requestId, call, workerGone(call.operationId));
    }
  }

  async #close(reason: Error | undefined): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    const error = transportClosed(this.name, { mayHaveRun: true, cause: reason });
    for (const [requestId, call] of this.#pending.entries()) {
      if (this.#wire.isConnected) void call.peer.send({ type: "call.aborted", requestId, reason: error.message });
      this.#fail(requestId, call, error);
    }
    for (const { calls } of [...this.#callers.values()]) {
      for (const call of [...calls.values()]) {
        void call.peer.send(toFailedFrame(call.frame.requestId, error));
        this.#abort(call, error.message);
      }
    }
    if (this.#wire.isConnected) await settlesWithin(maxChangeMs, this.#lastChange);
    await this.#wire.close();
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw transportClosed(this.name, { mayHaveRun: false });
  }
}

function isSubscription({ frame }: RunningCall): boolean {
  return frame.credit !== undefined;
}

function idOf({ namespace, name }: OperationSpec): string {
  return `${namespace}.${name}`;
}

/** `UNAVAILABLE`: the worker was paused for longer than a request may take. */
function workerPaused(operationId: string): CallError {
  const message = `The worker of "${operationId}" was paused for longer than the call may take.`;
  return unavailable(message, { mayHaveRun: false });
}

/** `UNAVAILABLE`: the engine did not accept what is served. */
function unserved(name: string, cause: unknown): CallError {
  return unavailable(`The server of the ${name} transport is not available.`, { cause, mayHaveRun: false });
}
