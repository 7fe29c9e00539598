/** Listeners to one kind of event. Listeners may be added and removed while an event is delivered. */
export class Emitter<E> {
  #listeners: ReadonlyArray<(event: E) => void> = [];
  readonly #onFailure: (error: unknown) => void;
  /** A field and not a getter, because every call reads it. */
  hasListeners = false;

  /** @param onFailure receives errors of listeners, which affect neither other listeners nor the emitter */
  constructor(onFailure: (error: unknown) => void) {
    this.#onFailure = onFailure;
  }

  /** Adds a listener and returns the function that removes it. */
  on(listener: (event: E) => void): () => void {
    // A separate wrapper, so that the same function can be added twice and removed once.
    const entry = (event: E) => listener(event);
    this.#set([...this.#listeners, entry]);
    return () => this.#set(this.#listeners.filter((other) => other !== entry));
  }

  #set(listeners: ReadonlyArray<(event: E) => void>): void {
    this.#listeners = listeners;
    this.hasListeners = listeners.length > 0;
  }

  emit(event: E): void {
    for (const listener of this.#listeners) notify(() => listener(event), this.#onFailure);
  }
}

/** Calls a listener. `onFailure` receives its error, also from a rejected promise. */
export function notify(call: () => unknown, onFailure: (error: unknown) => void): void {
  try {
    const result = call();
    if (result instanceof Promise) result.catch(onFailure);
  } catch (error) {
    onFailure(error);
  }
}
