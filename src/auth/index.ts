export type {
  Authenticator,
  AuthenticatorDescription,
  Credentials,
  IdentifyCaller,
  SecurityScheme,
} from "../serve/authenticator.ts";
export { firstOf } from "./first-of.ts";
export { type JWTOptions, jwt } from "./jwt.ts";
export { createToken, hashToken, type StoredToken } from "./token-store.ts";
export { type APIKeyOptions, apiKeys, bearerTokens, type TokenAuthenticator } from "./tokens.ts";
