import { expect, test } from "vitest";
import type { HTTPAuth, HTTPServiceConfig } from "../config.ts";
import type { EndpointPlan, SecuritySchemePlan } from "../endpoint.ts";
import { createEndpointHandler } from "../handler.ts";
import { callContext, callEndpoint, endpointPlan, failureOf, parameterPlan, startServer } from "./testing.ts";

const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;

/** Calls with a credential and returns what the server received of it. */
async function seen(auth: HTTPServiceConfig["auth"], plan: Partial<EndpointPlan> = {}, input = {}) {
  await using server = await startServer();
  await callEndpoint({ ...plan, baseUrl: server.origin }, input, { auth });
  const { headers, url } = server.received[0]!;
  return {
    authorization: headers.authorization,
    cookie: headers.cookie,
    key: headers["x-api-key"],
    custom: headers["x-custom"],
    url,
  };
}

test.each<[HTTPServiceConfig["auth"], Record<string, string>]>([
  [{ type: "bearer", token: "t" }, { authorization: "Bearer t" }],
  [{ type: "bearer", token: "t", prefix: "Token" }, { authorization: "Token t" }],
  [{ type: "bearer", token: "t", prefix: "Token " }, { authorization: "Token t" }],
  [{ type: "bearer", token: "t", prefix: "", headerName: "X-Custom" }, { custom: "t" }],
  [{ type: "bearer", token: async () => "t" }, { authorization: "Bearer t" }],
  [{ type: "basic", username: "u", password: "pä:s" }, { authorization: basic("u:pä:s") }],
  [{ type: "basic", username: () => "u", password: async () => "p" }, { authorization: basic("u:p") }],
  [{ type: "basic", token: "u:p" }, { authorization: basic("u:p") }],
  [{ type: "basic", token: "dTpw" }, { authorization: "Basic dTpw" }],
  [{ type: "apiKey", token: "k" }, { key: "k" }],
  [{ type: "apiKey", token: "k", headerName: "X-Custom" }, { custom: "k" }],
  [{ type: "apiKey", token: "k", headerName: "Authorization", prefix: "ApiKey" }, { authorization: "ApiKey k" }],
  [{ type: "apiKey", token: "k&=", in: "query", name: "api key" }, { url: "/things?api%20key=k%26%3D" }],
  [{ type: "apiKey", token: "k;x", in: "cookie", name: "sid" }, { cookie: "sid=k%3Bx" }],
  [() => ({ type: "bearer", token: "t" }), { authorization: "Bearer t" }],
  [async () => undefined, {}],
])("the credential %o is sent", async (auth, expected) => {
  expect(await seen(auth)).toEqual({ url: "/things", ...expected });
});

const schemes = new Map<string, SecuritySchemePlan>([
  ["key", { type: "apiKey", name: "api_key", in: "query" }],
  ["session", { type: "apiKey", name: "sid", in: "cookie" }],
  ["token", { type: "http", scheme: "bearer" }],
]);
const needs = (...alternatives: string[][]) => ({
  securitySchemes: schemes,
  security: alternatives.map((names) => names.map((scheme) => ({ scheme, scopes: [] }))),
});
const all: HTTPServiceConfig["auth"] = {
  schemes: {
    key: { type: "apiKey", token: "k" },
    session: { type: "apiKey", token: "s" },
    token: { type: "bearer", token: "t" },
  },
};
const { key, token } = all.schemes;

test.each([
  [
    "a key without a place goes where the document says",
    { type: "apiKey", token: "k" },
    needs(["session"]),
    { cookie: "sid=k" },
  ],
  [
    "every scheme of the first alternative is sent",
    all,
    needs(["key", "session"], ["token"]),
    { url: "/things?api_key=k", cookie: "sid=s" },
  ],
  [
    "an alternative that is not configured is passed over",
    { schemes: { token } },
    needs(["key"], ["token"]),
    { authorization: "Bearer t" },
  ],
  [
    "a credential is sent where none is needed but one is allowed",
    { schemes: { token } },
    needs([], ["token"]),
    { authorization: "Bearer t" },
  ],
  ["an operation without security gets no scheme", all, needs(), {}],
  ["an operation whose scheme is not configured gets none", { schemes: { key } }, needs(["token"]), {}],
] as Array<[string, HTTPServiceConfig["auth"], Partial<EndpointPlan>, Record<string, string>]>)(
  "%s",
  async (_, auth, plan, expected) => {
    expect(await seen(auth, plan)).toEqual({ url: "/things", ...expected });
  },
);

test("a caller cannot write in the place of a credential, in query or cookie", async () => {
  const parameters = [
    parameterPlan({ name: "api_key", location: "query" }),
    parameterPlan({ name: "filter", location: "query" }),
    parameterPlan({ name: "sid", location: "cookie" }),
    parameterPlan({ name: "tab", location: "cookie" }),
  ];
  const input = { api_key: "evil", filter: { api_key: "evil", size: 1 }, sid: "evil", tab: { sid: "evil", n: 1 } };

  expect(await seen(all, { ...needs(["key", "session"]), parameters }, input)).toEqual({
    url: "/things?size=1&api_key=k",
    cookie: "n=1; sid=s",
  });
});

test.each<[string, HTTPAuth]>([
  ["an empty token", { type: "bearer", token: "" }],
  ["no token", { type: "apiKey" }],
  ["a token with a line end", { type: "bearer", token: "canary\r\nX: 1" }],
  ["a connection header", { type: "apiKey", token: "canary", headerName: "Host" }],
])("%s is an error of the configuration, and nothing is sent", async (_, auth) => {
  await using server = await startServer();

  const failure = await failureOf(callEndpoint({ baseUrl: server.origin }, {}, { auth }));

  expect(failure).toMatchObject({ code: "EXECUTION_ERROR", mayHaveRun: false });
  expect(JSON.stringify(failure)).not.toContain("canary");
  expect(server.received).toEqual([]);
});

test("a rotating token is read for every call", async () => {
  await using server = await startServer();
  let count = 0;
  const { handler } = createEndpointHandler(endpointPlan({ baseUrl: server.origin }), {
    namespace: "shop",
    auth: { type: "bearer", token: () => `t${++count}` },
  });

  await handler({}, callContext());
  await handler({}, callContext());

  expect(server.received.map(({ headers }) => headers.authorization)).toEqual(["Bearer t1", "Bearer t2"]);
});

/** A token server and an API that takes the newest token only. */
async function startOAuth(options: { expiresIn?: number; status?: number } = {}) {
  let issued = 0;
  let accepted = (token: string) => token === `Bearer token${issued}`;
  const server = await startServer((request, _, response) => {
    response.setHeader("content-type", "application/json");
    if (request.url === "/token") {
      if (options.status !== undefined) return response.writeHead(options.status).end('{"error":"canary"}');
      issued++;
      return response.end(
        JSON.stringify({ access_token: `token${issued}`, token_type: "bearer", expires_in: options.expiresIn }),
      );
    }
    const allowed = accepted(request.headers.authorization ?? "");
    response.writeHead(allowed ? 200 : 401).end("{}");
  });
  const auth: HTTPAuth = {
    type: "oauth2",
    tokenUrl: `${server.origin}/token`,
    clientId: "c:1",
    clientSecret: async () => "s p",
    scopes: ["a", "b"],
  };
  const config: HTTPServiceConfig = { namespace: "shop", auth };
  const call = () =>
    createEndpointHandler(endpointPlan({ baseUrl: server.origin, method: "POST" }), config).handler({}, callContext());
  const tokenRequests = () => server.received.filter(({ url }) => url === "/token");
  return { server, call, tokenRequests, revoke: () => (accepted = (token) => token === "Bearer token2") };
}

test("a token is requested once, however many calls wait, and used until they end", async () => {
  const { server, call, tokenRequests } = await startOAuth({ expiresIn: 3600 });
  await using _ = server;

  await Promise.all([call(), call(), call()]);
  await call();

  expect(tokenRequests().map(({ headers, body }) => [headers.authorization, body.toString()])).toEqual([
    [basic("c%3A1:s+p"), "grant_type=client_credentials&scope=a+b"],
  ]);
  expect(server.received.at(-1)!.headers.authorization).toBe("Bearer token1");
});

test("a token is renewed before it ends and after it was refused", async () => {
  const short = await startOAuth({ expiresIn: 0 });
  await using _short = short.server;
  const refused = await startOAuth();
  await using _refused = refused.server;

  await short.call();
  await short.call();
  await refused.call();
  refused.revoke();
  await refused.call();

  expect([short.tokenRequests().length, refused.tokenRequests().length]).toEqual([2, 2]);
});

test.each([
  [400, "UPSTREAM_DENIED", false],
  [503, "UNAVAILABLE", true],
  [302, "UNAVAILABLE", false],
])("a token server that responds with %d fails with %s, and the call is not made", async (status, code, retryable) => {
  const { server, call } = await startOAuth({ status });
  await using _ = server;

  const failure = await failureOf(Promise.resolve(call()));

  expect(failure).toEqual({
    code,
    message: `The access token could not be requested: the token server responded with ${status}.`,
    details: { status },
    retryable,
    mayHaveRun: false,
  });
  expect(server.received.map(({ url }) => url)).toEqual(["/token"]);
});

test("the token URL of the document is never used", async () => {
  await using server = await startServer();
  const security = new Map([["o", { type: "oauth2", tokenUrl: `${server.origin}/token` }]]);
  const plan = { baseUrl: server.origin, securitySchemes: security, security: [[{ scheme: "o", scopes: [] }]] };

  const failure = await failureOf(
    callEndpoint(plan, {}, { auth: { schemes: { o: { type: "oauth2", clientId: "c", clientSecret: "s" } } } }),
  );

  expect(failure).toMatchObject({
    code: "EXECUTION_ERROR",
    message: "The access token cannot be requested: `auth.tokenUrl` is not a URL.",
    retryable: false,
    mayHaveRun: false,
  });
  expect(server.received).toEqual([]);
});
