export { createJWTAuthenticator, type JWTAuthenticator, type JWTAuthenticatorOptions } from "./authenticator.ts";
export type { JWTBinding } from "./binding.ts";
export type { JWTKey } from "./keys.ts";
export type { TakeOnce } from "./replays.ts";
export { createJWTSigner, type JWTSigner, type JWTSignerOptions } from "./signer.ts";
