import { signal } from "@preact/signals";
import { preferences } from "./preferences.ts";
import { go, hrefTo } from "./router.ts";

/** A key of a view or of the page, for the sheet of keys. */
export interface KeyBinding {
  /** As {@link nameOf} returns it: `/`, `j`, `Mod+Enter`; two keys in a row as `g o`. */
  key: string;
  does: string;
  run(event: KeyboardEvent): void;
}

/** The sheet of keys is open. */
export const keysOpen = signal(false);
/** The palette is open. */
export const paletteOpen = signal(false);

const places: readonly (readonly [letter: string, view: string, name: string])[] = [
  ["h", "", "Overview"],
  ["o", "operations", "Operations"],
  ["c", "calls", "Calls"],
  ["s", "sources", "Sources"],
  ["a", "access", "Access"],
];

const pageBindings: KeyBinding[] = [
  { key: "Mod+k", does: "Search everything", run: () => toggle(paletteOpen) },
  { key: "?", does: "Show the keys", run: () => toggle(keysOpen) },
  ...places.map(([letter, view, name]) => ({ key: `g ${letter}`, does: `Go to ${name}`, run: () => go(hrefTo(view)) })),
];
const viewBindings = new Set<readonly KeyBinding[]>();
/** The first of two keys in a row. */
let prefix = "";

/** All keys that work now, for the sheet. */
export function currentBindings(): KeyBinding[] {
  return [...pageBindings, ...[...viewBindings].flat()];
}

/** Adds keys while a component is mounted: `useEffect(() => bindKeys([…]), [])`. */
export function bindKeys(bindings: readonly KeyBinding[]): () => void {
  viewBindings.add(bindings);
  return () => viewBindings.delete(bindings);
}

/** Listens for keys. Those without a modifier are off while a person types, and can be switched off (WCAG 2.1.4). */
export function listenForKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    const name = nameOf(event);
    const hasModifier = name.includes("+") || name === "Escape";
    if (!hasModifier && (!preferences.peek().keys || isTyping(event.target))) return;
    if (!hasModifier && document.querySelector("dialog[open]") !== null) return;
    const wanted = prefix === "" ? name : `${prefix} ${name}`;
    const binding = currentBindings().findLast(({ key }) => key === wanted);
    prefix = prefix === "" && name === "g" ? "g" : "";
    if (binding === undefined) return;
    event.preventDefault();
    binding.run(event);
  });
}

/** The name of a pressed key; `Mod` is ⌘ on a Mac and Ctrl elsewhere. */
function nameOf({ key, metaKey, ctrlKey }: KeyboardEvent): string {
  return metaKey || ctrlKey ? `Mod+${key}` : key;
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.shadowRoot !== null;
}

function toggle(isOpen: { value: boolean }): void {
  isOpen.value = !isOpen.value;
}
