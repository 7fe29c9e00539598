import { logger } from "../../internal/log.ts";
import type { AskedCall, AskedCalls } from "./asked-calls.ts";
import { sliceRefs, toCallRef } from "./call-refs.ts";
import type { Engine, LongRequest } from "./engine.ts";
import { poisonous, unacknowledged, workerGone } from "./errors.ts";
import type { Post } from "./post.ts";
import { ticksPerHeartbeat } from "./ticks.ts";

const log = logger("transport", "bus");

/** A request that no worker has acknowledged for more than two heartbeats is withdrawn. In ticks. */
const maxUnacknowledged = 2 * ticksPerHeartbeat;
/** Workers give signs of life at each heartbeat. One that was silent for so many ticks is lost: 2.5 heartbeats. */
const maxSilence = 2.5 * ticksPerHeartbeat;
/** A worker that gets a request late reports that immediately. In ticks. */
const maxUnreported = 2;
/** All workers are asked this many ticks before that. */
const questionBefore = 1;
/** A request with which so many workers were lost is not given to another. */
const maxLostWorkers = 3;
/** The broker chooses the worker, and may choose one that is paused several times in a row. */
const maxAttempts = 8;

type NamedCall = [requestId: string, call: AskedCall];

/**
 * Notices that the worker of a call is gone, paused or cut off: it acknowledges a request that takes longer than a
 * heartbeat, and gives a sign of life at each one after that. When they are missing, all workers of the operation are asked
 * before the call is withdrawn: the one that has it answers, and others report when the operation is idempotent.
 * An idempotent call is sent again then, every other one fails.
 */
export class SilentWorkers {
  readonly #engine: Engine;
  readonly #post: Post;
  readonly #calls: AskedCalls;

  constructor(engine: Engine, post: Post, calls: AskedCalls) {
    this.#engine = engine;
    this.#post = post;
    this.#calls = calls;
  }

  tick(isHeartbeat: boolean): void {
    const tick = ++this.#calls.tick;
    const doubtful = new Map<string, NamedCall[]>();
    const lost = new Map<string, NamedCall[]>();
    const waiting: LongRequest[] = [];
    const workers = new Set<string>();
    for (const named of this.#calls.entries()) {
      const [requestId, { operationId, ticket, worker, heardAt }] = named;
      const left = maxSilenceOf(named[1]) - (tick - heardAt);
      if (left < 0) push(lost, operationId, named);
      else if (left === questionBefore) push(doubtful, operationId, named);
      if (worker !== undefined) workers.add(worker);
      else if (tick - heardAt > ticksPerHeartbeat) waiting.push({ requestId, operationId, ticket });
    }
    for (const [operationId, calls] of doubtful) this.#question(operationId, calls);
    for (const [operationId, calls] of lost) {
      this.#withdraw(operationId, calls);
      for (const [requestId, call] of calls) this.#giveUp(requestId, call);
    }
    if (!isHeartbeat) return;
    if (waiting.length > 0) this.#engine.checkWorkers?.(waiting);
    for (const worker of workers) this.#engine.send(worker, "", true);
  }

  /** A worker that is alive says that the operation may run more than once. */
  noteOffer(operationId: string): void {
    for (const [, call] of this.#calls.entries()) {
      const isDoubtful = this.#calls.tick - call.heardAt >= maxSilenceOf(call) - questionBefore;
      if (call.operationId === operationId && isDoubtful && !call.isSubscription) call.isMovable = true;
    }
  }

  /** The broker says that nobody is at an address. A worker that is only reconnecting can still answer. */
  onGone(address: string): void {
    const { tick } = this.#calls;
    for (const [, call] of this.#calls.entries()) {
      if (call.worker === address) call.heardAt = Math.min(call.heardAt, tick + 1 + questionBefore - maxSilence);
    }
  }

  /** Asks all who serve an operation about calls whose workers are silent. */
  #question(operationId: string, calls: readonly NamedCall[]): void {
    for (const some of sliceRefs(calls, this.#post)) {
      const refs = some.map(([requestId, { attempt }]) => toCallRef(requestId, attempt));
      const text = this.#post.sign({ type: "link.asked", operationId, calls: refs } as never);
      this.#tellAll(operationId, some, text);
    }
  }

  #tellAll(operationId: string, calls: readonly NamedCall[], text: string): void {
    this.#engine.broadcast(operationId, text);
    // A worker that serves the operation no more, and still has calls, does not receive what all do.
    const workers = new Set(calls.flatMap(([, { worker }]) => worker ?? []));
    for (const worker of workers) this.#engine.send(worker, text);
  }

  #giveUp(requestId: string, call: AskedCall): void {
    const isFirst = call.attempt === 0;
    const isAcknowledged = call.worker !== undefined;
    if (isFirst || isAcknowledged) call.lostWorkers += 1;
    if (call.lostWorkers >= maxLostWorkers) return this.#bury(requestId, call);
    if (call.isMovable && call.attempt < maxAttempts) return this.#move(requestId, call);
    if (isAcknowledged || !isFirst) return this.#calls.fail(requestId, workerGone(call.operationId));
    if (call.isRecalled || this.#engine.recall === undefined) {
      return this.#calls.fail(requestId, unacknowledged(call.operationId, true));
    }
    call.isRecalled = true;
    this.#engine.recall(call.ticket).then(
      (isUntaken) => {
        if (this.#calls.get(requestId) !== call) return;
        this.#calls.fail(requestId, unacknowledged(call.operationId, !isUntaken));
      },
      (error) => log.debug("A request could not be taken back: {error}", { error }), // the next tick fails the call
    );
  }

  /** A worker that was paused must not start these requests, and one that has started them is to stop. */
  #withdraw(operationId: string, calls: readonly NamedCall[]): void {
    const reason = "its worker was silent";
    for (const some of sliceRefs(calls, this.#post)) {
      const frames = some.map(([requestId, { attempt }]) => ({
        ...{ type: "call.aborted", ...toCallRef(requestId, attempt), reason },
      }));
      this.#tellAll(operationId, some, this.#post.sign(...frames));
    }
  }

  #move(requestId: string, call: AskedCall): void {
    this.#engine.withdraw?.(call.ticket);
    call.attempt += 1;
    call.worker = undefined;
    call.isMovable = false;
    call.heardAt = this.#calls.tick;
    const start = call.text.indexOf("{") + 1;
    const text = `${call.text.slice(0, start)}"attempt":${call.attempt},${call.text.slice(start)}`;
    try {
      call.ticket = this.#engine.ask(call.operationId, requestId, text);
    } catch (error) {
      log.debug("A request could not be sent to another worker: {error}", { error });
      this.#calls.fail(requestId, workerGone(call.operationId));
    }
  }

  #bury(requestId: string, call: AskedCall): void {
    const { operationId } = call;
    log.error("{operationId} was given up: several workers were lost with one request.", { operationId });
    this.#engine.bury?.(operationId, call.text);
    this.#calls.fail(requestId, poisonous(operationId));
  }
}

/** In ticks. */
function maxSilenceOf({ worker, attempt }: AskedCall): number {
  if (worker !== undefined) return maxSilence;
  return attempt === 0 ? maxUnacknowledged : maxUnreported;
}

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const values = map.get(key);
  if (values === undefined) map.set(key, [value]);
  else values.push(value);
}
