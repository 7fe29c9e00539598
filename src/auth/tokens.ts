import { type Authenticator, type AuthenticatorDescription, bearerDescription } from "../serve/authenticator.ts";
import { type StoredToken, TokenStore } from "./token-store.ts";

/** An authenticator whose tokens can be changed while a server is running. */
export interface TokenAuthenticator extends Authenticator {
  /** Adds a token. */
  add(token: StoredToken): void;
  /** Removes the token with this hash, and ends its open streams and connections. Returns whether it was there. */
  remove(hash: string): boolean;
  /** Replaces all tokens, and ends open streams and connections whose token or identity has changed. */
  replace(tokens: readonly StoredToken[]): void;
}

/**
 * Identifies callers by the token of `Authorization: Bearer`. A browser that opens a WebSocket sends the same token in the
 * handshake.
 */
export function bearerTokens(tokens: readonly StoredToken[]): TokenAuthenticator {
  const store = new TokenStore("bearerTokens", tokens);
  return toAuthenticator(
    store,
    ({ token }) => (token === undefined ? undefined : store.find(token)),
    bearerDescription,
  );
}

/** Options of {@link apiKeys}. */
export interface APIKeyOptions {
  /** Name of the header that contains the key. @default `X-API-Key` */
  header?: string | undefined;
}

/** Headers that contain other values than keys. */
const unsuitableHeaders = ["authorization", "cookie", "host", "origin"];

/** Identifies callers by a key in a header of its own. */
export function apiKeys(
  keys: readonly StoredToken[],
  { header = "X-API-Key" }: APIKeyOptions = {},
): TokenAuthenticator {
  const name = header.toLowerCase();
  if (!/^[a-z0-9-]+$/.test(name) || unsuitableHeaders.includes(name)) {
    throw new TypeError(
      `The header ${JSON.stringify(header)} cannot contain a key. Use another name, such as X-API-Key.`,
    );
  }
  const store = new TokenStore("apiKeys", keys);
  const description: AuthenticatorDescription = {
    securitySchemes: { [name]: { type: "apiKey", in: "header", name: header } },
    headers: [name],
  };
  const identify: Authenticator["authenticate"] = ({ headers }) => {
    const key = headers.get(name);
    return key === null || key === "" ? undefined : store.find(key);
  };
  return toAuthenticator(store, identify, description);
}

function toAuthenticator(
  store: TokenStore,
  authenticate: Authenticator["authenticate"],
  description: AuthenticatorDescription,
): TokenAuthenticator {
  return {
    authenticate,
    describe: () => description,
    onChange: store.onChange,
    add: (token) => store.add(token),
    remove: (hash) => store.remove(hash),
    replace: (tokens) => store.replace(tokens),
  };
}
