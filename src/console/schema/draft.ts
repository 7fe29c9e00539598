import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";

const storageKey = "operations.drafts";
const maxDrafts = 20;
const maxDraftLength = 256_000;

/**
 * The input that a person prepares: one JSON value with two views, a form and a text. Text that does not parse keeps the last
 * value, and the form shows it without letting it change.
 */
export interface Draft {
  /** `undefined` is an input that is not given. */
  readonly value: ReadonlySignal<unknown>;
  readonly text: ReadonlySignal<string>;
  /** Why the text is not JSON. */
  readonly problem: ReadonlySignal<string | undefined>;
  /** Replaces the value, from the form. */
  set(value: unknown): void;
  /** Replaces the text, from the editor. */
  write(text: string): void;
}

/** Opens the draft of an operation: what the address or this tab has kept, or else `initial`. */
export function openDraft(id: string, initial: unknown): Draft {
  const kept = readDrafts().find((draft) => draft.id === id);
  const text: Signal<string> = signal(kept?.text ?? format(initial));
  const value: Signal<unknown> = signal(kept === undefined ? initial : (parse(kept.text).value ?? initial));
  const keep = (next: string) => {
    text.value = next;
    keepDraft(id, next);
  };
  return {
    value,
    text,
    problem: computed(() => parse(text.value).problem),
    set: (next) => {
      value.value = next;
      keep(format(next));
    },
    write: (next) => {
      keep(next);
      const parsed = parse(next);
      if (parsed.problem === undefined) value.value = parsed.value;
    },
  };
}

function format(value: unknown): string {
  return value === undefined ? "" : JSON.stringify(value, undefined, 2);
}

function parse(text: string): { value?: unknown; problem?: string } {
  if (text.trim() === "") return {};
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}

function readDrafts(): { id: string; text: string }[] {
  try {
    return JSON.parse(sessionStorage.getItem(storageKey) ?? "[]");
  } catch {
    return [];
  }
}

/** Keeps the newest drafts of this tab; they survive signing in again. */
function keepDraft(id: string, text: string): void {
  const others = readDrafts().filter((draft) => draft.id !== id);
  const drafts = text.length > maxDraftLength ? others : [{ id, text }, ...others].slice(0, maxDrafts);
  sessionStorage.setItem(storageKey, JSON.stringify(drafts));
}
