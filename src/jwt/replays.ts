import { Refusal } from "./refusal.ts";

/**
 * True for the first who asks for a request id before `expiresAt`, in ms since the epoch; after that the token has
 * expired anyway.
 */
export type TakeOnce = (requestId: string, expiresAt: number) => boolean | Promise<boolean>;

const slotMilliseconds = 8_000;
/** Some 100 MB at worst. Only who holds the key can fill it. */
const maxRemembered = 1_000_000;

/** Remembers the calls of tokens that were used, each until its token has expired. */
export function rememberCalls(limit = maxRemembered): TakeOnce {
  // By when they expire: a signed time, so the same token always looks into the same slot.
  const slots = new Map<number, Set<string>>();
  let size = 0;
  let lastSwept = 0;

  const sweep = (now: number) => {
    lastSwept = now;
    for (const [slot, ids] of slots) {
      if (slot >= now) continue;
      slots.delete(slot);
      size -= ids.size;
    }
  };

  return (requestId, expiresAt) => {
    const now = Math.floor(Date.now() / slotMilliseconds);
    if (now !== lastSwept) sweep(now);
    if (size >= limit) {
      // To forget would let old tokens in again.
      throw new Refusal("this side remembers as many calls as it can; make tokens with a shorter lifetime");
    }
    const slot = Math.floor(expiresAt / slotMilliseconds);
    let ids = slots.get(slot);
    if (ids === undefined) {
      ids = new Set();
      slots.set(slot, ids);
    }
    if (ids.has(requestId)) return false;
    ids.add(requestId);
    size += 1;
    return true;
  };
}
