import { signal } from "@preact/signals";

/** How long a message is shown, in ms. */
const shownMs = 4_000;

/** What the page has to say beside the view: seen at its lower end, and read aloud. */
export const announcement = signal("");

let hiding: ReturnType<typeof setTimeout> | undefined;

/** Says something. A later message replaces an earlier one. */
export function announce(message: string, { isLasting = false } = {}): void {
  clearTimeout(hiding);
  announcement.value = message;
  if (!isLasting) hiding = setTimeout(() => announce("", { isLasting: true }), shownMs);
}

/** Copies text, and says so. */
export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    announce(`${what} copied`);
  } catch {
    announce("The browser does not allow this page to copy.");
  }
}
