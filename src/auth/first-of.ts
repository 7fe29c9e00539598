import {
  type Authenticator,
  type AuthenticatorDescription,
  bearerDescription,
  type Credentials,
  type IdentifyCaller,
} from "../serve/authenticator.ts";

/**
 * Combines authenticators. The first one that recognises the credentials of a request identifies its sender. One that
 * throws has recognised them, so that the following ones are not called.
 */
export function firstOf(...authenticators: ReadonlyArray<Authenticator | IdentifyCaller>): Authenticator {
  if (authenticators.length === 0) throw new TypeError("firstOf needs at least one authenticator.");
  if (authenticators.some((one) => typeof (typeof one === "function" ? one : one?.authenticate) !== "function")) {
    throw new TypeError("firstOf needs authenticators, or functions that identify a caller.");
  }
  const all = authenticators.map((one): Authenticator => (typeof one === "function" ? { authenticate: one } : one));
  return {
    authenticate: (credentials) => identify(all, 0, credentials),
    ready: async () => void (await Promise.all(all.map((one) => one.ready?.()))),
    describe: () => merge(all.map((one) => one.describe?.() ?? bearerDescription)),
    onChange(listener) {
      const stops = all.map((one) => one.onChange?.(listener));
      return () => {
        for (const stop of stops) stop?.();
      };
    },
  };
}

/** Calls the authenticators in order, without a promise as long as none of them returns one. */
function identify(all: readonly Authenticator[], start: number, credentials: Credentials): ReturnType<IdentifyCaller> {
  for (let index = start; index < all.length; index++) {
    const result = all[index]!.authenticate(credentials);
    if (result instanceof Promise) return result.then((found) => found ?? identify(all, index + 1, credentials));
    if (result !== undefined) return result;
  }
  return undefined;
}

function merge(descriptions: readonly AuthenticatorDescription[]): AuthenticatorDescription {
  const authorizationServers = descriptions.flatMap((one) => one.authorizationServers ?? []);
  return {
    securitySchemes: Object.assign({}, ...descriptions.map((one) => one.securitySchemes)),
    headers: [...new Set(descriptions.flatMap(({ headers }) => headers))],
    ...(authorizationServers.length > 0 && { authorizationServers: [...new Set(authorizationServers)] }),
  };
}
