import { monotonicNow } from "../../internal/deadlines.ts";
import { randomRequestId } from "../../internal/request-id.ts";
import type { OtherFrame } from "../codec/index.ts";
import { defer } from "./batch-writer.ts";
import { type CallRef, readCallRefs, splitRefs, toCallRef } from "./outgoing-calls.ts";

/** How long a measurement is valid, in ms: two clocks drift apart by about a millisecond in that time. */
const validityMs = 10_000;
/** A measurement that took longer than this, in ms, is repeated as soon as possible. */
const maxRoundTripMs = 50;
/** Open questions that are remembered. Callers on a broker can invent any number of addresses that never reply. */
const maxQuestions = 100_000;
/** In ms. Older questions are forgotten. */
const maxQuestionAgeMs = 60_000;

/** A request that waits until its caller has confirmed that it still waits for it. */
export interface HeldRequest extends CallRef {
  /** When it must be decided without a confirmation, by this peer's monotonic clock. */
  readonly expiresAt: number;
  /** `isConfirmed` is false when no confirmation arrived in time. */
  begin(isConfirmed: boolean): void;
  /** The caller does not wait for it any more. */
  drop(): void;
}

/**
 * The monotonic clock of a remote peer, as far as it is known here, and the requests of that peer that wait for a
 * confirmation. The age of a request follows from it, whatever the wall clocks of both machines show.
 */
export class PeerClock {
  /** Where the peer is; empty on a channel. */
  readonly address: string;
  /** In the order of arrival. */
  readonly held = new Set<HeldRequest>();
  /** When it is to be measured again, by this peer's monotonic clock. */
  dueAt = Number.NEGATIVE_INFINITY;
  /** This clock minus the remote one, or less: no request is assumed to be younger than it is. */
  #offset: number | undefined = undefined;

  constructor(address = "") {
    this.address = address;
  }

  /** @param askedAt this clock when the question was sent @param reported the remote clock when it was received */
  set(askedAt: number, reported: number): void {
    const offset = askedAt - reported;
    if (this.#offset === undefined || offset > this.#offset) this.#offset = offset;
    if (monotonicNow() - askedAt > maxRoundTripMs) this.dueAt = Number.NEGATIVE_INFINITY;
  }

  /** How long a request has been on its way, in ms; `undefined` before the first measurement, 0 when it has no stamp. */
  ageOf(sentAt: number | undefined, now: number): number | undefined {
    if (sentAt === undefined) return 0;
    if (this.#offset === undefined) return undefined;
    const age = now - sentAt - this.#offset;
    if (age >= 0) return age;
    this.#offset += age; // no request arrives before it was sent: the remote clock is faster than this one
    return 0;
  }
}

interface Question {
  readonly clock: PeerClock;
  readonly askedAt: number;
  readonly held: readonly HeldRequest[];
  readonly onReply: (() => void) | undefined;
}

/** Sends a question for a peer's clock, and for those of some requests that it no longer waits for. */
export type AskClock = (clock: PeerClock, question: string, calls: readonly CallRef[]) => void;

/**
 * Determines how old requests are. A broker, a connection or a process can delay a request for any time. Requests carry
 * the time of their caller's clock, and callers are asked for that clock now and then. A request that is late, or whose
 * caller is new, waits for the reply, which also names the requests that the caller has withdrawn.
 */
export class ClockSync {
  readonly #send: AskClock;
  readonly #maxMessage: () => number;
  readonly #questions = new Map<string, Question>();
  /** The peers to ask at the end of this turn, and for which requests. */
  readonly #next = new Map<PeerClock, HeldRequest[]>();
  /** The peers with requests that wait. */
  readonly #waiting = new Set<PeerClock>();
  #settlers: Array<() => void> = [];

  /** @param maxMessage maximum size of a question, in bytes */
  constructor(send: AskClock, maxMessage: () => number) {
    this.#send = send;
    this.#maxMessage = maxMessage;
  }

  /** Asks a peer for its clock. `onReply` is called when the reply is there: everything that it sent before is, too. */
  ask(clock: PeerClock, onReply?: () => void): void {
    this.#ask(clock, [], onReply);
  }

  /** Keeps a request until its caller has confirmed or withdrawn it. */
  hold(clock: PeerClock, request: HeldRequest): void {
    clock.held.add(request);
    this.#waiting.add(clock);
    // One question for all that arrive in this turn. It must leave after they arrived.
    if (this.#next.size === 0) defer(this.#askNext);
    const next = this.#next.get(clock);
    if (next === undefined) this.#next.set(clock, [request]);
    else next.push(request);
  }

  /** Accepts the reply to a question. Returns false when it is malformed; one to an unknown question is ignored. */
  takeReply({ question, clock: reported, withdrawn }: OtherFrame): boolean {
    if (typeof question !== "string" || !Number.isFinite(reported)) return false;
    const asked = this.#questions.get(question);
    if (asked === undefined) return true;
    this.#questions.delete(question);
    const { clock, askedAt, held, onReply } = asked;
    clock.set(askedAt, reported as number);
    const isWithdrawn = new Set(readCallRefs(withdrawn)?.map(toKey));
    for (const request of held) {
      // Two questions may have been sent for it, of which the first is answered.
      if (!clock.held.delete(request)) continue;
      if (isWithdrawn.has(toKey(request))) request.drop();
      else request.begin(true);
    }
    onReply?.();
    this.#noteSettled(clock);
    return true;
  }

  /** Asks again for requests that still wait, because brokers lose messages, and begins those whose time is up. */
  beat(): void {
    const now = monotonicNow();
    for (const [question, { askedAt }] of this.#questions) {
      if (now - askedAt > maxQuestionAgeMs) this.#questions.delete(question);
    }
    for (const clock of [...this.#waiting]) {
      for (const request of [...clock.held]) {
        if (request.expiresAt <= now && clock.held.delete(request)) request.begin(false);
      }
      this.#askAll(clock, [...clock.held]);
      this.#noteSettled(clock);
    }
  }

  /** The peer is gone: its requests are not begun. */
  forget(clock: PeerClock): void {
    clock.held.clear();
    this.#noteSettled(clock);
  }

  /** Resolves when no request waits. */
  async settled(): Promise<void> {
    if (this.#waiting.size > 0) await new Promise<void>((resolve) => this.#settlers.push(resolve));
  }

  /** No reply can arrive any more: everything that waits for one goes on. */
  close(): void {
    const asked = [...this.#questions.values()];
    this.#questions.clear();
    for (const { onReply } of asked) onReply?.();
  }

  #askAll(clock: PeerClock, held: readonly HeldRequest[]): void {
    for (const part of splitRefs(held, this.#maxMessage())) this.#ask(clock, part);
  }

  #ask(clock: PeerClock, held: readonly HeldRequest[], onReply?: () => void): void {
    if (this.#questions.size >= maxQuestions) this.#questions.delete(this.#questions.keys().next().value!);
    // Unguessable: only the peer that was asked can reply, and the reply need not name that peer.
    const question = randomRequestId();
    const askedAt = monotonicNow();
    clock.dueAt = askedAt + validityMs;
    this.#questions.set(question, { clock, askedAt, held, onReply });
    const calls = held.map(({ requestId, attempt }) => toCallRef(requestId, attempt));
    this.#send(clock, question, calls);
  }

  readonly #askNext = (): void => {
    const next = [...this.#next];
    this.#next.clear();
    for (const [clock, held] of next) this.#askAll(clock, held);
  };

  #noteSettled(clock: PeerClock): void {
    if (clock.held.size > 0) return;
    this.#waiting.delete(clock);
    if (this.#waiting.size > 0) return;
    for (const resolve of this.#settlers.splice(0)) resolve();
  }
}

function toKey(ref: CallRef): string {
  return `${ref.attempt ?? 0} ${ref.requestId}`;
}
