export {
  createJWTAuthenticator,
  type JWTAuthenticator,
  type JWTAuthenticatorOptions,
} from "./authenticator.ts";
export type { JWTKey } from "./keys.ts";
export { createJWTSigner, type JWTSigner, type JWTSignerOptions } from "./signer.ts";
