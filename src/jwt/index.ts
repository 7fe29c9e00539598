export {
  createJWTAuthenticator,
  type JWTAuthenticator,
  type JWTAuthenticatorOptions,
  type TakeOnce,
} from "./authenticator.ts";
export type { JWTBinding } from "./claims.ts";
export type { JWTKey } from "./keys.ts";
export { createJWTSigner, type JWTSigner, type JWTSignerOptions } from "./signer.ts";
