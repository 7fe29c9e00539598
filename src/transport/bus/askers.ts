import { monotonicNow } from "../../internal/deadlines.ts";
import { RemoteClock } from "../../internal/remote-clock.ts";

/** Askers that are remembered; of more, those who came first are forgotten. */
const maxAskers = 10_000;
/** A request that was on its way for longer than this, in ms, may have been given up meanwhile. */
const late = 50;

/** A request that waits until its asker has answered. */
export interface HeldCall {
  /** When it must be decided whether there is an answer or not. */
  readonly until: number;
  begin(): void;
}

/** What is known of a peer that sends requests. */
export interface Asker {
  readonly address: string;
  readonly clock: RemoteClock;
  /** Who waits for the question that is asked after this turn. */
  readonly next: HeldCall[];
}

/** A question for an asker's clock, and who waits for the answer. */
interface Question {
  readonly asker: Asker;
  readonly asked: number;
  readonly held: readonly HeldCall[];
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
  #waiting: Array<() => void> = [];

  /** @param ask sends a question, whose name comes back with the answer */
  constructor(ask: (address: string, question: string) => void) {
    this.#ask = ask;
  }

  /** What is known of the peer at an address. */
  at(address: string): Asker {
    let asker = this.#known.get(address);
    if (asker !== undefined) return asker;
    asker = { address, clock: new RemoteClock(), next: [] };
    if (this.#known.size >= maxAskers) this.#known.delete(this.#known.keys().next().value!);
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
    // One question for all that come in this turn. It must leave after they came.
    if (asker.next.push(call) === 1) setImmediate(() => this.#question(asker, asker.next.splice(0)));
  }

  answer(name: string, told: number): void {
    const question = this.#questions.get(name);
    if (question === undefined) return; // was asked again meanwhile
    this.#questions.delete(name);
    question.asker.clock.set(question.asked, told);
    for (const call of question.held) call.begin();
    this.#notice();
  }

  /** Asks again what was not answered, because messages may be lost, and waits for nobody for ever. */
  beat(): void {
    const now = monotonicNow();
    for (const [name, { asker, held }] of [...this.#questions]) {
      this.#questions.delete(name);
      for (const call of held) if (call.until <= now) call.begin();
      const others = held.filter(({ until }) => until > now);
      if (others.length > 0) this.#question(asker, others);
    }
    this.#notice();
  }

  /** Nobody is there any more. Those who wait for an answer are not begun. */
  forget(address: string): void {
    this.#known.delete(address);
    for (const [name, { asker }] of this.#questions) if (asker.address === address) this.#questions.delete(name);
    this.#notice();
  }

  /** Resolves when no request waits. */
  async settled(): Promise<void> {
    if (this.#isWaiting()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #question(asker: Asker, held: readonly HeldCall[]): void {
    // Nobody but the one who was asked can answer, and the answer need not say who that is.
    const name = crypto.randomUUID();
    this.#questions.set(name, { asker, asked: monotonicNow(), held });
    this.#ask(asker.address, name);
  }

  #isWaiting(): boolean {
    for (const { held } of this.#questions.values()) if (held.length > 0) return true;
    for (const { next } of this.#known.values()) if (next.length > 0) return true;
    return false;
  }

  #notice(): void {
    if (this.#waiting.length === 0 || this.#isWaiting()) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
