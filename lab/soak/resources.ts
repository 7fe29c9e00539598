import { setTimeout as delay } from "node:timers/promises";

/** What keeps this process alive: timers, sockets, ports. The standard streams, which are opened on first use, always count. */
export function listResources(): string[] {
  void [process.stdin, process.stdout, process.stderr];
  return process.getActiveResourcesInfo();
}

/** How often, and in ms how long, to look again. */
const looks = { count: 600, pause: 50 };

/** What keeps it alive and did not before. Sockets may take a moment to go, on a busy machine a long one. */
export async function resourcesSince(before: readonly string[]): Promise<string[]> {
  for (let attempt = 0; ; attempt++) {
    const left = listResources();
    for (const known of before) {
      const index = left.indexOf(known);
      if (index >= 0) left.splice(index, 1);
    }
    if (left.length === 0 || attempt === looks.count) return left;
    await delay(looks.pause);
  }
}
