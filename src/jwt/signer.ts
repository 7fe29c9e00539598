import { BoundedMap } from "../internal/bounded.ts";
import { CallError, type Identity, resolveDuration } from "../operation/inside.ts";
import type { CallRequested } from "../transport/transport.ts";
import { callTokenType, fromIdentity, type JWTBinding, maxTokenLength, toCallClaims } from "./claims.ts";
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
  /** The calls that a token allows; must equal that of the authenticator. @default "call" */
  bind?: JWTBinding;
  /**
   * Lifetime of a token, in ms, above 0. A token for a call does not outlive the deadline of the call. Must include the
   * time that a request may wait for a worker. Subscriptions end when their token expires.
   * @default a minute for a call, an hour for a subscription, five minutes with `bind: "identity"`
   */
  lifetime?: number;
}

/** Creates a token for an identity, for the `sign` of a `PendingRequestMap`. */
export type JWTSigner = (identity: Identity, request?: Readonly<CallRequested>) => string | Promise<string>;

/** Default lifetimes, in ms. */
const callLifetime = 60_000;
const subscriptionLifetime = 3_600_000;
const identityLifetime = 300_000;

/** Maximum number of tokens that are cached. */
const maxKept = 1_000;

/**
 * Creates the function that signs identities, with `jose`. By default each token allows one call; with
 * `bind: "identity"` it allows all calls, is created once per identity and is reused for half its lifetime. Throws when the key
 * cannot be used.
 */
export async function createJWTSigner(options: JWTSignerOptions): Promise<JWTSigner> {
  const { key, alg, issuer, audience, bind = "call" } = options;
  if (typeof audience !== "string" || audience === "")
    throw new TypeError("The audience is missing. Set it to the service that the tokens are for.");
  const given = resolveDuration("lifetime", options.lifetime, undefined, { untimed: true });
  const jose = await loadJose();
  const [usable] = await importKeys(jose, key, "sign", alg === undefined ? undefined : [alg]);
  const { alg: chosen, key: signingKey, id: kid } = usable!;
  const header = { alg: chosen, typ: bind === "call" ? callTokenType : "JWT", ...(kid === undefined ? {} : { kid }) };
  const encoder = new TextEncoder();

  const make = async (identity: object, life: number, call?: object): Promise<string> => {
    const now = Date.now();
    const times = { iat: Math.floor(now / 1_000), exp: Math.ceil((now + life) / 1_000) };
    const claims = JSON.stringify({ iss: issuer, aud: audience, ...identity, ...times, ...call });
    const token = await new jose.CompactSign(encoder.encode(claims)).setProtectedHeader(header).sign(signingKey);
    if (token.length > maxTokenLength) throw tooLong();
    return token;
  };

  if (bind === "identity") {
    const lifetime = given ?? identityLifetime;
    return keepTokens((identity) => make(fromIdentity(identity), lifetime), lifetime / 2);
  }
  return async (identity, request) => {
    if (request === undefined) throw new TypeError('A token without a call requires a signer with bind: "identity".');
    const claims = fromIdentity(identity);
    const lifetime = given ?? (request.credit === undefined ? callLifetime : subscriptionLifetime);
    return make(claims, Math.min(lifetime, request.timeout ?? lifetime), await toCallClaims(request));
  };
}

/** Creates a token once per identity, and again after `keptMs`. */
function keepTokens(make: (identity: Identity) => Promise<string>, keptMs: number): JWTSigner {
  const kept = new BoundedMap<string, { token: string; until: number }>(maxKept);
  return (identity) => {
    const { id, scopes, resources } = identity;
    const key = JSON.stringify([id, scopes, resources]);
    const known = kept.get(key);
    const now = Date.now();
    if (known !== undefined && now < known.until) return known.token;
    return make(identity).then((token) => {
      kept.set(key, { token, until: now + keptMs });
      return token;
    });
  };
}

function tooLong(): CallError {
  const message = `The token would have more than ${maxTokenLength} characters. Pass an identity with fewer scopes or resources.`;
  return new CallError("PAYLOAD_TOO_LARGE", message, undefined, { mayHaveRun: false });
}
