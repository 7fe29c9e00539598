import { setTimeout as delay } from "node:timers/promises";

/** What keeps this process alive: timers, sockets, ports. */
export function listResources(): string[] {
  return process.getActiveResourcesInfo();
}

/** What keeps it alive and did not before. Sockets may take a moment to go. */
export async function resourcesSince(before: readonly string[]): Promise<string[]> {
  for (let attempt = 0; ; attempt++) {
    const left = listResources();
    for (const known of before) {
      const index = left.indexOf(known);
      if (index >= 0) left.splice(index, 1);
    }
    if (left.length === 0 || attempt === 20) return left;
    await delay(50);
  }
}
