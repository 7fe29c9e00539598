import { createId } from "../../internal/request-id.ts";
import type { OtherFrame } from "../codec/index.ts";

/** Maximum number of open questions. Callers on a broker can invent any number of addresses that never reply. */
const maxQuestions = 100_000;

/** The reply of a peer. It shows that the peer has handled all earlier frames. */
export interface PeerReply {
  /** Time when the question was sent, by this peer's monotonic clock. */
  readonly askedAt: number;
  /** Time when the question was received, by the remote peer's monotonic clock. */
  readonly clock: number;
  /** The calls in the question that the remote peer no longer waits for. Not checked. */
  readonly withdrawn: unknown;
}

interface Question {
  readonly askedAt: number;
  readonly onReply: ((reply?: PeerReply) => void) | undefined;
}

/** Questions to remote peers that have no reply yet. */
export class PeerQuestions {
  readonly #open = new Map<string, Question>();

  /**
   * @param send sends a question with this id
   * @param onReply receives the reply, or `undefined` if no reply can arrive any more
   */
  ask(send: (question: string) => void, onReply?: (reply?: PeerReply) => void): void {
    if (this.#open.size >= maxQuestions) this.#open.delete(this.#open.keys().next().value!);
    // The id cannot be guessed, so only the peer that received it can reply, and the reply need not name that peer.
    const question = createId();
    this.#open.set(question, { askedAt: performance.now(), onReply });
    send(question);
  }

  /** Accepts a reply. Returns false when it is malformed. Ignores replies to unknown questions. */
  takeReply({ question, clock, withdrawn }: OtherFrame): boolean {
    if (typeof question !== "string" || !Number.isFinite(clock)) return false;
    const asked = this.#open.get(question);
    this.#open.delete(question);
    asked?.onReply?.({ askedAt: asked.askedAt, clock: clock as number, withdrawn });
    return true;
  }

  /** Discards the questions that were sent before `time`, by this peer's monotonic clock. */
  discardBefore(time: number): void {
    for (const [question, { askedAt }] of this.#open) if (askedAt < time) this.#open.delete(question);
  }

  /** Ends all questions, because no further reply can arrive. */
  close(): void {
    const asked = [...this.#open.values()];
    this.#open.clear();
    for (const { onReply } of asked) onReply?.();
  }
}
