import { auth, type OAuthClientProvider, type OAuthDiscoveryState } from "@modelcontextprotocol/client";

type Client = NonNullable<Awaited<ReturnType<OAuthClientProvider["clientInformation"]>>>;
type Tokens = NonNullable<Awaited<ReturnType<OAuthClientProvider["tokens"]>>>;

/** Simulates a user who accepts every login page: follows the redirect and keeps the returned code, in memory only. */
export class HeadlessLogin implements OAuthClientProvider {
  readonly redirectUrl = "http://localhost:3000/callback";
  readonly clientMetadataUrl = "https://conformance-test.local/client-metadata.json";
  readonly clientMetadata = {
    client_name: "conformance",
    redirect_uris: [this.redirectUrl],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
  };
  readonly #clients = new Map<string | undefined, Client>();
  readonly #registered: Client | undefined;
  readonly #tokens = new Map<string | undefined, Tokens>();
  #verifier = "";
  #discovery: OAuthDiscoveryState | undefined;
  #callback: URLSearchParams | undefined;

  /** `registered` is a client that is already registered at the authorization server. */
  constructor(registered?: Client) {
    this.#registered = registered;
  }

  clientInformation(context?: { issuer?: string }): Client | undefined {
    return this.#registered ?? this.#clients.get(context?.issuer);
  }

  saveClientInformation(client: Client, context?: { issuer?: string }): void {
    this.#clients.set(context?.issuer, client);
  }

  tokens(context?: { issuer?: string }): Tokens | undefined {
    return context?.issuer === undefined ? [...this.#tokens.values()].at(-1) : this.#tokens.get(context.issuer);
  }

  saveTokens(tokens: Tokens, context?: { issuer?: string }): void {
    this.#tokens.set(context?.issuer, tokens);
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.#discovery = state;
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovery;
  }

  invalidateCredentials(scope: "all" | "client" | "tokens" | "verifier" | "discovery"): void {
    if (scope === "all" || scope === "client") this.#clients.clear();
    if (scope === "all" || scope === "tokens") this.#tokens.clear();
    if (scope === "all" || scope === "discovery") this.#discovery = undefined;
  }

  async redirectToAuthorization(url: URL): Promise<void> {
    const response = await fetch(url, { redirect: "manual" });
    const location = response.headers.get("location");
    if (location === null) throw new Error(`No redirect from ${url.origin}: ${response.status}`);
    this.#callback = new URL(location).searchParams;
  }

  /** Redeems the code of the last redirect. Returns `false` if there was none. */
  async finish(serverUrl: string): Promise<boolean> {
    const callback = this.#callback;
    this.#callback = undefined;
    const code = callback?.get("code");
    if (callback === undefined || code == null) return false;
    const result = await auth(this, { serverUrl, authorizationCode: code, iss: callback.get("iss") ?? undefined });
    // The server may name another authorization server next time.
    this.#discovery = undefined;
    return result === "AUTHORIZED";
  }
}
