export type {
  Authenticator,
  AuthenticatorDescription,
  Credentials,
  IdentifyCaller,
  SecurityScheme,
} from "../serve/authenticator.ts";
export { firstOf } from "./first-of.ts";
export { type JWTOptions, jwt } from "./jwt.ts";
export type { APIKeyOptions, StoredToken, TokenAuthenticator } from "./tokens.ts";
export { apiKeys, bearerTokens, createToken, hashToken } from "./tokens.ts";
