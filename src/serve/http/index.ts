export type {
  Authenticator,
  AuthenticatorDescription,
  Credentials,
  IdentifyCaller,
  SecurityScheme,
} from "../authenticator.ts";
export type { CloseOptions, CORSOptions, FetchInfo, FetchServer, ServeOptions } from "../server.ts";
