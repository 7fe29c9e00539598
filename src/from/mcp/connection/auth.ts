import type { AuthProvider, OAuthClientProvider } from "@modelcontextprotocol/client";
import { CallError } from "../../../operation/index.ts";
import type { MCPAuth, MCPClientConfig } from "../config.ts";
import { createGuardedFetch } from "./guarded-fetch.ts";
import { IssuerGuard } from "./issuer-guard.ts";
import { loadSDK, type SDK } from "./load-sdk.ts";
import { createSetup } from "./setup.ts";

/** What the SDK asks for credentials, and where they may go. */
export interface Authorisation {
  readonly provider: AuthProvider | OAuthClientProvider | undefined;
  readonly guard: IssuerGuard;
}

/**
 * Makes of the configuration what the SDK asks for credentials. One for the whole life of a connection, so that the
 * tokens it got outlive a reconnect.
 */
export function createAuthorisation(
  sdk: SDK,
  server: URL,
  auth: MCPAuth | undefined,
  secrets: Set<string>,
): Authorisation {
  const expectedIssuer = auth?.type === "bearer" ? undefined : auth?.expectedIssuer;
  const guard = new IssuerGuard(server, { expectedIssuer, ownOriginOnly: auth?.type === "clientCredentials" });
  return { provider: createProvider(sdk, server, auth, secrets, guard), guard };
}

function createProvider(
  sdk: SDK,
  server: URL,
  auth: MCPAuth | undefined,
  secrets: Set<string>,
  guard: IssuerGuard,
): Authorisation["provider"] {
  switch (auth?.type) {
    case undefined:
      return undefined;
    case "bearer": {
      const { token } = auth;
      if (typeof token === "string") return { token: async () => token };
      const ask = async () => {
        const value = await token();
        secrets.add(value);
        return value;
      };
      // After a refusal the function is asked once more, because it may know a newer token by then.
      return { token: ask, onUnauthorized: async () => {} };
    }
    case "clientCredentials": {
      const { clientId, clientSecret, scope, expectedIssuer = server.origin } = auth;
      const provider = new sdk.ClientCredentialsProvider({ clientId, clientSecret, scope, expectedIssuer });
      // Any issuer of the server's origin is good, which the guard checks.
      if (auth.expectedIssuer === undefined)
        provider.clientInformation = () => ({ client_id: clientId, client_secret: clientSecret });
      return guard.guard(provider);
    }
    case "provider":
      return isOAuth(auth.provider) ? guard.guard(auth.provider) : auth.provider;
  }
}

/**
 * Finishes a login in a browser: takes what came back to the redirect URL, and lets the configured provider save the
 * tokens. The next connection with this configuration uses them. `state` must have been checked before.
 */
export async function finishMCPAuth(config: MCPClientConfig, callback: URL | URLSearchParams): Promise<void> {
  const { url, auth } = config;
  if (url === undefined || auth?.type !== "provider" || !isOAuth(auth.provider)) {
    throw new CallError("VALIDATION_ERROR", 'A login needs "url" and an "auth" with an OAuth provider.', undefined, {
      mayHaveRun: false,
    });
  }
  const sdk = await loadSDK();
  const server = new URL(url);
  const { limits, secrets } = createSetup(sdk, server.host, config);
  const { provider, guard } = createAuthorisation(sdk, server, auth, secrets);
  const transport = new sdk.StreamableHTTPClientTransport(server, {
    authProvider: provider,
    fetch: createGuardedFetch({
      url: server,
      headers: config.headers,
      fetch: config.fetch ?? ((input, init) => fetch(input, init)),
      maxBytes: limits.responseBytes,
      secrets,
      guard,
      tap: () => undefined,
      onSessionLost: () => {},
    }),
  });
  try {
    await transport.finishAuth(callback instanceof URL ? callback.searchParams : callback);
  } catch (error) {
    // What the server says about it may be anything, and is not for showing.
    throw new CallError("UPSTREAM_DENIED", "The login could not be finished.", undefined, {
      cause: error,
      mayHaveRun: false,
    });
  } finally {
    await transport.close();
  }
}

/** The same test that the SDK uses. */
function isOAuth(provider: OAuthClientProvider | AuthProvider): provider is OAuthClientProvider {
  const { tokens, clientInformation } = provider as Partial<OAuthClientProvider>;
  return typeof tokens === "function" && typeof clientInformation === "function";
}
