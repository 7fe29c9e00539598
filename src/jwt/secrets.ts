import { choose, hmac, type KeyUse, type UsableKey } from "./algorithms.ts";

/** Makes bytes ready to be a shared secret. Throws a `TypeError` when they are too few, or no secret. */
export async function importSecret(
  bytes: Uint8Array,
  use: KeyUse,
  algorithms: readonly string[] | undefined,
): Promise<UsableKey[]> {
  if (isWrittenKey(bytes)) {
    throw new TypeError(
      "The bytes are a written key, not a secret: everybody who knows a public key could sign with it. Give a PEM as text, a JWK as an object.",
    );
  }
  const algs = choose(hmac, algorithms, [hmac[0]]);
  return Promise.all(
    algs.map(async (alg) => {
      assertSecretLength(bytes.length, alg);
      const algorithm = { name: "HMAC", hash: `SHA-${alg.slice(2)}` };
      return { alg, key: await crypto.subtle.importKey("raw", new Uint8Array(bytes), algorithm, false, [use]) };
    }),
  );
}

/** What others may know is no secret: a PEM, a JWK, what SSH writes, or the bytes inside of a PEM. */
function isWrittenKey(bytes: Uint8Array): boolean {
  const start = String.fromCharCode(...bytes.subarray(0, 2_000));
  return /^\s*-----BEGIN |^\s*\{[\s\S]*"kty"|^(ssh|ecdsa)-/.test(start) || isPublicKeyInfo(bytes);
}

/** DER of a SubjectPublicKeyInfo: a sequence of a sequence that begins with an object identifier. */
function isPublicKeyInfo(bytes: Uint8Array): boolean {
  const [first, length = 0] = bytes;
  const inner = length < 0x80 ? 2 : 2 + (length & 0x7f);
  return first === 0x30 && bytes[inner] === 0x30 && bytes[inner + 2] === 0x06;
}

/** Throws when a secret has fewer bytes than its hash, see RFC 7518, section 3.2. */
export function assertSecretLength(length: number, alg: string): void {
  const least = Number(alg.slice(2)) / 8;
  if (length >= least) return;
  throw new TypeError(
    `The secret has ${length} bytes; ${alg} needs at least ${least}. Make one: crypto.getRandomValues(new Uint8Array(${least})).`,
  );
}
