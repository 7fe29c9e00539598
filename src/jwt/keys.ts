import type { CryptoKey, JWK } from "jose";
import { choose, curves, type Family, familyOf, type KeyUse, rsa, type UsableKey } from "./algorithms.ts";
import type { JoseModule } from "./load-jose.ts";
import { assertSecretLength, importSecret } from "./secrets.ts";

/**
 * A key. Bytes are a shared secret; text is a PEM, `PUBLIC KEY` (SPKI) or `PRIVATE KEY` (PKCS #8). Ed25519, ECDSA and
 * RSA keys are known. Sign with the private half and check with the public one, so that who checks cannot sign.
 */
export type JWTKey = Uint8Array | CryptoKey | JWK | string;

/**
 * Makes a key ready for the algorithms that it is for, or those of them that are asked for. Throws a `TypeError` that
 * says what is wrong with it.
 */
export async function importKeys(
  jose: JoseModule,
  key: JWTKey | undefined,
  use: KeyUse,
  algorithms?: readonly string[],
): Promise<UsableKey[]> {
  if (key === undefined || key === null || key === "") {
    throw new TypeError("The key is missing. Is the variable that it comes from set?");
  }
  if (key instanceof Uint8Array) return importSecret(key, use, algorithms);
  if (typeof key === "string") return importPEM(jose, key.trim(), use, algorithms);
  if (isCryptoKey(key)) return importCryptoKey(key, use, algorithms);
  if (typeof key === "object" && typeof key.kty === "string") return importJWK(jose, key, use, algorithms);
  throw new TypeError("The key is none. Give a secret as bytes, a CryptoKey, a JWK or a PEM as text.");
}

async function importPEM(
  jose: JoseModule,
  pem: string,
  use: KeyUse,
  algorithms: readonly string[] | undefined,
): Promise<UsableKey[]> {
  const label = /^-----BEGIN ([A-Z0-9 ]{1,40})-----/.exec(pem)?.[1];
  if (label === undefined) {
    throw new TypeError("The key is text, but no PEM. Give a secret as bytes: new TextEncoder().encode(secret).");
  }
  const needed = use === "sign" ? "PRIVATE KEY" : "PUBLIC KEY";
  if (label !== needed) throw new TypeError(`The key is the PEM of a ${label}. To ${use}, give that of a ${needed}.`);
  const read = (alg: string) => (use === "sign" ? jose.importPKCS8(pem, alg) : jose.importSPKI(pem, alg));
  for (const family of [...curves.values(), rsa]) {
    // A PEM says inside what it is; to read it as something else fails.
    if ((await read(family[0]).catch(() => undefined)) === undefined) continue;
    const algs = choose(family, algorithms, usualOf(family));
    return Promise.all(algs.map(async (alg) => ({ alg, key: await read(alg) })));
  }
  throw new TypeError("The PEM holds no key that can be used. Ed25519, ECDSA (P-256, P-384, P-521) and RSA can.");
}

async function importJWK(
  jose: JoseModule,
  jwk: JWK,
  use: KeyUse,
  algorithms: readonly string[] | undefined,
): Promise<UsableKey[]> {
  const { kid: id, alg: own } = jwk;
  if (jwk.kty === "oct") {
    const bytes = typeof jwk.k === "string" ? jose.base64url.decode(jwk.k) : new Uint8Array();
    const keys = await importSecret(bytes, use, algorithms ?? (own === undefined ? undefined : [own]));
    return keys.map((key) => ({ ...key, id }));
  }
  const family = jwk.kty === "RSA" ? rsa : curves.get(jwk.crv);
  if (family === undefined) throw new TypeError("The JWK is of an unknown kind. Ed25519, ECDSA and RSA are known.");
  if ((jwk.d !== undefined) !== (use === "sign")) throw wrongHalf(use);
  const usual = family === rsa && own !== undefined ? choose(rsa, [own]) : usualOf(family);
  return Promise.all(
    choose(family, algorithms, usual).map(async (alg) => {
      const key = (await jose.importJWK({ ...jwk, alg }, alg)) as CryptoKey;
      return { alg, key, id };
    }),
  );
}

function importCryptoKey(key: CryptoKey, use: KeyUse, algorithms: readonly string[] | undefined): UsableKey[] {
  const family = familyOf(key);
  if (family === undefined) throw new TypeError(`The key is for ${key.algorithm.name}, which does not sign tokens.`);
  if (!key.usages.includes(use)) throw wrongHalf(use);
  const { length } = key.algorithm as { length?: number };
  if (key.type === "secret") assertSecretLength(Number(length) / 8, family[0]);
  return choose(family, algorithms).map((alg) => ({ alg, key }));
}

function usualOf(family: Family): readonly string[] {
  return family === rsa ? [family[0]] : family;
}

function isCryptoKey(value: object): value is CryptoKey {
  return Object.prototype.toString.call(value) === "[object CryptoKey]";
}

function wrongHalf(use: KeyUse): TypeError {
  return new TypeError(
    use === "sign"
      ? "The key cannot sign. Give the private half of it."
      : "The key is not for checking tokens. Give the public half of it; the private one stays with those who sign.",
  );
}
