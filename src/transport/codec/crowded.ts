/** Fewer keys than this do no harm, wherever they fall. */
const harmless = 1_000;
/** How many keys share a bucket, seen from the average key. Chance gives about 3. */
const tooMany = 64;

/**
 * Tells whether the numbers among the keys of a `Map` or `Set` were chosen to fall into the same buckets. V8 hashes
 * texts with a secret and numbers without one, so that a message of half a megabyte can stop the process for ten seconds.
 * The hash here is V8's; in an engine that has another one it finds nothing, and refuses nothing.
 */
export function isCrowded(keys: readonly unknown[]): boolean {
  if (keys.length <= harmless) return false;
  const buckets = new Uint32Array(2 ** Math.floor(Math.log2(keys.length)));
  let shared = 0;
  for (const key of keys) {
    const hash = typeof key === "number" ? hashNumber(key) : typeof key === "bigint" ? hashBigInt(key) : undefined;
    if (hash === undefined) continue;
    const bucket = hash & (buckets.length - 1);
    const before = buckets[bucket] as number;
    shared += 2 * before + 1; // what the square of the bucket's count grows by
    buckets[bucket] = before + 1;
  }
  return shared > tooMany * keys.length;
}

const view = new DataView(new ArrayBuffer(8));

function hashNumber(key: number): number {
  if (key === (key | 0)) return hash32(key | 0);
  view.setFloat64(0, key);
  return hash64(view.getUint32(0), view.getUint32(4));
}

/** Of the 64 lowest bits without the sign, as V8 does it. */
function hashBigInt(key: bigint): number {
  view.setBigUint64(0, BigInt.asUintN(64, key < 0n ? -key : key));
  return hash64(view.getUint32(0), view.getUint32(4));
}

/** `ComputeUnseededHash` of V8. */
function hash32(key: number): number {
  let hash = ~key + (key << 15);
  hash ^= hash >>> 12;
  hash += hash << 2;
  hash ^= hash >>> 4;
  hash = Math.imul(hash, 2057);
  return hash ^ (hash >>> 16);
}

/** `ComputeLongHash` of V8, on the halves of a number of 64 bits. */
function hash64(high: number, low: number): number {
  [high, low] = sum(~high, ~low, (high << 18) | (low >>> 14), low << 18);
  [high, low] = [high ^ (high >>> 31), low ^ ((high << 1) | (low >>> 31))];
  [high, low] = sum(Math.imul(high, 21) + Math.floor(((low >>> 0) * 21) / 2 ** 32), Math.imul(low, 21), 0, 0);
  [high, low] = [high ^ (high >>> 11), low ^ ((high << 21) | (low >>> 11))];
  [high, low] = sum(high, low, (high << 6) | (low >>> 26), low << 6);
  return low ^ ((high << 10) | (low >>> 22));
}

function sum(high: number, low: number, otherHigh: number, otherLow: number): [high: number, low: number] {
  const lows = (low >>> 0) + (otherLow >>> 0);
  return [(high + otherHigh + (lows > 0xffff_ffff ? 1 : 0)) | 0, lows | 0];
}
