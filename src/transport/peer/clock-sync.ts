import { defer } from "./batch-writer.ts";
import { type CallRef, readCallRefs, splitRefs } from "./outgoing-calls.ts";
import type { PeerQuestions } from "./peer-questions.ts";

/** Validity of a measurement, in ms. Two clocks drift apart by about a millisecond in that time. */
const validityMs = 10_000;
/** A measurement that took longer than this, in ms, is repeated as soon as possible. */
const maxRoundTripMs = 50;
/** In ms. Older questions are discarded. */
const maxQuestionAgeMs = 60_000;

/** A request that is held until its caller has confirmed that it still waits for the reply. */
export interface HeldRequest extends CallRef {
  /** Time at which the request proceeds without a confirmation, by this peer's monotonic clock. */
  readonly expiresAt: number;
  /** Starts the request. `isConfirmed` is false when no confirmation arrived in time. */
  begin(isConfirmed: boolean): void;
  /** Discards the request, because the caller no longer waits for it. */
  drop(): void;
}

/**
 * An estimate of the monotonic clock of a remote peer, and the requests of that peer that wait for a confirmation. The
 * estimate determines the age of a request independently of the wall clocks of both machines.
 */
export class PeerClock {
  /** Address of the peer. Empty on a channel. */
  readonly address: string;
  /** In the order of arrival. */
  readonly held = new Set<HeldRequest>();
  /** Time of the next measurement, by this peer's monotonic clock. */
  dueAt = Number.NEGATIVE_INFINITY;
  /** At most this clock minus the remote one, so that no request is assumed to be younger than it is. */
  #offset: number | undefined = undefined;

  constructor(address = "") {
    this.address = address;
  }

  /** @param askedAt local time when the question was sent @param reported remote time when it was received */
  set(askedAt: number, reported: number): void {
    const offset = askedAt - reported;
    if (this.#offset === undefined || offset > this.#offset) this.#offset = offset;
    if (performance.now() - askedAt > maxRoundTripMs) this.dueAt = Number.NEGATIVE_INFINITY;
  }

  /** Time since a request was sent, in ms. `undefined` before the first measurement, 0 when it has no timestamp. */
  ageOf(sentAt: number | undefined, now: number): number | undefined {
    if (sentAt === undefined) return 0;
    if (this.#offset === undefined) return undefined;
    const age = now - sentAt - this.#offset;
    if (age >= 0) return age;
    this.#offset += age; // a negative age means that the remote clock is faster than this one
    return 0;
  }
}

/** Sends a question for a peer's clock, and for those of `calls` that the peer no longer waits for. */
export type AskClock = (clock: PeerClock, question: string, calls: readonly CallRef[]) => void;

/**
 * Determines the age of requests. A broker, a connection or a process can delay a request for any time. Requests carry
 * the time of their caller's clock, and questions to the callers measure that clock at intervals. A request that is
 * late, or whose caller is new, waits for the reply, which also lists the requests that the caller has withdrawn.
 */
export class ClockSync {
  readonly #questions: PeerQuestions;
  readonly #send: AskClock;
  readonly #maxMessage: () => number;
  /** The peers that receive a question at the end of this turn, and the requests that each question is about. */
  readonly #next = new Map<PeerClock, HeldRequest[]>();
  /** The peers with held requests. */
  readonly #waiting = new Set<PeerClock>();
  #settlers: Array<() => void> = [];

  /** @param maxMessage maximum size of a question, in bytes */
  constructor(questions: PeerQuestions, send: AskClock, maxMessage: () => number) {
    this.#questions = questions;
    this.#send = send;
    this.#maxMessage = maxMessage;
  }

  /**
   * Requests a peer's clock, and asks for those of the `held` requests that the peer no longer waits for. `onReply` is
   * called when the reply has arrived, and with it all earlier frames.
   */
  ask(clock: PeerClock, onReply?: () => void, held: readonly HeldRequest[] = []): void {
    clock.dueAt = performance.now() + validityMs;
    const calls = held.map(({ requestId }) => ({ requestId }));
    const send = (question: string) => this.#send(clock, question, calls);
    this.#questions.ask(send, (reply) => {
      if (reply !== undefined) {
        clock.set(reply.askedAt, reply.clock);
        this.#settle(clock, held, reply.withdrawn);
      }
      onReply?.();
    });
  }

  /** Holds a request until its caller has confirmed or withdrawn it. */
  hold(clock: PeerClock, request: HeldRequest): void {
    clock.held.add(request);
    this.#waiting.add(clock);
    // One question covers all requests that arrive in this turn. It must be sent after they arrived.
    if (this.#next.size === 0) defer(this.#askNext);
    const next = this.#next.get(clock);
    if (next === undefined) this.#next.set(clock, [request]);
    else next.push(request);
  }

  /** Repeats the questions for held requests, because brokers lose messages, and begins requests that have expired. */
  beat(): void {
    const now = performance.now();
    this.#questions.discardBefore(now - maxQuestionAgeMs);
    for (const clock of [...this.#waiting]) {
      for (const request of [...clock.held]) {
        if (request.expiresAt <= now && clock.held.delete(request)) request.begin(false);
      }
      this.#askAll(clock, [...clock.held]);
      this.#noteSettled(clock);
    }
  }

  /** Discards the requests of a peer that is gone. */
  forget(clock: PeerClock): void {
    clock.held.clear();
    this.#noteSettled(clock);
  }

  /** Resolves when no request is held. */
  async settled(): Promise<void> {
    if (this.#waiting.size > 0) await new Promise<void>((resolve) => this.#settlers.push(resolve));
  }

  #askAll(clock: PeerClock, held: readonly HeldRequest[]): void {
    for (const part of splitRefs(held, this.#maxMessage())) this.ask(clock, undefined, part);
  }

  readonly #askNext = (): void => {
    const next = [...this.#next];
    this.#next.clear();
    for (const [clock, held] of next) this.#askAll(clock, held);
  };

  #settle(clock: PeerClock, held: readonly HeldRequest[], withdrawn: unknown): void {
    const isWithdrawn = new Set(readCallRefs(withdrawn)?.map(toKey));
    for (const request of held) {
      // If two questions were sent for a request, the first reply decides.
      if (!clock.held.delete(request)) continue;
      if (isWithdrawn.has(toKey(request))) request.drop();
      else request.begin(true);
    }
    this.#noteSettled(clock);
  }

  #noteSettled(clock: PeerClock): void {
    if (clock.held.size > 0) return;
    this.#waiting.delete(clock);
    if (this.#waiting.size > 0) return;
    for (const resolve of this.#settlers.splice(0)) resolve();
  }
}

function toKey(ref: CallRef): string {
  return ref.requestId;
}
