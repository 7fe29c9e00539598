import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { type Authenticator, apiKeys, bearerTokens, createToken, firstOf, jwt } from "../../src/auth/index.ts";
import { connect } from "../../src/client/index.ts";
import { openAPISource } from "../../src/from/openapi/index.ts";
import { createRegistry, defineOperation, OperationRegistry, Type } from "../../src/index.ts";
import { createJWTSigner } from "../../src/jwt/index.ts";
import { rateLimit } from "../../src/middleware/index.ts";
import { listen } from "../../src/node/index.ts";
import { serveHTTP } from "../../src/serve/http/index.ts";

const closing: Array<() => unknown> = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const identity = { id: "ada", scopes: ["task"] };

/** Serves `task.changes`, which yields one value and then waits, and `task.list`. */
async function serve(authenticate: Authenticator) {
  const state = { ended: 0 };
  const base = { namespace: "task", inputSchema: Type.Object({}), outputSchema: Type.Unknown() };
  const rule = { accessControl: { requiredScopes: ["task"] } };
  const changes = defineOperation({
    ...base,
    ...rule,
    name: "changes",
    type: "subscription",
    handler: async function* (_input, { signal }) {
      try {
        yield "first";
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      } finally {
        state.ended += 1;
      }
    },
  });
  const list = defineOperation({ ...base, ...rule, name: "list", type: "query", handler: () => [] });
  const registry = createRegistry({ operations: [changes, list] });
  const listener = await listen({ "/": serveHTTP(registry, { authenticate }) }, { closeTimeout: 0 });
  closing.push(() => listener.close());
  const get = (path: string, token: string) =>
    fetch(listener.url + path, { headers: { authorization: `Bearer ${token}` } });
  /** Opens a stream, and returns a function that reads its next part. */
  const open = async (token: string) => {
    const reader = (await get("/task/changes", token)).body!.pipeThrough(new TextDecoderStream()).getReader();
    closing.push(() => reader.cancel());
    const read = async () => (await reader.read()).value ?? "end of the stream";
    expect(await read()).toBe('id: 0\ndata: "first"\n\n');
    return read;
  };
  return { registry, state, get, open, url: listener.url };
}

/** Returns the problem in the last event of a stream. */
function problemOf(event: string): unknown {
  const [, data] = /^event: problem\ndata: (.*)\n\n$/.exec(event) ?? expect.unreachable(event);
  const { status, code, details } = JSON.parse(data!);
  return { status, code, reason: details.reason };
}

test("removing a token ends its streams, and no others", async () => {
  const [one, two] = [createToken(), createToken()];
  const tokens = bearerTokens([one, two].map(({ hash }) => ({ hash, identity })));
  const { open, get, state } = await serve(tokens);
  const [ending, going] = [await open(one.token), await open(two.token)];
  tokens.remove(one.hash);
  expect(problemOf(await ending())).toEqual({
    status: 403,
    code: "ACCESS_DENIED",
    reason: "the credential of the caller is no longer accepted",
  });
  expect(await ending()).toBe("end of the stream");
  await vi.waitFor(() => expect(state.ended).toBe(1));
  expect([(await get("/task/list", one.token)).status, (await get("/task/list", two.token)).status]).toEqual([
    401, 200,
  ]);
  tokens.replace([{ hash: two.hash, identity: { id: "ada", scopes: [] } }]);
  expect(problemOf(await going())).toMatchObject({ code: "ACCESS_DENIED" });
});

test("a stream ends at the new expiry of its token", async () => {
  const { token, hash } = createToken();
  const tokens = bearerTokens([{ hash, identity }]);
  const { open, get } = await serve(tokens);
  const read = await open(token);
  tokens.replace([{ hash, identity: { ...identity, expiresAt: Date.now() + 200 } }]);
  expect(problemOf(await read())).toMatchObject({ reason: "the credential of the caller has expired" });
  expect((await get("/task/list", token)).status).toBe(401);
});

test("a stream ends when its JSON Web Token expires, and not when another kind of token is removed", async () => {
  const key = crypto.getRandomValues(new Uint8Array(32));
  const [issuer, audience] = ["https://login.example.com/", "https://api.example.com"];
  const other = createToken();
  const tokens = bearerTokens([{ hash: other.hash, identity }]);
  const { open } = await serve(firstOf(tokens, jwt({ key, issuer, audience, clockTolerance: 0 })));
  const sign = await createJWTSigner({ key, issuer, audience, lifetime: 1_000 });
  const read = await open(await sign(identity));
  tokens.remove(other.hash);
  expect(problemOf(await read())).toEqual({
    status: 403,
    code: "ACCESS_DENIED",
    reason: "the credential of the caller has expired",
  });
});

test("a client sends an API key with every call and subscription, and removing it ends the subscription", async () => {
  const { token: key, hash } = createToken();
  const keys = apiKeys([{ hash, identity }]);
  const { url } = await serve(keys);
  await using client = connect(url, { headers: { "X-API-Key": key } });
  const { list, changes } = client["task"]! as Record<"list" | "changes", (typeof client)[string][string]>;
  const values = changes();

  const received = [await list(), (await values.next()).value];
  keys.remove(hash);

  expect(received).toEqual([[], "first"]);
  await expect(values.next()).rejects.toMatchObject({ code: "ACCESS_DENIED" });
  await expect(list()).rejects.toMatchObject({ code: "ACCESS_DENIED" });
});

test("calls above the rate limit of a caller are refused with 429 and the time to wait", async () => {
  const [one, two] = [createToken(), createToken()];
  const { registry, get } = await serve(
    bearerTokens([
      { hash: one.hash, identity },
      { hash: two.hash, identity: { ...identity, id: "bob" } },
    ]),
  );
  registry.use(rateLimit({ limit: 1, interval: 60_000 }));
  const responses = [
    await get("/task/list", one.token),
    await get("/task/list", one.token),
    await get("/task/list", two.token),
  ];
  expect(responses.map(({ status, headers }) => [status, headers.get("retry-after")])).toEqual([
    [200, null],
    [429, "60"],
    [200, null],
  ]);
});

test("an upstream never receives the token of a caller", async () => {
  const requests: IncomingMessage[] = [];
  const upstream = createServer((request, response) => {
    requests.push(request);
    response.setHeader("content-type", "application/json");
    response.end("{}");
  });
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  closing.push(() => upstream.close());
  const registry = new OperationRegistry();
  const document = {
    openapi: "3.1.0",
    info: { title: "Upstream", version: "1" },
    paths: { "/things": { get: { operationId: "list", responses: { 200: { description: "OK" } } } } },
  };
  const baseUrl = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  await registry.follow(openAPISource(document, { namespace: "upstream", baseUrl }), {
    accessControl: { requiredScopes: [] },
  });
  const { token, hash } = createToken();
  const server = serveHTTP(registry, { authenticate: bearerTokens([{ hash, identity }]) });
  closing.push(() => server.close());
  const headers = { authorization: `Bearer ${token}`, cookie: `session=${token}`, "x-forwarded-for": token };
  const response = await server.fetch(new Request("http://localhost/upstream/list", { headers }));
  expect([response.status, requests.length]).toEqual([200, 1]);
  expect(JSON.stringify([requests[0]!.url, requests[0]!.rawHeaders])).not.toContain(token);
});
