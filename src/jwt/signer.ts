import { BoundedMap } from "../internal/bounded.ts";
import { CallError, type Identity, resolveDuration } from "../operation/inside.ts";
import { fromIdentity, maxTokenLength } from "./claims.ts";
import { importKeys, type JWTKey, loadJose } from "./keys.ts";

/** Options of {@link createJWTSigner}. */
export interface JWTSignerOptions {
  /** A private key, or a secret of at least 32 bytes that both peers share. */
  key: JWTKey;
  /** Algorithm, for keys that support several: RSA keys (`RS256`), secrets (`HS256`). @default the first of the key */
  alg?: string;
  /** Issuer of the tokens. */
  issuer?: string;
  /** Audience of the tokens; must equal that of the authenticator. */
  audience: string;
  /**
   * Lifetime of a token, in ms, above 0. It must include the time that a request may wait for a worker. Subscriptions end
   * when their token expires. @default five minutes
   */
  lifetime?: number;
}

/** Returns the token of an identity, for the `sign` of a `PendingRequestMap` and the `token` of a connection. */
export type JWTSigner = (identity: Identity) => string | Promise<string>;

const defaultLifetime = 300_000;
/** Maximum number of tokens that are cached. */
const maxKept = 1_000;

/**
 * Creates the function that signs identities, with `jose`. A token is created once per identity and reused for half its
 * lifetime, for all calls of that identity. Throws when the key cannot be used.
 */
export async function createJWTSigner(options: JWTSignerOptions): Promise<JWTSigner> {
  const { key, alg, issuer, audience } = options;
  if (typeof audience !== "string" || audience === "")
    throw new TypeError("The audience is missing. Set it to the service that the tokens are for.");
  const lifetime = resolveDuration("lifetime", options.lifetime, defaultLifetime, { untimed: true });
  const jose = await loadJose();
  const [usable] = await importKeys(jose, key, "sign", alg === undefined ? undefined : [alg]);
  const { alg: chosen, key: signingKey, id: kid } = usable!;
  const header = { alg: chosen, typ: "JWT", ...(kid === undefined ? {} : { kid }) };
  const encoder = new TextEncoder();
  const kept = new BoundedMap<string, { token: string; until: number }>(maxKept);

  const create = async (identity: Identity): Promise<string> => {
    const now = Date.now();
    const times = { iat: Math.floor(now / 1_000), exp: Math.ceil((now + lifetime) / 1_000) };
    const claims = JSON.stringify({ iss: issuer, aud: audience, ...fromIdentity(identity), ...times });
    const token = await new jose.CompactSign(encoder.encode(claims)).setProtectedHeader(header).sign(signingKey);
    if (token.length > maxTokenLength) throw tooLong();
    return token;
  };

  return (identity) => {
    const { id, scopes, resources } = identity;
    const name = JSON.stringify([id, scopes, resources]);
    const known = kept.get(name);
    const now = Date.now();
    if (known !== undefined && now < known.until) return known.token;
    return create(identity).then((token) => {
      kept.set(name, { token, until: now + lifetime / 2 });
      return token;
    });
  };
}

function tooLong(): CallError {
  const message = `The token would have more than ${maxTokenLength} characters. Pass an identity with fewer scopes or resources.`;
  return new CallError("PAYLOAD_TOO_LARGE", message, undefined, { mayHaveRun: false });
}
