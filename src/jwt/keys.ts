import type * as Jose from "jose";
import type { CryptoKey, JWK, JWTVerifyOptions, JWTVerifyResult } from "jose";
import { isConfidentialURL } from "../internal/urls.ts";
import { loadPeer } from "../operation/index.ts";

/** The package that signs and verifies tokens. */
type JoseModule = typeof Jose;

/** Loads the package when it is first needed, because it is an optional peer. */
export function loadJose(): Promise<JoseModule> {
  return loadPeer("jose", "signed identities", () => import("jose"));
}

/**
 * A key. Bytes are a shared secret; a string is a PEM, `PUBLIC KEY` (SPKI) or `PRIVATE KEY` (PKCS #8). Ed25519, ECDSA and
 * RSA keys are supported. Sign with the private key and verify with the public one, so that a verifier cannot sign.
 */
export type JWTKey = Uint8Array | CryptoKey | JWK | string;

type KeyUse = "sign" | "verify";

/** A key for exactly one algorithm. */
interface UsableKey {
  readonly alg: string;
  readonly key: CryptoKey;
  /** The `kid` of tokens that are signed with it. */
  readonly id?: string | undefined;
}

/** Algorithms that one kind of key supports, the default first. */
type Family = readonly [string, ...string[]];

/** By default only the first of them, as with secrets: a key must not be used for more than was intended. */
const rsa: Family = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"];
const hmac: Family = ["HS256", "HS384", "HS512"];

/** By the name of the curve. */
const curves: ReadonlyMap<unknown, Family> = new Map<string, Family>([
  ["Ed25519", ["EdDSA", "Ed25519"]], // two names of the same algorithm
  ["P-256", ["ES256"]],
  ["P-384", ["ES384"]],
  ["P-521", ["ES512"]],
]);

/** Everything that a public key can verify. Secrets are never published. */
const publicAlgorithms: readonly string[] = [...[...curves.values()].flat(), ...rsa];

/** The requested algorithms of a family, or else the default ones. Throws a `TypeError` when the key supports none. */
function choose(family: Family, requested: readonly string[] | undefined, defaults: readonly string[] = family) {
  const chosen = requested === undefined ? [...defaults] : family.filter((alg) => requested.includes(alg));
  if (chosen.length > 0) return chosen;
  throw new TypeError(`The key is for ${family.join(", ")}, not for ${requested?.join(", ") || "nothing"}.`);
}

function defaultsOf(family: Family): readonly string[] {
  return family === rsa ? [family[0]] : family;
}

/**
 * Prepares a key for the algorithms that it supports, or the requested ones among them. Throws a `TypeError` with the reason
 * a key cannot be used.
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
  throw new TypeError("Unsupported key. Pass secret bytes, a CryptoKey, a JWK or a PEM string.");
}

async function importPEM(
  jose: JoseModule,
  pem: string,
  use: KeyUse,
  algorithms: readonly string[] | undefined,
): Promise<UsableKey[]> {
  const label = /^-----BEGIN ([A-Z0-9 ]{1,40})-----/.exec(pem)?.[1];
  if (label === undefined) {
    throw new TypeError("The key is a string but not a PEM. Pass a secret as bytes: new TextEncoder().encode(secret).");
  }
  const needed = use === "sign" ? "PRIVATE KEY" : "PUBLIC KEY";
  if (label !== needed) throw new TypeError(`The key is the PEM of a ${label}. To ${use}, pass that of a ${needed}.`);
  const read = (alg: string) => (use === "sign" ? jose.importPKCS8(pem, alg) : jose.importSPKI(pem, alg));
  for (const family of [...curves.values(), rsa]) {
    // A PEM names its kind inside; reading it as another one fails.
    if ((await read(family[0]).catch(() => undefined)) === undefined) continue;
    const algs = choose(family, algorithms, defaultsOf(family));
    return Promise.all(algs.map(async (alg) => ({ alg, key: await read(alg) })));
  }
  throw new TypeError("The PEM contains no usable key. Ed25519, ECDSA (P-256, P-384, P-521) and RSA are supported.");
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
  if (family === undefined) throw new TypeError("The JWK is of an unknown kind. Ed25519, ECDSA and RSA are supported.");
  if ((jwk.d !== undefined) !== (use === "sign")) throw wrongHalf(use);
  const defaults = family === rsa && own !== undefined ? choose(rsa, [own]) : defaultsOf(family);
  return Promise.all(
    choose(family, algorithms, defaults).map(async (alg) => {
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

function familyOf({ algorithm }: CryptoKey): Family | undefined {
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

function isCryptoKey(value: object): value is CryptoKey {
  return Object.prototype.toString.call(value) === "[object CryptoKey]";
}

function wrongHalf(use: KeyUse): TypeError {
  return new TypeError(
    use === "sign"
      ? "The key cannot sign. Pass the private half of it."
      : "The key is not for verifying tokens. Pass the public half of it; the private one stays with the signer.",
  );
}

/** Prepares bytes as a shared secret. Throws a `TypeError` when they are too few, or a key that others may know. */
async function importSecret(
  bytes: Uint8Array,
  use: KeyUse,
  algorithms: readonly string[] | undefined,
): Promise<UsableKey[]> {
  if (isSerialisedKey(bytes)) {
    throw new TypeError(
      "The bytes are a serialised key, not a secret: anyone who knows a public key could sign with it. Pass a PEM as a string, a JWK as an object.",
    );
  }
  return Promise.all(
    choose(hmac, algorithms, [hmac[0]]).map(async (alg) => {
      assertSecretLength(bytes.length, alg);
      const algorithm = { name: "HMAC", hash: `SHA-${alg.slice(2)}` };
      return { alg, key: await crypto.subtle.importKey("raw", new Uint8Array(bytes), algorithm, false, [use]) };
    }),
  );
}

/** Whether bytes are a PEM, a JWK, a key of SSH, or the DER of a SubjectPublicKeyInfo. */
function isSerialisedKey(bytes: Uint8Array): boolean {
  const start = String.fromCharCode(...bytes.subarray(0, 2_000));
  if (/^\s*-----BEGIN |^\s*\{[\s\S]*"kty"|^(ssh|ecdsa)-/.test(start)) return true;
  // DER: a sequence of a sequence that begins with an object identifier.
  const [first, length = 0] = bytes;
  const inner = length < 0x80 ? 2 : 2 + (length & 0x7f);
  return first === 0x30 && bytes[inner] === 0x30 && bytes[inner + 2] === 0x06;
}

/** Throws when a secret has fewer bytes than its hash, see RFC 7518, section 3.2. */
function assertSecretLength(length: number, alg: string): void {
  const minLength = Number(alg.slice(2)) / 8;
  if (length >= minLength) return;
  throw new TypeError(
    `The secret has ${length} bytes; ${alg} needs at least ${minLength}. Create one: crypto.getRandomValues(new Uint8Array(${minLength})).`,
  );
}

/** The keys that tokens are verified with, or where they are published. */
export interface KeySource {
  /** A public key or shared secret; several while one replaces another. */
  key?: JWTKey | readonly JWTKey[];
  /** Where the keys are published, as an https address; fetched when needed. */
  jwks?: string | URL;
  /** What tokens may be signed with. @default what the keys are for; for `jwks` all algorithms of public keys */
  algorithms?: readonly string[];
}

/** Verifies signature, algorithm and the claims that every token has. Throws what jose throws. */
type Verify = (token: string) => Promise<JWTVerifyResult>;

/** Creates the function that verifies tokens. Throws a `TypeError` when a key is missing or cannot be used. */
export async function createVerify(
  jose: JoseModule,
  { key, jwks, algorithms }: KeySource,
  options: JWTVerifyOptions,
): Promise<Verify> {
  if (jwks !== undefined && key !== undefined) throw new TypeError("Pass either key or jwks.");
  if (jwks !== undefined) {
    const url = new URL(jwks);
    // Keys that can be changed in transit would let an attacker sign as any caller.
    if (!isConfidentialURL(url)) throw new TypeError("The address of jwks has to begin with https:.");
    const allowed = algorithms ?? publicAlgorithms;
    const secret = allowed.find((alg) => !publicAlgorithms.includes(alg));
    if (secret !== undefined) throw new TypeError(`Tokens cannot be signed with ${secret} where keys are published.`);
    const keys = jose.createRemoteJWKSet(url);
    return (token) => jose.jwtVerify(token, keys, { ...options, algorithms: [...allowed] });
  }
  const list: ReadonlyArray<JWTKey | undefined> = Array.isArray(key) ? key : [key as JWTKey | undefined];
  if (list.length === 0) throw new TypeError("There is no key to verify tokens with. Pass key or jwks.");
  const imported = await Promise.all(list.map((one) => importKeys(jose, one, "verify", algorithms)));
  return (token) => verifyWith(jose, imported.flat(), token, options);
}

/**
 * Tries every key that fits. Not with a local key set of jose: that knows no secrets and no `CryptoKey`, and refuses tokens
 * without a `kid` when several keys fit, as they do while one replaces another.
 */
async function verifyWith(
  jose: JoseModule,
  keys: readonly UsableKey[],
  token: string,
  options: JWTVerifyOptions,
): Promise<JWTVerifyResult> {
  const { alg, kid } = readHeader(jose, token);
  const able = keys.filter((key) => key.alg === alg);
  const named = able.filter(({ id }) => id !== undefined && id === kid);
  let failure: unknown;
  for (const { key } of named.length > 0 ? named : able) {
    try {
      return await jose.jwtVerify(token, key, { ...options, algorithms: [alg!] });
    } catch (error) {
      if (!(error instanceof jose.errors.JWSSignatureVerificationFailed)) throw error;
      failure = error;
    }
  }
  throw failure ?? new jose.errors.JOSEAlgNotAllowed();
}

function readHeader(jose: JoseModule, token: string): { alg?: string; kid?: string } {
  try {
    return jose.decodeProtectedHeader(token);
  } catch (cause) {
    throw new jose.errors.JWSInvalid("no header", { cause });
  }
}
