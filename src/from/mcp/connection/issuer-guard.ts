import type { OAuthClientProvider } from "@modelcontextprotocol/client";
import { quote } from "../../../internal/text.ts";
import { isConfidentialURL, isLoopbackHost } from "../../../internal/urls.ts";
import { CallError } from "../../../operation/index.ts";

type ClientInformation = Awaited<ReturnType<OAuthClientProvider["clientInformation"]>>;
type Tokens = Awaited<ReturnType<OAuthClientProvider["tokens"]>>;
type IssuerContext = Parameters<OAuthClientProvider["clientInformation"]>[0];

/** The authorization servers that may be used with an MCP server. */
export interface IssuerRules {
  /** The only authorization server. @default any https server; secrets are only sent to the MCP server's own origin */
  expectedIssuer?: string;
  /** Refuses every authorization server with another origin, except the expected one. */
  ownOriginOnly?: boolean;
}

/**
 * Restricts where the requests of an OAuth flow are sent. The MCP server names its authorization server. Without this
 * guard, it could direct client secrets, assertions and refresh tokens to any address.
 */
export class IssuerGuard {
  readonly #server: URL;
  readonly #expected: string | undefined;
  readonly #ownOriginOnly: boolean;
  /** Whether a credential without an issuer was used. It may only be sent to the server's own origin. */
  #isBoundToOrigin = false;

  constructor(server: URL, { expectedIssuer, ownOriginOnly = false }: IssuerRules = {}) {
    this.#server = server;
    this.#expected = expectedIssuer;
    this.#ownOriginOnly = ownOriginOnly && expectedIssuer === undefined;
  }

  /** Returns the provider with its credentials bound to the authorization servers that may receive them. */
  guard(provider: OAuthClientProvider): OAuthClientProvider {
    return new Proxy(provider, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key, target);
        if (typeof value !== "function") return value;
        switch (key) {
          case "redirectToAuthorization":
            return (url: URL) => {
              assertPage(url);
              return value.call(target, url);
            };
          case "clientInformation":
            return async (context?: IssuerContext) =>
              this.#bindClient(target, (await value.call(target, context)) as ClientInformation, context?.issuer);
          case "tokens":
            return async (context?: IssuerContext) =>
              this.#bindTokens((await value.call(target, context)) as Tokens, context?.issuer);
          default:
            return value.bind(target);
        }
      },
    });
  }

  /** Throws unless a request of the flow may be sent to `target`, which has another origin than the server. */
  assertForeignTarget(target: URL, method = "GET"): void {
    if (!isConfidentialURL(target) || (target.protocol === "http:" && !isLoopbackHost(this.#server.hostname))) {
      throw denied(`The authorization server ${quote(target.origin)} must be reached over https`);
    }
    const isPost = method.toUpperCase() === "POST";
    // An expected issuer may have its token endpoint at another origin, but not its metadata.
    const isElsewhere = this.#expected !== undefined && !isPost && target.origin !== originOf(this.#expected);
    if (isElsewhere || this.#ownOriginOnly || (this.#isBoundToOrigin && isPost)) throw this.#refused(target.origin);
  }

  /** Throws for an issuer that must not be used, and binds the client to any other. */
  #bindClient(provider: OAuthClientProvider, client: ClientInformation, issuer: string | undefined): ClientInformation {
    if (this.#expected !== undefined && issuer !== undefined && !isSameIssuer(issuer, this.#expected)) {
      throw this.#refused(issuer);
    }
    // If a client has an issuer, the SDK checks it.
    if (client === undefined || typeof client.issuer === "string") return client;
    if (this.#expected !== undefined) return { ...client, issuer: this.#expected };
    const hasSecret =
      client.client_secret !== undefined ||
      provider.addClientAuthentication !== undefined ||
      provider.redirectUrl === undefined;
    if (!hasSecret) return client;
    return { ...client, issuer: this.#bindToOrigin(issuer) };
  }

  #bindTokens(tokens: Tokens, issuer: string | undefined): Tokens {
    // Without an issuer, the SDK reads the access token, which is sent to the MCP server itself.
    if (issuer === undefined || tokens?.refresh_token === undefined || typeof tokens.issuer === "string") return tokens;
    if (this.#expected !== undefined) return { ...tokens, issuer: this.#expected };
    // Drop a refresh token that must not be sent to the issuer, so that the user logs in again.
    return this.#isOwn(issuer) ? { ...tokens, issuer: this.#bindToOrigin(issuer) } : undefined;
  }

  #bindToOrigin(issuer: string | undefined): string {
    if (issuer === undefined || !this.#isOwn(issuer)) throw this.#refused(issuer ?? "unknown");
    this.#isBoundToOrigin = true;
    return issuer;
  }

  #isOwn(issuer: string): boolean {
    return originOf(issuer) === this.#server.origin;
  }

  #refused(named: string): CallError {
    const allowed = this.#expected === undefined ? "" : `, and ${quote(this.#expected)} is expected`;
    return denied(
      `The server names the authorization server ${quote(named)}, which has another origin${allowed}. ` +
        `Set "expectedIssuer" of "auth" to the issuer that may receive the client's credentials`,
    );
  }
}

/** Throws unless the login page that the server names can be opened without running a program or a script. */
function assertPage(url: URL): void {
  if (isConfidentialURL(url)) return;
  throw denied(`The URL of the authorization page must use https, not ${JSON.stringify(url.protocol)}`);
}

function denied(problem: string): CallError {
  return new CallError("UPSTREAM_DENIED", `${problem}.`, undefined, { mayHaveRun: false });
}

function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined;
}

/** Compares issuers as the SDK does: a trailing slash makes no difference. */
function isSameIssuer(one: string, other: string): boolean {
  return one.replace(/\/$/, "") === other.replace(/\/$/, "");
}

/** Removes `resource_metadata` of other origins from a challenge, so that the SDK reads it from the server itself. */
export function dropForeignMetadata(challenge: string, server: URL): string {
  return challenge.replace(/resource_metadata=(?:"([^"]*)"|([^\s,]*))/g, (whole, quoted, bare) =>
    originOf(quoted ?? bare ?? "") === server.origin ? whole : " ",
  );
}
