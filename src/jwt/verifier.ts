import type { JWTVerifyOptions, JWTVerifyResult } from "jose";
import { isConfidentialURL } from "../internal/urls.ts";
import { publicAlgorithms, type UsableKey } from "./algorithms.ts";
import { importKeys, type JWTKey } from "./keys.ts";
import type { JoseModule } from "./load-jose.ts";

/** The keys that tokens are checked with: some, or wherever they are published. */
export interface KeySource {
  /** A public key or shared secret; several while one takes the place of another. */
  key?: JWTKey | readonly JWTKey[];
  /** Where the keys are published, as an https address; fetched when needed. */
  jwks?: string | URL;
  /** What tokens may be signed with. @default what the keys are for; for `jwks` all algorithms of public keys */
  algorithms?: readonly string[];
}

/** Checks signature, algorithm and the claims that every token has. Throws what jose throws. */
export type Verify = (token: string) => Promise<JWTVerifyResult>;

/** Makes what checks tokens. Throws a `TypeError` when a key is unfit or there is none. */
export async function createVerify(
  jose: JoseModule,
  { key, jwks, algorithms }: KeySource,
  options: JWTVerifyOptions,
): Promise<Verify> {
  if (jwks !== undefined && key !== undefined) throw new TypeError("Give either key or jwks.");
  if (jwks !== undefined) {
    const keys = jose.createRemoteJWKSet(toKeyAddress(jwks));
    const allowed = algorithms ?? publicAlgorithms;
    const secret = allowed.find((alg) => !publicAlgorithms.includes(alg));
    if (secret !== undefined) throw new TypeError(`Tokens cannot be signed with ${secret} where keys are published.`);
    return (token) => jose.jwtVerify(token, keys, { ...options, algorithms: [...allowed] });
  }
  const list: ReadonlyArray<JWTKey | undefined> = Array.isArray(key) ? key : [key as JWTKey | undefined];
  if (list.length === 0) throw new TypeError("There is no key to check tokens with.");
  const imported = await Promise.all(list.map((one) => importKeys(jose, one, "verify", algorithms)));
  return (token) => verifyWith(jose, imported.flat(), token, options);
}

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

/** Who can change the keys on their way can sign as anybody. */
function toKeyAddress(jwks: string | URL): URL {
  const url = new URL(jwks);
  if (isConfidentialURL(url)) return url;
  throw new TypeError("The address of jwks has to begin with https:.");
}
