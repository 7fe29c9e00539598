import type * as Jose from "jose";
import type { CryptoKey, JWK, JWTVerifyOptions, JWTVerifyResult } from "jose";
import { cancelBody, readBody } from "../internal/body.ts";
import { isConfidentialURL } from "../internal/urls.ts";
import { loadPeer } from "../operation/index.ts";

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

/** By default only the first one, as with secrets, so that a key is not used for other algorithms than intended. */
const rsa: Family = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"];
const hmac: Family = ["HS256", "HS384", "HS512"];

/** Algorithms by the name of the curve. */
const curves: ReadonlyMap<unknown, Family> = new Map<string, Family>([
  ["Ed25519", ["EdDSA", "Ed25519"]], // Two names of the same algorithm.
  ["P-256", ["ES256"]],
  ["P-384", ["ES384"]],
  ["P-521", ["ES512"]],
]);

/** All algorithms of public keys. Secrets are never published. */
const publicAlgorithms: readonly string[] = [...[...curves.values()].flat(), ...rsa];

/** Returns the requested algorithms of a family, or the defaults. Throws a `TypeError` when the key supports none of them. */
function choose(family: Family, requested: readonly string[] | undefined, defaults: readonly string[] = family) {
  const chosen = requested === undefined ? [...defaults] : family.filter((alg) => requested.includes(alg));
  if (chosen.length > 0) return chosen;
  throw new TypeError(
    `The key supports ${family.join(", ")}, not ${requested?.join(", ") || "an empty list of algorithms"}.`,
  );
}

function defaultsOf(family: Family): readonly string[] {
  return family === rsa ? [family[0]] : family;
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
  if (key === undefined || key === null || key === "") {
    throw new TypeError("The key is missing. Check that the variable that contains it is set.");
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
  if (label !== needed)
    throw new TypeError(
      `The key is a PEM with the label ${label}. To ${use} tokens, pass a PEM with the label ${needed}.`,
    );
  const read = (alg: string) => (use === "sign" ? jose.importPKCS8(pem, alg) : jose.importSPKI(pem, alg));
  for (const family of [...curves.values(), rsa]) {
    // A PEM contains its type; importing it as another type fails.
    if ((await read(family[0]).catch(() => undefined)) === undefined) continue;
    const algs = choose(family, algorithms, defaultsOf(family));
    return Promise.all(algs.map(async (alg) => ({ alg, key: await read(alg) })));
  }
  throw new TypeError(
    "The PEM does not contain a supported key. Pass an Ed25519, ECDSA (P-256, P-384, P-521) or RSA key.",
  );
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
  if (family === undefined)
    throw new TypeError("The type of the JWK is not supported. Pass an Ed25519, ECDSA or RSA key.");
  if ((jwk.d !== undefined) !== (use === "sign")) throw invalidKeyUse(use);
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
  if (family === undefined)
    throw new TypeError(
      `The algorithm ${key.algorithm.name} of the key is not supported. Pass an Ed25519, ECDSA, RSA or HMAC key.`,
    );
  if (!key.usages.includes(use)) throw invalidKeyUse(use);
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

function invalidKeyUse(use: KeyUse): TypeError {
  return new TypeError(
    use === "sign"
      ? "The key cannot sign tokens. Pass the private key."
      : "The key cannot verify tokens. Pass the public key; only the signer needs the private key.",
  );
}

/** Prepares bytes as a shared secret. Throws a `TypeError` when the secret is too short, or is a serialised key. */
async function importSecret(
  bytes: Uint8Array,
  use: KeyUse,
  algorithms: readonly string[] | undefined,
): Promise<UsableKey[]> {
  if (isSerialisedKey(bytes)) {
    throw new TypeError(
      "The bytes are a serialised key, not a secret. Anyone with the public key could sign tokens. Pass a PEM as a string, a JWK as an object.",
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
    const allowed = algorithms ?? publicAlgorithms;
    const secret = allowed.find((alg) => !publicAlgorithms.includes(alg));
    if (secret !== undefined)
      throw new TypeError(
        `The algorithm ${secret} cannot be used with jwks, because it requires a secret. Pass algorithms of public keys.`,
      );
    const keys = jose.createRemoteJWKSet(url, { [jose.customFetch]: fetchKeySet });
    return (token) => jose.jwtVerify(token, keys, { ...options, algorithms: [...allowed] });
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
