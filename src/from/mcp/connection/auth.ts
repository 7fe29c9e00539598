import type { AuthProvider, OAuthClientProvider } from "@modelcontextprotocol/client";
import { CallError } from "../../../operation/index.ts";
import type { MCPAuth, MCPClientConfig } from "../config.ts";
import { createGuardedFetch } from "./guarded-fetch.ts";
import { IssuerGuard } from "./issuer-guard.ts";
import { resolveSettings, type SDK } from "./settings.ts";

/** The source of credentials for the SDK, and the guard that decides where they may be sent. */
export interface Authorisation {
  readonly provider: AuthProvider | OAuthClientProvider | undefined;
  readonly guard: IssuerGuard;
}

/** Creates the authorization of a connection. Sessions of a connection share it, so that tokens outlive a session. */
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
      const getToken = async () => {
        const value = await token();
        secrets.add(value);
        return value;
      };
      // After a refusal the function is called once more, because it may return a newer token.
      return { token: getToken, onUnauthorized: async () => {} };
    }
    case "clientCredentials": {
      const { clientId, clientSecret, scope, expectedIssuer = server.origin } = auth;
      const provider = new sdk.ClientCredentialsProvider({ clientId, clientSecret, scope, expectedIssuer });
      // The guard allows any issuer with the same origin as the server.
      if (auth.expectedIssuer === undefined)
        provider.clientInformation = () => ({ client_id: clientId, client_secret: clientSecret });
      return guard.guard(provider);
    }
    case "provider":
      return isOAuth(auth.provider) ? guard.guard(auth.provider) : auth.provider;
  }
}

/**
 * Completes a login in a browser: exchanges the parameters of the redirect URL for tokens, which the configured
 * provider saves. The next connection with this configuration uses them. Check `state` before you call this.
 */
export async function finishMCPAuth(config: MCPClientConfig, callback: URL | URLSearchParams): Promise<void> {
  const { url, auth } = config;
  if (url === undefined || auth?.type !== "provider" || !isOAuth(auth.provider)) {
    throw new CallError(
      "VALIDATION_ERROR",
      'A login requires "url" and an "auth" with an OAuth provider. Set both in the configuration.',
      undefined,
      {
        mayHaveRun: false,
      },
    );
  }
  const server = new URL(url);
  const { sdk, limits, secrets } = await resolveSettings(server.host, config);
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
      failRequest: () => {},
      onExpired: () => {},
    }),
  });
  try {
    await transport.finishAuth(callback instanceof URL ? callback.searchParams : callback);
  } catch (error) {
    // The server's message may contain secrets, so it is only the cause.
    throw new CallError("UPSTREAM_DENIED", "The login could not be completed. Start a new login.", undefined, {
      cause: error,
      mayHaveRun: false,
    });
  } finally {
    await transport.close();
  }
}

/** Tests a provider in the same way as the SDK. */
function isOAuth(provider: OAuthClientProvider | AuthProvider): provider is OAuthClientProvider {
  const { tokens, clientInformation } = provider as Partial<OAuthClientProvider>;
  return typeof tokens === "function" && typeof clientInformation === "function";
}
