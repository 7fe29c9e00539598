import { monotonicNow } from "../../internal/deadlines.ts";
import { RemoteClock } from "../../internal/remote-clock.ts";

/** Askers that are remembered; of more, those who came first are forgotten, unless something waits for their answer. */
const maxAskers = 10_000;
/** Questions that are remembered; anybody can make up askers who never answer. */
const maxQuestions = 100_000;
/** A request that was on its way for longer than this, in ms, may have been given up meanwhile. */
const late = 50;
/** Answers that take longer, in ms, are not waited for. */
const longestAnswer = 60_000;

/** A request that waits until its asker has answered. */
export interface HeldCall {
  readonly heldAt: number;
  /** When it must be decided, whether there is an answer or not. */
  readonly until: number;
  /** `isAnswered` is false when the time is up. */
  begin(isAnswered: boolean): void;
}

/** What is known of a peer that sends requests. */
export interface Asker {
  readonly address: string;
  readonly clock: RemoteClock;
  /** In the order in which they came. */
  held: HeldCall[];
}

/** A question for an asker's clock. */
interface Question {
  readonly asker: Asker;
  readonly asked: number;
}

/**
 * Knows how late requests are. An engine may hold messages back for any time, and so may a link or a process that stands
 * still. Requests carry the time of their asker's clock, and askers are asked how that clock stands. A request that is
 * late, or of an asker that is new, waits for the answer: an abort that was sent after it has then come as well.
 */
export class Askers {
  readonly #known = new Map<string, Asker>();
  readonly #questions = new Map<string, Question>();
  readonly #ask: (address: string, question: string) => void;
  /** Those who are to be asked when this turn is over. */
  readonly #next = new Set<Asker>();
  #waiting: Array<() => void> = [];

  /** @param ask sends a question, whose name comes back with the answer */
  constructor(ask: (address: string, question: string) => void) {
    this.#ask = ask;
  }

  /** What is known of the peer at an address. */
  at(address: string): Asker {
    let asker = this.#known.get(address);
    if (asker !== undefined) return asker;
    asker = { address, clock: new RemoteClock(), held: [] };
    if (this.#known.size >= maxAskers) this.#forgetFirst();
    this.#known.set(address, asker);
    return asker;
  }

  /** How long a request has been on its way, in ms; `undefined` when its asker must answer before it begins. */
  ageOf(asker: Asker, sentAt: number, now: number): number | undefined {
    const age = asker.clock.ageOf(sentAt, now);
    if (age === undefined || age > late) return undefined;
    if (asker.clock.isDue(now)) this.#question(asker);
    return age;
  }

  hold(asker: Asker, call: HeldCall): void {
    asker.held.push(call);
    // One question for all that come in this turn. It must leave after they came.
    if (this.#next.size === 0) setImmediate(this.#askNext);
    this.#next.add(asker);
  }

  answer(name: string, told: number): void {
    const question = this.#questions.get(name);
    if (question === undefined) return;
    this.#questions.delete(name);
    const { asker, asked } = question;
    asker.clock.set(asked, told);
    this.#begin(asker, true, ({ heldAt }) => heldAt <= asked);
  }

  /** Asks again for those who still wait, because messages may be lost, and waits for nobody for ever. */
  beat(): void {
    const now = monotonicNow();
    for (const [name, { asked }] of this.#questions) if (now - asked > longestAnswer) this.#questions.delete(name);
    for (const asker of this.#known.values()) {
      if (asker.held.length === 0) continue;
      this.#begin(asker, false, ({ until }) => until <= now);
      if (asker.held.length > 0) this.#question(asker);
    }
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

  #begin(asker: Asker, isAnswered: boolean, isReady: (call: HeldCall) => boolean): void {
    const ready = asker.held.filter(isReady);
    asker.held = asker.held.filter((call) => !isReady(call));
    for (const call of ready) call.begin(isAnswered);
    this.#notice();
  }

  #forgetFirst(): void {
    for (const [address, { held }] of this.#known) {
      if (held.length === 0) return void this.#known.delete(address);
    }
  }

  #question(asker: Asker): void {
    if (this.#questions.size >= maxQuestions) this.#questions.delete(this.#questions.keys().next().value!);
    // Nobody but the one who was asked can answer, and the answer need not say who that is.
    const name = crypto.randomUUID();
    this.#questions.set(name, { asker, asked: monotonicNow() });
    this.#ask(asker.address, name);
  }

  readonly #askNext = (): void => {
    const askers = [...this.#next];
    this.#next.clear();
    for (const asker of askers) this.#question(asker);
  };

  #isWaiting(): boolean {
    return [...this.#known.values()].some(({ held }) => held.length > 0);
  }

  #notice(): void {
    if (this.#waiting.length === 0 || this.#isWaiting()) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
