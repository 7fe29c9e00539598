import { effect, signal } from "@preact/signals";

/** What a person has chosen; kept in `localStorage`, where nothing else is. */
interface Preferences {
  theme: "system" | "light" | "dark";
  /** Whether keys without a modifier work. */
  keys: boolean;
  /** Ids of the operations that were used last, newest first. */
  used: string[];
}

const storageKey = "operations.preferences";
const maxUsed = 12;
const defaults: Preferences = { theme: "system", keys: true, used: [] };

/** The preferences of the person. */
export const preferences = signal<Preferences>(read());

/** Remembers that an operation was used. */
export function markUsed(id: string): void {
  const { used } = preferences.peek();
  change({ used: [id, ...used.filter((one) => one !== id)].slice(0, maxUsed) });
}

/** Changes preferences. */
export function change(changes: Partial<Preferences>): void {
  preferences.value = { ...preferences.peek(), ...changes };
}

/** Applies preferences to the page, and stores them when they change. */
export function applyPreferences(): void {
  effect(() => {
    const { theme } = preferences.value;
    document.documentElement.dataset["theme"] = theme;
    localStorage.setItem(storageKey, JSON.stringify(preferences.value));
  });
}

function read(): Preferences {
  try {
    return { ...defaults, ...JSON.parse(localStorage.getItem(storageKey) ?? "{}") };
  } catch {
    return defaults;
  }
}
