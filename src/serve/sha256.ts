// Web Crypto computes digests only asynchronously, and Node's module does not exist in browsers.

// The constants are the fractional parts of roots of the first primes (FIPS 180-4, sections 4.2.2 and 5.3.3).
const primes = firstPrimes(64);
const roundConstants = primes.map((prime) => fractionOf(Math.cbrt(prime)));
const initialState = primes.slice(0, 8).map((prime) => fractionOf(Math.sqrt(prime)));

/** Returns the SHA-256 digest of a string in UTF-8, as hexadecimal digits. For short strings: it is not fast. */
export function sha256(text: string): string {
  const message = pad(new TextEncoder().encode(text));
  const words = new Int32Array(64);
  const state = Int32Array.from(initialState);
  for (let offset = 0; offset < message.byteLength; offset += 64) {
    for (let index = 0; index < 16; index++) words[index] = message.getInt32(offset + 4 * index);
    for (let index = 16; index < 64; index++) {
      const [early, late] = [words[index - 15]!, words[index - 2]!];
      const s0 = rotate(early, 7) ^ rotate(early, 18) ^ (early >>> 3);
      const s1 = rotate(late, 17) ^ rotate(late, 19) ^ (late >>> 10);
      words[index] = words[index - 16]! + s0 + words[index - 7]! + s1;
    }
    let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number];
    for (let index = 0; index < 64; index++) {
      const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
      const next = (h + s1 + ((e & f) ^ (~e & g)) + roundConstants[index]! + words[index]!) | 0;
      const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
      const majority = (a & b) ^ (a & c) ^ (b & c);
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + next) | 0, c, b, a, (next + s0 + majority) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((value, index) => {
      state[index]! += value;
    });
  }
  return Array.from(state, (value) => (value >>> 0).toString(16).padStart(8, "0")).join("");
}

/** Appends a one bit, zeros, and the length in bits, so that the message consists of blocks of 64 bytes. */
function pad(bytes: Uint8Array): DataView {
  const padded = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, BigInt(bytes.length) * 8n);
  return view;
}

function rotate(value: number, bits: number): number {
  return (value >>> bits) | (value << (32 - bits));
}

/** Returns the first 32 bits of the fractional part. */
function fractionOf(value: number): number {
  return ((value % 1) * 2 ** 32) | 0;
}

function firstPrimes(count: number): number[] {
  const found: number[] = [];
  for (let candidate = 2; found.length < count; candidate++) {
    if (found.every((prime) => candidate % prime !== 0)) found.push(candidate);
  }
  return found;
}
