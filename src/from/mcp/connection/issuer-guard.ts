import type { OAuthClientProvider } from "@modelcontextprotocol/client";
import { quote } from "../../../internal/text.ts";
import { isConfidentialURL, isLoopbackHost } from "../../../internal/urls.ts";
import { CallError } from "../../../operation/index.ts";

type ClientInformation = Awaited<ReturnType<OAuthClientProvider["clientInformation"]>>;
type Tokens = Awaited<ReturnType<OAuthClientProvider["tokens"]>>;
type IssuerContext = Parameters<OAuthClientProvider["clientInformation"]>[0];

/** The authorization servers that may be used with an MCP server. */
export interface IssuerRules {
  /** The only authorization server. @default any over https, but secrets only go to the server's own origin */
  expectedIssuer?: string;
  /** Refuses every authorization server of another origin, unless it is expected. */
  ownOriginOnly?: boolean;
}

/**
 * Decides where the requests of an OAuth flow go. The MCP server names its authorization server, so without this it
 * could have client secrets, assertions and refresh tokens sent to any address.
 */
export class IssuerGuard {
  readonly #server: URL;
  readonly #expected: string | undefined;
  readonly #ownOriginOnly: boolean;
  /** Whether a credential without an issuer was used, which may only be sent to the server's own origin. */
  #isBoundToOrigin = false;

  constructor(server: URL, { expectedIssuer, ownOriginOnly = false }: IssuerRules = {}) {
    this.#server = server;
    this.#expected = expectedIssuer;
    this.#ownOriginOnly = ownOriginOnly && expectedIssuer === undefined;
  }

  /** The same provider, with its credentials bound to the authorization servers that may have them. */
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

  /** Throws unless a request of the flow may go to another origin than the server's own. */
  assertForeignTarget(target: URL, method = "GET"): void {
    if (!isConfidentialURL(target) || (target.protocol === "http:" && !isLoopbackHost(this.#server.hostname))) {
      throw denied(`The authorization server ${quote(target.origin)} must be reached over https`);
    }
    const isPost = method.toUpperCase() === "POST";
    // An expected issuer may have its token endpoint elsewhere, but its metadata must be its own.
    const isElsewhere = this.#expected !== undefined && !isPost && target.origin !== originOf(this.#expected);
    if (isElsewhere || this.#ownOriginOnly || (this.#isBoundToOrigin && isPost)) throw this.#refused(target.origin);
  }

  /** Throws for an issuer that must not be used, and binds the client to any other. */
  #bindClient(provider: OAuthClientProvider, client: ClientInformation, issuer: string | undefined): ClientInformation {
    if (this.#expected !== undefined && issuer !== undefined && !isSameIssuer(issuer, this.#expected)) {
      throw this.#refused(issuer);
    }
    // The SDK checks the issuer of a client that has one.
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
    // Without an issuer the access token is read, which goes to the MCP server itself.
    if (issuer === undefined || tokens?.refresh_token === undefined || typeof tokens.issuer === "string") return tokens;
    if (this.#expected !== undefined) return { ...tokens, issuer: this.#expected };
    // A refresh token that must not be sent there is dropped, so that the user logs in again.
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
      `The server names the authorization server ${quote(named)}, which is not of its own origin${allowed}. ` +
        `Set "expectedIssuer" of "auth" to the one that may get the client's credentials`,
    );
  }
}

/** The server names the page where the user logs in. Opening it must not run a program or a script. */
function assertPage(url: URL): void {
  if (isConfidentialURL(url)) return;
  throw denied(`The authorisation page must be https, not ${JSON.stringify(url.protocol)}`);
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
