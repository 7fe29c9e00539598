/** A request is looked for in one of so many places, a power of two, each of which holds the last few. */
const places = 8_192;
const held = 8;

/**
 * Knows the ten thousand requests that came last: one that comes again, for whatever reason, is not run again. Keeps
 * 53 bits of a hash of each, because that many texts, made and dropped all the time, cost more than the rest of a call.
 */
export class SeenRequests {
  readonly #hashes = new Float64Array(places * held);
  readonly #oldest = new Uint8Array(places);
  readonly #seed = crypto.getRandomValues(new Uint32Array(2));

  /** True when the request was added before. */
  add(from: string, requestId: string): boolean {
    let [low, high] = this.#seed as unknown as [number, number];
    for (const text of [from, requestId]) {
      for (let index = 0; index < text.length; index++) {
        const code = text.charCodeAt(index);
        low = Math.imul(low ^ code, 0x01000193);
        high = Math.imul(high ^ code, 0x85ebca6b) ^ (high >>> 13);
      }
      low = Math.imul(low ^ 0x1f, 0x01000193); // where one text ends and the other begins
    }
    low = Math.imul(low ^ (low >>> 15), 0x2c1b3c6d);
    const hash = (low >>> 0) * 2 ** 21 + (high >>> 11);
    const place = (low >>> 8) & (places - 1);
    const first = place * held;
    for (let index = first; index < first + held; index++) if (this.#hashes[index] === hash) return true;
    const oldest = this.#oldest[place]!;
    this.#hashes[first + oldest] = hash;
    this.#oldest[place] = (oldest + 1) % held;
    return false;
  }
}
