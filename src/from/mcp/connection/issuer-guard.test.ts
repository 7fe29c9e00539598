import { generateKeyPairSync } from "node:crypto";
import { type OAuthClientProvider, PrivateKeyJwtProvider } from "@modelcontextprotocol/client";
import { createMcpHandler, Server } from "@modelcontextprotocol/server";
import { describe, expect, test } from "vitest";
import type { MCPAuth } from "../config.ts";
import { openConnection } from "./index.ts";
import { dropForeignMetadata } from "./issuer-guard.ts";
import { call, connect, serveWeb } from "./testing.ts";

interface Seen {
  path: string;
  authorization: string | null;
  body: string;
}

/** An authorization server. It keeps what it was sent and issues tokens to everyone. */
async function serveIssuer({ path = "", tokenEndpoint = "" } = {}) {
  const seen: Seen[] = [];
  const { url } = await serveWeb(async (request) => {
    const { pathname, origin } = new URL(request.url);
    seen.push({
      path: pathname,
      authorization: request.headers.get("authorization"),
      body: request.method === "POST" ? await request.text() : "",
    });
    return answerAsIssuer(pathname, `${origin}${path}`, tokenEndpoint || `${origin}/token`);
  });
  const { origin } = new URL(url);
  return { issuer: `${origin}${path}`, origin, seen };
}

function answerAsIssuer(pathname: string, issuer: string, tokenEndpoint: string): Response {
  if (pathname === "/token") return Response.json({ access_token: "good", token_type: "Bearer", expires_in: 3600 });
  if (!pathname.startsWith("/.well-known/oauth-authorization-server")) return new Response(null, { status: 404 });
  return Response.json({
    issuer,
    authorization_endpoint: `${new URL(issuer).origin}/authorize`,
    token_endpoint: tokenEndpoint,
    response_types_supported: ["code"],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["client_secret_basic", "private_key_jwt", "none"],
  });
}

/** An MCP server that names an authorization server; without one it is its own. */
async function serveResource(options: {
  issuer?: string;
  ownPath?: string;
  tokenEndpoint?: string;
  metadata?: string;
}) {
  const handler = createMcpHandler(() => {
    const server = new Server({ name: "locked", version: "1" }, { capabilities: { tools: {} } });
    server.setRequestHandler("tools/call", () => ({ content: [{ type: "text", text: "in" }] }));
    return server;
  });
  const secrets: string[] = [];
  const { url } = await serveWeb(async (request) => {
    const { pathname, origin } = new URL(request.url);
    const own = `${origin}${options.ownPath ?? ""}`;
    if (pathname.startsWith("/.well-known/oauth-protected-resource")) {
      return Response.json({ resource: `${origin}/mcp`, authorization_servers: [options.issuer ?? own] });
    }
    if (pathname !== "/mcp") {
      if (pathname === "/token") secrets.push(request.headers.get("authorization") ?? "");
      return answerAsIssuer(pathname, own, options.tokenEndpoint ?? `${origin}/token`);
    }
    if (request.headers.get("authorization") === "Bearer good") return handler.fetch(request);
    const challenge = options.metadata === undefined ? "Bearer" : `Bearer resource_metadata="${options.metadata}"`;
    return new Response(null, { status: 401, headers: { "www-authenticate": challenge } });
  });
  return { url, secrets };
}

const machine = { type: "clientCredentials", clientId: "us", clientSecret: "s3cr3t" } as const;
const basic = `Basic ${btoa("us:s3cr3t")}`;

/** A provider for logins in a browser, with what it was configured or saved with. */
function interactive(stored: {
  client?: { client_id: string; client_secret?: string; issuer?: string };
  tokens?: { access_token: string; token_type: string; refresh_token?: string; issuer?: string };
}) {
  const opened: URL[] = [];
  const saved: unknown[] = [];
  const provider: OAuthClientProvider = {
    redirectUrl: "http://127.0.0.1/callback",
    clientMetadata: { redirect_uris: ["http://127.0.0.1/callback"] },
    clientInformation: () => stored.client ?? { client_id: "public" },
    tokens: () => stored.tokens,
    saveTokens: (tokens) => void saved.push(tokens),
    saveCodeVerifier: () => {},
    codeVerifier: () => "verifier",
    redirectToAuthorization: (url) => void opened.push(url),
  };
  return { provider, opened, saved };
}

describe("client credentials", () => {
  test("are not sent to an authorization server of another origin, which receives no request", async () => {
    const foreign = await serveIssuer();
    const { url } = await serveResource(foreign);

    const error = await openConnection("locked", { url, auth: machine }).catch((reason) => reason);

    expect(error).toMatchObject({
      code: "UPSTREAM_DENIED",
      message:
        `The MCP server "locked" failed. The server names the authorization server "${foreign.origin}", which has another ` +
        `origin. Set "expectedIssuer" of "auth" to the issuer that may receive the client's credentials.`,
      mayHaveRun: false,
    });
    expect(foreign.seen).toEqual([]);
  });

  test("are sent to the expected issuer", async () => {
    const foreign = await serveIssuer({ path: "/tenant" });
    const { url } = await serveResource(foreign);

    const connection = await connect({ url, auth: { ...machine, expectedIssuer: foreign.issuer } });

    expect(await call(connection, "any")).toBe("in");
    expect(foreign.seen.at(-1)).toMatchObject({ path: "/token", authorization: basic });
  });

  test("are sent to the token endpoint that the expected issuer names", async () => {
    const endpoint = await serveIssuer();
    const foreign = await serveIssuer({ tokenEndpoint: `${endpoint.origin}/token` });
    const { url } = await serveResource(foreign);

    const connection = await connect({ url, auth: { ...machine, expectedIssuer: foreign.issuer } });

    expect(await call(connection, "any")).toBe("in");
    expect(endpoint.seen).toMatchObject([{ path: "/token", authorization: basic }]);
  });

  test("are sent to any issuer of the server's own origin", async () => {
    const { url, secrets } = await serveResource({ ownPath: "/tenant" });

    const connection = await connect({ url, auth: machine });

    expect(await call(connection, "any")).toBe("in");
    expect(secrets).toEqual([basic]);
  });

  test("are not sent to a token endpoint of another origin that the server itself names", async () => {
    const foreign = await serveIssuer();
    const { url } = await serveResource({ tokenEndpoint: `${foreign.origin}/token` });

    const opening = openConnection("locked", { url, auth: machine });

    await expect(opening).rejects.toMatchObject({ code: "UPSTREAM_DENIED", mayHaveRun: false });
    expect(foreign.seen).toEqual([]);
  });

  test("are not sent when another issuer than the expected one is named", async () => {
    const foreign = await serveIssuer();
    const { url } = await serveResource(foreign);

    const opening = openConnection("locked", { url, auth: { ...machine, expectedIssuer: "https://auth.example.com" } });

    await expect(opening).rejects.toMatchObject({
      code: "UPSTREAM_DENIED",
      message: expect.stringContaining('and "https://auth.example.com" is expected'),
    });
    expect(foreign.seen).toEqual([]);
  });
});

describe("a provider", () => {
  const privateKey = generateKeyPairSync("ec", { namedCurve: "P-256" })
    .privateKey.export({ type: "pkcs8", format: "pem" })
    .toString();
  const assertion = () => new PrivateKeyJwtProvider({ clientId: "us", privateKey, algorithm: "ES256" });
  const cases: Array<[string, () => MCPAuth]> = [
    ["a private key", () => ({ type: "provider", provider: assertion() })],
    [
      "a client secret that names no issuer",
      () => ({ type: "provider", provider: interactive({ client: { client_id: "us", client_secret: "x" } }).provider }),
    ],
  ];

  test.each(cases)("with %s sends nothing to another origin", async (_, auth) => {
    const foreign = await serveIssuer();
    const { url } = await serveResource(foreign);

    const opening = openConnection("locked", { url, auth: auth() });

    await expect(opening).rejects.toMatchObject({
      code: "UPSTREAM_DENIED",
      message: expect.stringContaining(`names the authorization server "${foreign.issuer}"`),
      mayHaveRun: false,
    });
    expect(foreign.seen.filter(({ path, body }) => path === "/token" || body !== "")).toEqual([]);
  });

  test("with a private key is used with the expected issuer", async () => {
    const foreign = await serveIssuer();
    const { url } = await serveResource(foreign);

    const connection = await connect({
      url,
      auth: { type: "provider", provider: assertion(), expectedIssuer: foreign.issuer },
    });

    expect(await call(connection, "any")).toBe("in");
    expect(foreign.seen.at(-1)!.body).toContain("client_assertion=");
  });

  test("with a refresh token that names no issuer starts a new login, and keeps the token", async () => {
    const foreign = await serveIssuer();
    const { url } = await serveResource(foreign);
    const tokens = { access_token: "old", token_type: "Bearer", refresh_token: "r3fr3sh" };
    const { provider, opened, saved } = interactive({ tokens });

    const opening = openConnection("locked", { url, auth: { type: "provider", provider } });

    await expect(opening).rejects.toMatchObject({ code: "UPSTREAM_DENIED" });
    expect(foreign.seen.map(({ path }) => path)).not.toContain("/token");
    expect(opened.map(({ origin }) => origin)).toEqual([foreign.origin]);
    expect(saved).toEqual([]);
  });

  test("with a refresh token of the named issuer uses it there", async () => {
    const foreign = await serveIssuer();
    const { url } = await serveResource(foreign);
    const tokens = { access_token: "old", token_type: "Bearer", refresh_token: "r3fr3sh", issuer: foreign.issuer };
    const { provider, saved } = interactive({ tokens });

    await openConnection("locked", { url, auth: { type: "provider", provider } }).catch(() => {});

    expect(foreign.seen.at(-1)).toMatchObject({ path: "/token", body: expect.stringContaining("r3fr3sh") });
    expect(saved).toMatchObject([{ access_token: "good" }]);
  });

  test.each([["http://auth.example.com"], ["http://169.254.169.254"], ["ftp://127.0.0.1"]])(
    "is not used with the issuer %s, which is not asked",
    async (issuer) => {
      const { url } = await serveResource({ issuer });
      const { provider, opened } = interactive({});
      const fetched: string[] = [];
      const spy: typeof fetch = (input, init) => {
        fetched.push(new URL(input instanceof Request ? input.url : input).origin);
        return fetch(input, init);
      };

      const opening = openConnection("locked", { url, fetch: spy, auth: { type: "provider", provider } });

      await expect(opening).rejects.toMatchObject({ name: "CallError", mayHaveRun: false });
      expect(new Set(fetched)).toEqual(new Set([new URL(url).origin]));
      expect(opened).toEqual([]);
    },
  );
});

test("metadata of the server is not fetched from another origin", async () => {
  const foreign = await serveIssuer();
  const { url } = await serveResource({ metadata: `${foreign.origin}/.well-known/oauth-protected-resource` });

  const connection = await connect({ url, auth: machine });

  expect(await call(connection, "any")).toBe("in");
  expect(foreign.seen).toEqual([]);
});

test.each([
  [
    'Bearer resource_metadata="https://a.example/x", scope="y"',
    'Bearer resource_metadata="https://a.example/x", scope="y"',
  ],
  ['Bearer resource_metadata="https://b.example/x", scope="y"', 'Bearer  , scope="y"'],
  ["Bearer resource_metadata=https://b.example/x", "Bearer  "],
  [
    'Bearer resource_meresource_metadata="x"tadata="https://b.example/x"',
    'Bearer resource_me tadata="https://b.example/x"',
  ],
  ["Basic, Bearer resource_metadata=https://a.example@b.example/", "Basic, Bearer  "],
])("the challenge %s becomes %s", (challenge, expected) => {
  expect(dropForeignMetadata(challenge, new URL("https://a.example/mcp"))).toBe(expected);
});
