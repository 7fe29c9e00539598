/** Listeners to one kind of event. Listeners may come and go while an event is delivered. */
export class Emitter<E> {
  #listeners: ReadonlyArray<(event: E) => void> = [];
  readonly #onFailure: (error: unknown) => void;

  /** @param onFailure hears what listeners throw; they disturb neither each other nor the one who emits */
  constructor(onFailure: (error: unknown) => void) {
    this.#onFailure = onFailure;
  }

  get hasListeners(): boolean {
    return this.#listeners.length > 0;
  }

  /** Adds a listener and gives what removes it again. */
  on(listener: (event: E) => void): () => void {
    // A wrapper of its own, so that the same function can listen twice and leave once.
    const entry = (event: E) => listener(event);
    this.#listeners = [...this.#listeners, entry];
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== entry);
    };
  }

  emit(event: E): void {
    for (const listener of this.#listeners) {
      notify(() => listener(event), this.#onFailure);
    }
  }
}

/** Calls somebody who only listens. `onFailure` hears what it throws, and what its promise rejects with. */
export function notify(call: () => unknown, onFailure: (error: unknown) => void): void {
  try {
    const answer = call();
    if (answer instanceof Promise) answer.catch(onFailure);
  } catch (error) {
    onFailure(error);
  }
}
