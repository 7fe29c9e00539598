/** The reason why a token is refused, and how to correct it. Never contains the token or a part of it. */
export class Refusal extends Error {}

const notSigned =
  "the token is not a signed JWT; create it with createJWTSigner, or request one from your identity provider";
const unknownKey = "the token was not signed with a key of the server; check the keys of both peers";
const clockAdvice = "check that the clocks of both machines agree";

/** Reasons by error code of jose. */
const reasons: Readonly<Record<string, string>> = {
  ERR_JWS_INVALID: notSigned,
  ERR_JWT_INVALID: notSigned,
  ERR_JOSE_NOT_SUPPORTED: "the token requires an extension that is not supported; create it without extensions",
  ERR_JOSE_ALG_NOT_ALLOWED: unknownKey,
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: unknownKey,
  ERR_JWKS_NO_MATCHING_KEY: unknownKey,
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: "the token does not name which of several keys it was signed with; set kid",
  ERR_JWT_EXPIRED: `the token has expired; create a new one, and ${clockAdvice}`,
};

const claimReasons: Readonly<Record<string, string>> = {
  aud: "the token is for another audience; check the audience of both peers",
  iss: "the token is from another issuer; check the issuer of both peers",
  exp: "the token has no expiration time; set exp",
  nbf: `the token is not valid yet; ${clockAdvice}`,
  sub: "the token has no subject; set sub",
};

/** Returns the reason for an error of jose; `undefined` when the token is not the cause, for example if keys cannot be fetched. */
export function toRefusal(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error;
  const { code, claim } = error as { code?: unknown; claim?: unknown };
  if (code === "ERR_JWT_CLAIM_VALIDATION_FAILED") {
    return new Refusal(
      claimReasons[String(claim)] ?? "a claim of the token is invalid; create it with createJWTSigner",
    );
  }
  const reason = Object.hasOwn(reasons, String(code)) ? reasons[String(code)] : undefined;
  return reason === undefined ? undefined : new Refusal(reason);
}
