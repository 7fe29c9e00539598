import type * as Jose from "jose";
import type { CryptoKey, JWK, JWTVerifyOptions, JWTVerifyResult } from "jose";
import { isConfidentialURL } from "../internal/urls.ts";
import { loadPeer } from "../operation/inside.ts";
import { cancelBody, readBody } from "../transport/http-body.ts";

/** Maximum size of published keys, in bytes. */
const maxKeySetBytes = 1024 * 1024;

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

/** Algorithms of one type of key, the default first. */
type Family = readonly [string, ...string[]];

const rsa: Family = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"];
const hmac: Family = ["HS256", "HS384", "HS512"];

/** Algorithms by the name of the curve. */
const curves: ReadonlyMap<unknown, Family> = new Map<string, Family>([
  ["Ed25519", ["EdDSA", "Ed25519"]], // Two names of the same algorithm.
  ["P-256", ["ES256"]],
  ["P-384", ["ES384"]],
  ["P-521", ["ES512"]],
]);

/** Prefixes of algorithms with a hash, by the name of the algorithm of a `CryptoKey`. */
const hashed: ReadonlyMap<string, string> = new Map([
  ["HMAC", "HS"],
  ["RSASSA-PKCS1-v1_5", "RS"],
  ["RSA-PSS", "PS"],
]);

/** A key that is not bound to an algorithm yet. */
interface KeyMaterial {
  readonly family: Family;
  /** Prepares it for an algorithm of the family. */
  read(alg: string): CryptoKey | Promise<CryptoKey>;
  /** The `alg` of a JWK. */
  readonly own?: string | undefined;
  /** The `kid` of a JWK. */
  readonly id?: string | undefined;
}

/**
 * Prepares a key for the algorithms that it supports, or the requested ones among them. Throws a `TypeError` with the
 * reason if the key cannot be used.
 */
export async function importKeys(
  jose: JoseModule,
  key: JWTKey | undefined,
  use: KeyUse,
  algorithms?: readonly string[],
): Promise<UsableKey[]> {
  const { family, read, own, id } = await readKey(jose, key, use);
  // A secret or an RSA key supports several algorithms, but is only used for the one that was intended.
  const defaults = family === rsa || family === hmac ? [own ?? family[0]] : family;
  const wanted = algorithms ?? defaults;
  const chosen = family.filter((alg) => wanted.includes(alg));
  if (chosen.length === 0) {
    throw new TypeError(
      `The key supports ${family.join(", ")}, not ${wanted.join(", ") || "an empty list of algorithms"}.`,
    );
  }
  return Promise.all(chosen.map(async (alg) => ({ alg, key: await read(alg), id })));
}

function readKey(jose: JoseModule, key: JWTKey | undefined, use: KeyUse): KeyMaterial | Promise<KeyMaterial> {
  if (key === undefined || key === null || key === "") {
    throw new TypeError("The key is missing. Check that the variable that contains it is set.");
  }
  if (key instanceof Uint8Array) return readSecret(key, use);
  if (typeof key === "string") return readPEM(jose, key.trim(), use);
  if (isCryptoKey(key)) return readCryptoKey(key, use);
  if (typeof key === "object" && typeof key.kty === "string") return readJWK(jose, key, use);
  throw new TypeError("Unsupported key. Pass secret bytes, a CryptoKey, a JWK or a PEM string.");
}

async function readPEM(jose: JoseModule, pem: string, use: KeyUse): Promise<KeyMaterial> {
  const label = /^-----BEGIN ([A-Z0-9 ]{1,40})-----/.exec(pem)?.[1];
  if (label === undefined) {
    throw new TypeError("The key is a string but not a PEM. Pass a secret as bytes: new TextEncoder().encode(secret).");
  }
  const needed = use === "sign" ? "PRIVATE KEY" : "PUBLIC KEY";
  if (label !== needed)
    throw new TypeError(
      `The key is a PEM with the label ${label}. To ${use} tokens, pass a PEM with the label ${needed}.`,
    );
  const read = (alg: string) => (use === "sign" ? jose.importPKCS8(pem, alg) : jose.importSPKI(pem, alg));
  for (const family of [...curves.values(), rsa]) {
    // A PEM contains its type; importing it as another type fails.
    if ((await read(family[0]).catch(() => undefined)) !== undefined) return { family, read };
  }
  throw new TypeError(
    "The PEM does not contain a supported key. Pass an Ed25519, ECDSA (P-256, P-384, P-521) or RSA key.",
  );
}

function readJWK(jose: JoseModule, jwk: JWK, use: KeyUse): KeyMaterial {
  const { kty, k, crv, alg: own, kid: id } = jwk;
  if (kty === "oct") {
    const bytes = typeof k === "string" ? jose.base64url.decode(k) : new Uint8Array();
    return { ...readSecret(bytes, use), own, id };
  }
  const family = kty === "RSA" ? rsa : curves.get(crv);
  if (family === undefined)
    throw new TypeError("The type of the JWK is not supported. Pass an Ed25519, ECDSA or RSA key.");
  if ((jwk.d !== undefined) !== (use === "sign")) throw invalidKeyUse(use);
  const read = async (alg: string) => (await jose.importJWK({ ...jwk, alg }, alg)) as CryptoKey;
  return { family, read, own, id };
}

function readCryptoKey(key: CryptoKey, use: KeyUse): KeyMaterial {
  const { name, namedCurve, hash, length } = key.algorithm as Partial<HmacKeyAlgorithm & EcKeyAlgorithm>;
  const prefix = hashed.get(name!);
  const family =
    prefix === undefined ? curves.get(namedCurve ?? name) : ([hash!.name.replace("SHA-", prefix)] as const);
  if (family === undefined)
    throw new TypeError(`The algorithm ${name} of the key is not supported. Pass an Ed25519, ECDSA, RSA or HMAC key.`);
  if (!key.usages.includes(use)) throw invalidKeyUse(use);
  if (key.type === "secret") assertSecretLength(length! / 8, family[0]);
  return { family, read: () => key };
}

function isCryptoKey(value: object): value is CryptoKey {
  return Object.prototype.toString.call(value) === "[object CryptoKey]";
}

function invalidKeyUse(use: KeyUse): TypeError {
  return new TypeError(
    use === "sign"
      ? "The key cannot sign tokens. Pass the private key."
      : "The key cannot verify tokens. Pass the public key; only the signer needs the private key.",
  );
}

/** Reads bytes as a shared secret. Throws a `TypeError` if they are a serialised key. */
function readSecret(bytes: Uint8Array, use: KeyUse): KeyMaterial {
  if (isSerialisedKey(bytes)) {
    throw new TypeError(
      "The bytes are a serialised key, not a secret. Anyone with the public key could sign tokens. Pass a PEM as a string, a JWK as an object.",
    );
  }
  const read = (alg: string) => {
    assertSecretLength(bytes.length, alg);
    const algorithm = { name: "HMAC", hash: `SHA-${alg.slice(2)}` };
    return crypto.subtle.importKey("raw", new Uint8Array(bytes), algorithm, false, [use]);
  };
  return { family: hmac, read };
}

/** Returns whether bytes are a PEM, a JWK, an SSH key, or the DER of a SubjectPublicKeyInfo. */
function isSerialisedKey(bytes: Uint8Array): boolean {
  const start = String.fromCharCode(...bytes.subarray(0, 2_000));
  if (/^\s*-----BEGIN |^\s*\{[\s\S]*"kty"|^(ssh|ecdsa)-/.test(start)) return true;
  // DER: a sequence of a sequence that begins with an object identifier.
  const [first, length = 0] = bytes;
  const inner = length < 0x80 ? 2 : 2 + (length & 0x7f);
  return first === 0x30 && bytes[inner] === 0x30 && bytes[inner + 2] === 0x06;
}

/** Throws when a secret is shorter than its hash (RFC 7518, section 3.2). */
function assertSecretLength(length: number, alg: string): void {
  const minLength = Number(alg.slice(2)) / 8;
  if (length >= minLength) return;
  throw new TypeError(
    `The secret has ${length} bytes; ${alg} needs at least ${minLength}. Create one: crypto.getRandomValues(new Uint8Array(${minLength})).`,
  );
}

/** The keys that verify tokens, or the URL where they are published. */
export interface KeySource {
  /** A public key or shared secret; pass several during a key rotation. */
  key?: JWTKey | readonly JWTKey[];
  /** The https URL where the keys are published; fetched when needed. */
  jwks?: string | URL;
  /** Allowed algorithms. @default those of the keys; for `jwks` all algorithms of public keys */
  algorithms?: readonly string[];
}

/** Verifies signature, algorithm and the claims that every token has. Throws the errors of jose. */
type Verify = (token: string) => Promise<JWTVerifyResult>;

/** Creates the function that verifies tokens. Throws a `TypeError` when a key is missing or cannot be used. */
export async function createVerify(
  jose: JoseModule,
  { key, jwks, algorithms }: KeySource,
  options: JWTVerifyOptions,
): Promise<Verify> {
  if (jwks !== undefined && key !== undefined) throw new TypeError("Both key and jwks are set. Pass one of them.");
  if (jwks !== undefined) {
    const url = new URL(jwks);
    // If keys could be changed in transit, an attacker could sign as any caller.
    if (!isConfidentialURL(url)) throw new TypeError("The URL of jwks must begin with https:.");
    const keys = jose.createRemoteJWKSet(url, { [jose.customFetch]: fetchKeySet });
    const allowed = algorithms && { algorithms: [...algorithms] }; // jose never accepts a published secret.
    return (token) => jose.jwtVerify(token, keys, { ...options, ...allowed });
  }
  const list: ReadonlyArray<JWTKey | undefined> = Array.isArray(key) ? key : [key as JWTKey | undefined];
  if (list.length === 0) throw new TypeError("The list of keys is empty. Pass key or jwks.");
  const imported = await Promise.all(list.map((one) => importKeys(jose, one, "verify", algorithms)));
  return (token) => verifyWith(jose, imported.flat(), token, options);
}

/** Fetches published keys, with a limit on their size. Called with the time limit of jose, and does not follow redirects. */
async function fetchKeySet(url: string, options: RequestInit): Promise<Response> {
  const response = await fetch(url, options);
  if (response.status === 200) return new Response(await readBody(response, maxKeySetBytes));
  cancelBody(response.body);
  return new Response(null, { status: 502 }); // jose refuses every status but 200.
}

/**
 * Tries every matching key. Does not use a local key set of jose, which does not support secrets and `CryptoKey`, and
 * refuses tokens without a `kid` when several keys match, as during a key rotation.
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
