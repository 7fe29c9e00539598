import type { CryptoKey } from "jose";

/** What a key is for. */
export type KeyUse = "sign" | "verify";

/** A key for exactly one algorithm. */
export interface UsableKey {
  readonly alg: string;
  readonly key: CryptoKey;
  /** What tokens call it. */
  readonly id?: string | undefined;
}

/** Algorithms that one kind of key can do, the usual one first. */
export type Family = readonly [string, ...string[]];

/** RSA keys can do more than one should expect of them: by default only the first. */
export const rsa: Family = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"];

/** Shared secrets, by default only for the first. */
export const hmac: Family = ["HS256", "HS384", "HS512"];

/** By the name of the curve. */
export const curves: ReadonlyMap<unknown, Family> = new Map<string, Family>([
  ["Ed25519", ["EdDSA", "Ed25519"]], // two names of the same
  ["P-256", ["ES256"]],
  ["P-384", ["ES384"]],
  ["P-521", ["ES512"]],
]);

/** Everything that a public key can check. A secret never comes out of a key server. */
export const publicAlgorithms: readonly string[] = [...[...curves.values()].flat(), ...rsa];

/** Those of a family that are asked for, or else the usual ones. Throws a `TypeError` when there is none. */
export function choose(
  family: Family,
  asked: readonly string[] | undefined,
  usual: readonly string[] = family,
): string[] {
  const chosen = asked === undefined ? [...usual] : family.filter((alg) => asked.includes(alg));
  if (chosen.length > 0) return chosen;
  throw new TypeError(`The key is for ${family.join(", ")}, not for ${asked?.join(", ") || "nothing"}.`);
}

/** What a `CryptoKey` is for. */
export function familyOf({ algorithm }: CryptoKey): Family | undefined {
  const { name, namedCurve, hash } = algorithm as { name: string; namedCurve?: string; hash?: { name: string } };
  const size = hash?.name.replace("SHA-", "");
  switch (name) {
    case "HMAC":
      return [`HS${size}`];
    case "RSASSA-PKCS1-v1_5":
      return [`RS${size}`];
    case "RSA-PSS":
      return [`PS${size}`];
    case "ECDSA":
      return curves.get(namedCurve);
    default:
      return curves.get(name);
  }
}
