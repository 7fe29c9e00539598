import { logger } from "../../internal/log.ts";
import type { WireFrame } from "../codec/index.ts";
import type { FrameSender } from "./batch-writer.ts";
import type { BrokerAdapter, PendingRequest } from "./broker-adapter.ts";
import type { BrokerCall } from "./broker-caller.ts";
import { poisonous, unacknowledged, workerGone } from "./errors.ts";
import { ticksPerHeartbeat } from "./heartbeat.ts";
import { type OutgoingCalls, splitRefs, toCallRef } from "./outgoing-calls.ts";

const log = logger("transport", "peer");

/** A request that no worker has acknowledged for more than two heartbeats is withdrawn. In ticks. */
const maxUnacknowledged = 2 * ticksPerHeartbeat;
/** Workers report running calls at each heartbeat. One that is silent for more than 2.5 heartbeats is lost. In ticks. */
const maxSilence = 2.5 * ticksPerHeartbeat;
/** Limit for requests that were sent again, in ticks. Their worker requests a confirmation immediately. */
const maxUnreported = 2;
/** All workers receive a question this many ticks before a call is withdrawn. */
const questionBefore = 1;
/** A request is not sent to another worker after this many of its workers were lost. */
const maxLostWorkers = 3;
/** The broker chooses the worker, and may choose one that is paused several times in a row. */
const maxAttempts = 8;

type NamedCall = [requestId: string, call: BrokerCall];

/**
 * Detects that the worker of a call is gone, paused or disconnected. A worker acknowledges a request that takes longer
 * than a heartbeat, and reports it at each later heartbeat. When these reports are missing, all workers of the
 * operation receive a question before the call is withdrawn. The worker that runs the call replies, and other workers
 * report if the operation is idempotent. An idempotent call is then sent again. Every other call fails.
 */
export class WorkerMonitor {
  /** Number of times that the calls were checked. */
  tickCount = 0;
  readonly #adapter: BrokerAdapter;
  readonly #sender: FrameSender;
  readonly #calls: OutgoingCalls<BrokerCall>;

  constructor(adapter: BrokerAdapter, sender: FrameSender, calls: OutgoingCalls<BrokerCall>) {
    this.#adapter = adapter;
    this.#sender = sender;
    this.#calls = calls;
  }

  tick(isHeartbeat: boolean): void {
    const tick = ++this.tickCount;
    const doubtful = new Map<string, NamedCall[]>();
    const lost = new Map<string, NamedCall[]>();
    const waiting: PendingRequest[] = [];
    const workers = new Set<string>();
    for (const named of this.#calls.entries()) {
      const [requestId, { operationId, ticket, worker, lastSignAt }] = named;
      const left = maxSilenceOf(named[1]) - (tick - lastSignAt);
      if (left < 0) push(lost, operationId, named);
      else if (left === questionBefore) push(doubtful, operationId, named);
      if (worker !== undefined) workers.add(worker);
      else if (tick - lastSignAt > ticksPerHeartbeat) waiting.push({ requestId, operationId, ticket });
    }
    for (const [operationId, calls] of doubtful) this.#question(operationId, calls);
    for (const [operationId, calls] of lost) {
      this.#withdraw(operationId, calls);
      for (const [requestId, call] of calls) this.#onWorkerLost(requestId, call);
    }
    if (!isHeartbeat) return;
    if (waiting.length > 0) this.#adapter.checkWorkers?.(waiting);
    for (const worker of workers) this.#adapter.send(worker, "", true);
  }

  /** Handles the report of a worker that the operation may run more than once. */
  noteOffer(operationId: string): void {
    for (const [, call] of this.#calls.entries()) {
      const isDoubtful = this.tickCount - call.lastSignAt >= maxSilenceOf(call) - questionBefore;
      if (call.operationId === operationId && isDoubtful && !call.isSubscription) call.isMovable = true;
    }
  }

  /** Handles the broker's report that no peer is at an address. A worker that is reconnecting can still reply. */
  onGone(address: string): void {
    const latest = this.tickCount + 1 + questionBefore - maxSilence;
    for (const [, call] of this.#calls.entries()) {
      if (call.worker === address) call.lastSignAt = Math.min(call.lastSignAt, latest);
    }
  }

  /** Sends a question about calls whose worker is silent to all workers of an operation. */
  #question(operationId: string, calls: readonly NamedCall[]): void {
    for (const part of splitRefs(calls, this.#sender.maxMessage)) {
      const refs = part.map(([requestId, { attempt }]) => toCallRef(requestId, attempt));
      this.#sendToAll(operationId, part, { type: "link.asked", operationId, calls: refs });
    }
  }

  /** Aborts calls, so that a paused worker does not start them, and a worker that has started them stops. */
  #withdraw(operationId: string, calls: readonly NamedCall[]): void {
    const reason = "its worker was silent";
    for (const part of splitRefs(calls, this.#sender.maxMessage)) {
      const refs = part.map(([requestId, { attempt }]) => toCallRef(requestId, attempt));
      this.#sendToAll(operationId, part, ...refs.map((ref) => ({ type: "call.aborted" as const, ...ref, reason })));
    }
  }

  #sendToAll(operationId: string, calls: readonly NamedCall[], ...frames: WireFrame[]): void {
    const message = this.#sender.sign(...frames);
    this.#adapter.broadcast(operationId, message);
    // A worker that has stopped serving the operation but still runs its calls does not receive the broadcast.
    const workers = new Set(calls.flatMap(([, { worker }]) => worker ?? []));
    for (const worker of workers) this.#adapter.send(worker, message);
  }

  #onWorkerLost(requestId: string, call: BrokerCall): void {
    const isFirst = call.attempt === 0;
    const isAcknowledged = call.worker !== undefined;
    if (isFirst || isAcknowledged) call.lostWorkers += 1;
    if (call.lostWorkers >= maxLostWorkers) return this.#bury(requestId, call);
    if (call.isMovable && call.attempt < maxAttempts) return this.#move(requestId, call);
    if (isAcknowledged || !isFirst) return this.#calls.fail(requestId, workerGone(call.operationId));
    if (call.isRecalled || this.#adapter.recall === undefined) {
      return this.#calls.fail(requestId, unacknowledged(call.operationId, true));
    }
    call.isRecalled = true;
    this.#adapter.recall(call.ticket).then(
      (isUntaken) => {
        if (this.#calls.get(requestId) !== call) return;
        this.#calls.fail(requestId, unacknowledged(call.operationId, !isUntaken));
      },
      (error) => log.debug("A request could not be withdrawn: {error}", { error }), // the next tick fails the call
    );
  }

  #move(requestId: string, call: BrokerCall): void {
    this.#adapter.withdraw?.(call.ticket);
    call.attempt += 1;
    call.worker = undefined;
    call.isMovable = false;
    call.lastSignAt = this.tickCount;
    const start = call.message.indexOf("{") + 1;
    const message = `${call.message.slice(0, start)}"attempt":${call.attempt},${call.message.slice(start)}`;
    try {
      call.ticket = this.#adapter.request(call.operationId, requestId, message);
    } catch (error) {
      log.debug("A request could not be sent to another worker: {error}", { error });
      this.#calls.fail(requestId, workerGone(call.operationId));
    }
  }

  #bury(requestId: string, call: BrokerCall): void {
    const { operationId } = call;
    log.error("{operationId} failed: several workers were lost with one request.", { operationId });
    this.#adapter.bury?.(operationId, call.message);
    this.#calls.fail(requestId, poisonous(operationId));
  }
}

/** In ticks. */
function maxSilenceOf({ worker, attempt }: BrokerCall): number {
  if (worker !== undefined) return maxSilence;
  return attempt === 0 ? maxUnacknowledged : maxUnreported;
}

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const values = map.get(key);
  if (values === undefined) map.set(key, [value]);
  else values.push(value);
}
