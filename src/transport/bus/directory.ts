import { RecentOperations } from "../../internal/recent-operations.ts";
import { type CallError, notServedNow, operationNotFound } from "../../operation/index.ts";

/** In beats: how long a peer that served an operation and left may take to come back. */
const restartBeats = 3;

/**
 * Decides whether an operation that no peer serves does not exist, or may only be away for a moment. The latter holds for
 * one beat after the link was restored, and for every operation that was served within the last three beats.
 */
export class Directory {
  readonly #nearestId: (operationId: string) => string | undefined;
  readonly #recent = new RecentOperations(restartBeats);
  #beat = 0;
  /** The beat after which every peer has had the time to return to the bus and to announce what it serves. */
  #completeAfter = -1;
  /** The same for the announcements of peers that were there before this one listened. */
  #heardAfter = -1;

  constructor(nearestId: (operationId: string) => string | undefined) {
    this.#nearestId = nearestId;
  }

  /** To be called at every beat, also while there is no link. */
  beat(): void {
    this.#beat++;
  }

  /** Other peers may have lost the link too, and return later than this one. */
  noteRestored(): void {
    this.#completeAfter = this.#beat + 1;
  }

  /** From now on this peer hears what others announce. */
  noteListening(): void {
    this.#heardAfter = this.#beat + 1;
  }

  noteServed(operationId: string): void {
    this.#recent.add(operationId, this.#beat);
  }

  /** A peer that is still there serves it no longer. */
  noteWithdrawn(operationId: string): void {
    this.#recent.delete(operationId);
  }

  /** Whether an operation that was not announced may be announced in a moment. */
  mayBeAnnounced(operationId: string): boolean {
    return this.#beat <= this.#heardAfter || this.#mayReturn(operationId);
  }

  /** What a call fails with when no peer serves the operation. */
  notServed(operationId: string): CallError {
    if (this.#mayReturn(operationId)) return notServedNow(operationId);
    return operationNotFound(operationId, this.#nearestId(operationId));
  }

  #mayReturn(operationId: string): boolean {
    return this.#beat <= this.#completeAfter || this.#recent.has(operationId, this.#beat);
  }
}
