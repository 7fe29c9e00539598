import type { Signal } from "@preact/signals";

/** Returns a handler that sets a signal: `onClick={set(isOpen, true)}`. */
export function set<T>(signal: Signal<T>, value: T): () => void {
  return () => {
    signal.value = value;
  };
}

/** Returns a handler that keeps what is typed into a field: `onInput={keepIn(text)}`. */
export function keepIn(signal: Signal<string>): (event: { currentTarget: { value: string } }) => void {
  return ({ currentTarget }) => {
    signal.value = currentTarget.value;
  };
}
