import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, onTestFinished, test } from "vitest";
import { bearerTokens, createToken } from "../../src/auth/index.ts";
import { createRegistry, defineOperation, type OperationRegistry, Type } from "../../src/index.ts";
import { deferred, until } from "../../src/internal/testing.ts";
import { type Listener, listen } from "../../src/node/index.ts";
import { type ServeMCPOptions, serveMCP } from "../../src/serve/mcp/index.ts";

async function serve(registry: OperationRegistry, authenticate: ServeMCPOptions["authenticate"]): Promise<Listener> {
  const listener = await listen({ "/mcp": serveMCP(registry, { authenticate }) }, { closeTimeout: 0 });
  onTestFinished(() => listener.close());
  return listener;
}

test.each([
  ["an older version", "legacy"],
  ["2026-07-28", { pin: "2026-07-28" }],
] as const)("a client of %s that vanishes aborts its calls", async (_version, mode) => {
  const started = deferred<AbortSignal>();
  const wait = defineOperation({
    namespace: "test",
    name: "wait",
    type: "mutation",
    inputSchema: Type.Object({}),
    outputSchema: Type.Unknown(),
    handler: (_input, { signal }) => {
      started.resolve(signal);
      return new Promise<never>(() => {});
    },
  });
  const { url } = await serve(createRegistry({ operations: [wait] }), "none");
  const client = new Client({ name: "test", version: "1.0.0" }, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)));
  const call = client.callTool({ name: "test_wait" });
  const signal = await started.promise;
  await Promise.all([client.close(), expect(call).rejects.toThrow()]);
  await until(() => signal.aborted);
});

test("a client without a token finds the authorization server at the root of the listener", async () => {
  const issuer = "https://issuer.example.com";
  const tokens = bearerTokens([{ hash: createToken().hash, identity: { id: "ada", scopes: [] } }]);
  const authenticate = { ...tokens, describe: () => ({ ...tokens.describe!(), authorizationServers: [issuer] }) };
  const { url } = await serve(createRegistry({ operations: [] }), authenticate);
  const refused = await fetch(`${url}/mcp`, {
    method: "POST",
    body: "{}",
    headers: { "content-type": "application/json" },
  });
  const [, place] = /resource_metadata="([^"]+)"/.exec(refused.headers.get("www-authenticate") ?? "") ?? [];
  expect([refused.status, place]).toEqual([401, `${url}/.well-known/oauth-protected-resource/mcp`]);
  const metadata = await (await fetch(place!)).json();
  expect(metadata).toMatchObject({ resource: `${url}/mcp`, authorization_servers: [issuer] });
});
