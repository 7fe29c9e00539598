import type { AuthProvider, OAuthClientProvider } from "@modelcontextprotocol/client";
import { CallError } from "../../../operation/index.ts";
import type { MCPAuth, MCPClientConfig } from "../config.ts";
import { loadSDK, type SDK } from "./load-sdk.ts";

/**
 * Makes of the configuration what the SDK asks for credentials. One for the whole life of a connection, so that the
 * tokens it got outlive a reconnect.
 */
export function createAuthProvider(
  sdk: SDK,
  auth: MCPAuth | undefined,
  secrets: Set<string>,
): AuthProvider | OAuthClientProvider | undefined {
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
      const { clientId, clientSecret, scope, expectedIssuer } = auth;
      return new sdk.ClientCredentialsProvider({ clientId, clientSecret, scope, expectedIssuer });
    }
    case "provider":
      return isOAuth(auth.provider) ? guardRedirect(auth.provider) : auth.provider;
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
  const transport = new sdk.StreamableHTTPClientTransport(new URL(url), {
    authProvider: guardRedirect(auth.provider),
    ...(config.fetch && { fetch: config.fetch as never }),
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

function isOAuth(provider: OAuthClientProvider | AuthProvider): provider is OAuthClientProvider {
  return "redirectToAuthorization" in provider;
}

/** A server names the page where its user logs in. Opening that must not run a program or a script. */
function guardRedirect(provider: OAuthClientProvider): OAuthClientProvider {
  return new Proxy(provider, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function") return value;
      if (key !== "redirectToAuthorization") return value.bind(target);
      return (url: URL) => {
        assertPage(url);
        return value.call(target, url);
      };
    },
  });
}

function assertPage(url: URL): void {
  const loopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (url.protocol === "https:" || (url.protocol === "http:" && loopback)) return;
  throw new CallError(
    "UPSTREAM_DENIED",
    `The authorisation page must be https, not ${JSON.stringify(url.protocol)}.`,
    undefined,
    { mayHaveRun: false },
  );
}
