import type { OAuthClientProvider, OAuthDiscoveryState } from "@modelcontextprotocol/client";
import { createMcpHandler, Server } from "@modelcontextprotocol/server";
import { expect, test } from "vitest";
import { finishMCPAuth, openConnection } from "./index.ts";
import { call, connect, serveWeb } from "./testing.ts";

/** A server that wants a token of its own authorisation server, whose login page is at `page`. */
async function serveLocked(page = "/authorize") {
  const handler = createMcpHandler(() => {
    const server = new Server({ name: "locked", version: "1" }, { capabilities: { tools: {} } });
    server.setRequestHandler("tools/call", () => ({ content: [{ type: "text", text: "in" }] }));
    return server;
  });
  const grants: string[] = [];
  const { url } = await serveWeb(async (request) => {
    const { pathname, origin } = new URL(request.url);
    if (pathname.startsWith("/.well-known/oauth-protected-resource")) {
      return Response.json({ resource: `${origin}/mcp`, authorization_servers: [origin] });
    }
    if (pathname.startsWith("/.well-known/oauth-authorization-server")) {
      return Response.json({
        issuer: origin,
        authorization_endpoint: page.startsWith("/") ? origin + page : page,
        token_endpoint: `${origin}/token`,
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["S256"],
        token_endpoint_auth_methods_supported: ["none"],
      });
    }
    if (pathname === "/token") {
      const form = new URLSearchParams(await request.text());
      grants.push(`${form.get("grant_type")} ${form.get("code") ?? form.get("refresh_token")}`);
      return Response.json({
        access_token: `token-${grants.length}`,
        refresh_token: "again",
        token_type: "Bearer",
        expires_in: 3600,
      });
    }
    if (request.headers.get("authorization") === `Bearer token-${grants.length}`) return handler.fetch(request);
    return new Response(null, { status: 401, headers: { "www-authenticate": "Bearer" } });
  });
  return { url, grants, revoke: () => void grants.push("revoked") };
}

/** Keeps everything in memory and writes down the pages that it would open. */
class MemoryProvider implements OAuthClientProvider {
  readonly opened: URL[] = [];
  readonly redirectUrl = "http://127.0.0.1/callback";
  readonly clientMetadata = { redirect_uris: [this.redirectUrl], client_name: "test" };
  // Private, so that it only works on the object itself.
  #saved: ReturnType<OAuthClientProvider["tokens"]>;
  #verifier = "";
  #discovered: OAuthDiscoveryState | undefined;

  clientInformation() {
    return { client_id: "us" };
  }
  tokens() {
    return this.#saved;
  }
  saveTokens(tokens: Parameters<OAuthClientProvider["saveTokens"]>[0]) {
    this.#saved = tokens;
  }
  redirectToAuthorization(url: URL) {
    this.opened.push(url);
  }
  saveCodeVerifier(verifier: string) {
    this.#verifier = verifier;
  }
  codeVerifier() {
    return this.#verifier;
  }
  saveDiscoveryState(state: OAuthDiscoveryState) {
    this.#discovered = state;
  }
  discoveryState() {
    return this.#discovered;
  }
}

test("a login in a browser is started and completed, and its tokens are used and refreshed", async () => {
  const { url, grants, revoke } = await serveLocked();
  const provider = new MemoryProvider();
  const config = { url, auth: { type: "provider" as const, provider } };

  await expect(openConnection("locked", config)).rejects.toMatchObject({ code: "UPSTREAM_DENIED", mayHaveRun: false });
  expect(provider.opened.map(({ pathname }) => pathname)).toEqual(["/authorize"]);
  await finishMCPAuth(config, new URL("http://127.0.0.1/callback?code=abc"));
  const connection = await connect(config);
  expect(await call(connection, "any")).toBe("in");
  revoke();

  expect(await call(connection, "any")).toBe("in");
  expect(grants).toEqual(["authorization_code abc", "revoked", "refresh_token again"]);
});

test.each([["javascript:alert(1)"], ["file:///etc/passwd"], ["http://evil.example.com/login"]])(
  "a login page at %s is not opened",
  async (page) => {
    const { url } = await serveLocked(page);
    const provider = new MemoryProvider();

    const opening = openConnection("locked", { url, auth: { type: "provider", provider } });

    await expect(opening).rejects.toMatchObject({ name: "CallError", mayHaveRun: false });
    expect(provider.opened).toEqual([]);
  },
);

test("a login that cannot be completed is UPSTREAM_DENIED, and requires a provider", async () => {
  const { url } = await serveLocked();
  const provider = new MemoryProvider();
  const refused = new URLSearchParams({ error: "access_denied", error_description: "<script>" });

  const finishing = finishMCPAuth({ url, auth: { type: "provider", provider } }, refused);

  await expect(finishing).rejects.toMatchObject({
    code: "UPSTREAM_DENIED",
    message: "The login could not be completed. Start a new login.",
  });
  await expect(finishMCPAuth({ url }, refused)).rejects.toMatchObject({ code: "VALIDATION_ERROR" });
});
