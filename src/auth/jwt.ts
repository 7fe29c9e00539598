import { Buffer } from "node:buffer";
import { logger, warnVisibly } from "../internal/log.ts";
import { createJWTAuthenticator, type JWTAuthenticatorOptions } from "../jwt/index.ts";
import { unavailable } from "../operation/inside.ts";
import type { Authenticator } from "../serve/authenticator.ts";

const log = logger("auth");

/** Options of {@link jwt}. Pass either `jwks` or `key`. */
export interface JWTOptions
  extends Pick<JWTAuthenticatorOptions, "jwks" | "key" | "algorithms" | "audience" | "clockTolerance" | "maxLifetime"> {
  /** Accepted issuers, exactly as in the claim `iss`. Tokens of other issuers are left to other authenticators. */
  issuer: string | readonly string[];
}

/**
 * Identifies callers by JSON Web Tokens of `Authorization: Bearer`, with the package `jose`. The id of a caller is its
 * issuer, `#` and its subject; its scopes are those of the claims `scopes`, `scope` or `scp`. Streams and connections end
 * when the token expires. `listen` rejects if a key cannot be used or `jose` is not installed.
 */
export function jwt(options: JWTOptions): Authenticator {
  const { issuer: given, ...others } = options;
  const issuers = typeof given === "string" ? [given] : [...(given ?? [])];
  // The id is issuer#subject. Two of them must not be equal unless both parts are.
  if (issuers.length === 0 || issuers.some((issuer) => typeof issuer !== "string" || !/^[^#]+$/.test(issuer))) {
    throw new TypeError(
      "The issuer is missing or invalid. Pass the URL of your identity provider, without a fragment.",
    );
  }
  if (options.audience === undefined || options.audience.length === 0) {
    throw new TypeError("The audience is missing. Set it to the name of this service.");
  }
  const verifying = createJWTAuthenticator({ ...others, issuer: issuers });
  verifying.catch(() => {}); // `ready` reports it, or the first request to a server that does not wait for it.
  let hasWarned = false;
  const refuse = (cause: unknown): never => {
    if (!hasWarned) warnVisibly(log, [{ message: "jwt: every token is refused: {cause}", properties: { cause } }]);
    hasWarned = true;
    const message = "The server cannot verify tokens, because its configuration is invalid.";
    throw unavailable(message, { cause, mayHaveRun: false });
  };
  const authorizationServers = issuers.filter((issuer) => issuer.startsWith("https://"));
  return {
    async authenticate({ token }) {
      const claimed = token === undefined ? undefined : readIssuer(token);
      const issuer = issuers.find((one) => one === claimed);
      if (issuer === undefined) return undefined;
      const verify = await verifying.catch(refuse);
      const identity = await verify(token);
      return identity && { ...identity, id: `${issuer}#${identity.id}` };
    },
    ready: async () => void (await verifying),
    describe: () => ({
      securitySchemes: { jwt: { type: "http", scheme: "bearer", bearerFormat: "JWT" } },
      headers: ["authorization"],
      ...(authorizationServers.length > 0 && { authorizationServers }),
    }),
  };
}

/** Reads the issuer of a token before its signature is verified, to decide which authenticator verifies it. */
function readIssuer(token: string): unknown {
  try {
    return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()).iss;
  } catch {
    return undefined; // not JSON
  }
}
