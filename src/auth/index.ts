export type {
  Authenticator,
  AuthenticatorDescription,
  Credentials,
  IdentifyCaller,
  SecurityScheme,
} from "../serve/authenticator.ts";
