import { monotonicNow } from "../../internal/deadlines.ts";
import { RemoteClock } from "../../internal/remote-clock.ts";
import { attemptOf, type CallRef } from "./call-refs.ts";

/** Askers that are remembered; of more, those who came first are forgotten, unless something waits for their answer. */
const maxAskers = 10_000;
/** Questions that are remembered; anybody can make up askers who never answer. */
const maxQuestions = 100_000;
/** A request that was on its way for longer than this, in ms, may have been given up meanwhile. */
const late = 50;
/** Answers that take longer, in ms, are not waited for. */
const longestAnswer = 60_000;

/** A request that waits until its asker has answered. */
export interface HeldCall extends CallRef {
  /** When it must be decided, whether there is an answer or not. */
  readonly until: number;
  /** `isAnswered` is false when the time is up. */
  begin(isAnswered: boolean): void;
  /** Its asker does not wait for it any more. */
  drop(): void;
}

/** What is known of a peer that sends requests. */
export interface Asker {
  readonly address: string;
  readonly clock: RemoteClock;
  /** In the order in which they came. */
  readonly held: Set<HeldCall>;
}

/** A question for an asker's clock, and for requests that it may have withdrawn. */
interface Question {
  readonly asker: Asker;
  readonly asked: number;
  readonly held: readonly HeldCall[];
}

/** Sends a question, whose name comes back with the answer. */
export type AskClock = (address: string, question: string, calls: readonly CallRef[]) => void;

/**
 * Knows how late requests are. An engine may hold messages back for any time, and so may a link or a process that stands
 * still. Requests carry the time of their asker's clock, and askers are asked how that clock stands. A request that is
 * late, or of an asker that is new, waits for the answer, which also says whether the asker has withdrawn it.
 */
export class Askers {
  readonly #known = new Map<string, Asker>();
  readonly #questions = new Map<string, Question>();
  readonly #ask: AskClock;
  readonly #slice: (held: readonly HeldCall[]) => Iterable<readonly HeldCall[]>;
  /** Those who are to be asked when this turn is over, and for what. */
  readonly #next = new Map<Asker, HeldCall[]>();
  #waiting: Array<() => void> = [];

  /** @param slice makes parts of a list of which each fits into a message */
  constructor(ask: AskClock, slice: (held: readonly HeldCall[]) => Iterable<readonly HeldCall[]>) {
    this.#ask = ask;
    this.#slice = slice;
  }

  /** What is known of the peer at an address. */
  at(address: string): Asker {
    let asker = this.#known.get(address);
    if (asker !== undefined) return asker;
    asker = { address, clock: new RemoteClock(), held: new Set() };
    if (this.#known.size >= maxAskers) this.#forgetFirst();
    this.#known.set(address, asker);
    return asker;
  }

  /** How long a request has been on its way, in ms; `undefined` when its asker must answer before it begins. */
  ageOf(asker: Asker, sentAt: number, now: number): number | undefined {
    const age = asker.clock.ageOf(sentAt, now);
    if (age === undefined || age > late) return undefined;
    if (asker.clock.isDue(now)) this.#question(asker, []);
    return age;
  }

  hold(asker: Asker, call: HeldCall): void {
    asker.held.add(call);
    // One question for all that come in this turn. It must leave after they came.
    if (this.#next.size === 0) setImmediate(this.#askNext);
    const next = this.#next.get(asker);
    if (next === undefined) this.#next.set(asker, [call]);
    else next.push(call);
  }

  answer(name: string, told: number, withdrawn: readonly CallRef[]): void {
    const question = this.#questions.get(name);
    if (question === undefined) return;
    this.#questions.delete(name);
    const { asker, asked, held } = question;
    asker.clock.set(asked, told);
    const isWithdrawn = new Set(withdrawn.map(toKey));
    for (const call of held) {
      // It may have been asked for twice, and answered before.
      if (!asker.held.delete(call)) continue;
      if (isWithdrawn.has(toKey(call))) call.drop();
      else call.begin(true);
    }
    this.#notice();
  }

  /** Asks again for those who still wait, because messages may be lost, and waits for nobody for ever. */
  beat(): void {
    const now = monotonicNow();
    for (const [name, { asked }] of this.#questions) if (now - asked > longestAnswer) this.#questions.delete(name);
    for (const asker of this.#known.values()) {
      if (asker.held.size === 0) continue;
      for (const call of [...asker.held]) {
        if (call.until <= now && asker.held.delete(call)) call.begin(false);
      }
      this.#questionAll(asker, [...asker.held]);
    }
    this.#notice();
  }

  /** Nobody is there any more. Those who wait for an answer are not begun. */
  forget(address: string): void {
    this.#known.delete(address);
    this.#notice();
  }

  /** Resolves when no request waits. */
  async settled(): Promise<void> {
    if (this.#isWaiting()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #forgetFirst(): void {
    for (const [address, { held }] of this.#known) {
      if (held.size === 0) return void this.#known.delete(address);
    }
  }

  #questionAll(asker: Asker, held: readonly HeldCall[]): void {
    for (const some of this.#slice(held)) this.#question(asker, some);
  }

  #question(asker: Asker, held: readonly HeldCall[]): void {
    if (this.#questions.size >= maxQuestions) this.#questions.delete(this.#questions.keys().next().value!);
    // Nobody but the one who was asked can answer, and the answer need not say who that is.
    const name = crypto.randomUUID();
    this.#questions.set(name, { asker, asked: monotonicNow(), held });
    this.#ask(asker.address, name, held);
  }

  readonly #askNext = (): void => {
    const next = [...this.#next];
    this.#next.clear();
    for (const [asker, held] of next) this.#questionAll(asker, held);
  };

  #isWaiting(): boolean {
    return [...this.#known.values()].some(({ held }) => held.size > 0);
  }

  #notice(): void {
    if (this.#waiting.length === 0 || this.#isWaiting()) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

function toKey(ref: CallRef): string {
  return `${attemptOf(ref)} ${ref.requestId}`;
}
