import { expect, test } from "vitest";
import { CallError } from "../../../operation/index.ts";
import type { EndpointPlan, ParameterPlan } from "../endpoint.ts";
import { callEndpoint, failureOf, parameterPlan, startServer } from "./testing.ts";

const path = (name: string, more: Partial<ParameterPlan> = {}) => parameterPlan({ name, location: "path", ...more });
const query = (name: string, more: Partial<ParameterPlan> = {}) => parameterPlan({ name, location: "query", ...more });
const header = (name: string, more: Partial<ParameterPlan> = {}) =>
  parameterPlan({ name, location: "header", ...more });
const cookie = (name: string, more: Partial<ParameterPlan> = {}) =>
  parameterPlan({ name, location: "cookie", ...more });

const refusal = { code: "VALIDATION_ERROR", retryable: false, mayHaveRun: false };

/** Sends one call to a server and returns the raw request target that it received. */
async function targetOf(plan: Partial<EndpointPlan>, input: unknown, base = ""): Promise<string | undefined> {
  await using server = await startServer();
  await callEndpoint({ ...plan, baseUrl: `${server.origin}${base}` }, input);
  return server.received[0]?.url;
}

test.each([
  "../../admin",
  "..\\..\\admin",
  "a/b",
  "/abs",
  "..%2fadmin",
  "%2e%2e",
  "x?admin=1#",
  "a&role=admin",
  ";",
  "\t\r\n\0",
  "ü€😀",
  "a b+c",
])("the path value %j arrives whole, in one segment", async (id) => {
  const target = await targetOf({ path: "/users/{id}/pets", parameters: [path("id")] }, { id }, "/v1");

  const segments = target!.split("/");
  expect(segments).toEqual(["", "v1", "users", encodeURIComponent(id), "pets"]);
  expect(decodeURIComponent(segments[3]!)).toBe(id);
});

test.each([".", "..", ""])("the path value %j is refused before anything is sent", async (id) => {
  await using server = await startServer();

  const failure = await failureOf(
    callEndpoint({ baseUrl: server.origin, path: "/users/{id}", parameters: [path("id")] }, { id }),
  );

  expect(failure).toMatchObject({ ...refusal, details: { errors: [{ path: "/id" }] } });
  expect(server.received).toEqual([]);
});

test.each([".", ""])("the path value %j in label style is refused, since its own dot would climb", async (id) => {
  const call = callEndpoint({ path: "/a/{id}", parameters: [path("id", { style: "label" })] }, { id });

  expect(await failureOf(call)).toMatchObject(refusal);
});

test("dots around a value in a compound segment are refused when the whole segment would be a parent path", async () => {
  const call = callEndpoint({ path: "/a/{x}{y}/b", parameters: [path("x"), path("y")] }, { x: ".", y: "." });

  expect(await failureOf(call)).toMatchObject(refusal);
});

test("reserved characters that a path parameter allows add no segment", async () => {
  const plan = { path: "/files/{name}", parameters: [path("name", { allowReserved: true })] };

  expect(await targetOf(plan, { name: "../%2e%2e/x?y#z" })).toBe("/files/..%2F%252e%252e%2Fx%3Fy%23z");
});

test.each(["//evil.test/x", "https://evil.test/x", "\\\\evil.test/x"])("the path key %j is refused", async (key) => {
  await using server = await startServer();

  expect(await failureOf(callEndpoint({ baseUrl: server.origin, path: key }))).toMatchObject(refusal);
  expect(server.received).toEqual([]);
});

test.each([
  ["", "/users", "/users"],
  ["/v1", "/users", "/v1/users"],
  ["/v1/", "/users", "/v1/users"],
  ["/v1", "users", "/v1/users"],
  ["/v1", "/", "/v1/"],
  ["", "/", "/"],
  ["/v1", "", "/v1"],
  ["", "/users/", "/users/"],
  ["", "/a b/ü/[x]", "/a%20b/%C3%BC/%5Bx%5D"],
  ["", "/search?kind=a b", "/search?kind=a%20b"],
  ["", "/rpc#action=Do", "/rpc"],
])("base %j and path %j make %j", async (base, template, expected) => {
  expect(await targetOf({ path: template }, {}, base)).toBe(expected);
});

test("compound templates and parameters in the template's own query are filled in", async () => {
  const plan = {
    path: "/{a}.{b}/c{d}?v={v}",
    parameters: [path("a"), path("b"), path("d", { style: "matrix" }), path("v"), query("q")],
  };

  expect(await targetOf(plan, { a: "x/y", b: 1, d: "z", v: "&", q: true })).toBe("/x%2Fy.1/c;d=z?v=%26&q=true");
});

test("control characters and separators in a query value arrive as they were", async () => {
  const value = "a&role=admin#;=+ \t\r\n\0'\"<>";

  const target = await targetOf({ parameters: [query("q")] }, { q: value });

  expect([...new URL(target!, "http://x").searchParams]).toEqual([["q", value]]);
});

test("only declared arguments are sent, and inherited properties are not arguments", async () => {
  const plan = { parameters: [query("a"), query("toString"), query("__proto__")] };

  expect(await targetOf(plan, { a: 1, b: 2, role: "admin" })).toBe("/things?a=1");
});

test("an argument is found under its qualified name where a parameter's name is declared twice", async () => {
  const plan = { path: "/t/{id}", parameters: [path("id"), query("id", { argument: "query_id" })] };

  expect(await targetOf(plan, { id: 1, query_id: 2 })).toBe("/t/1?id=2");
});

test("strings that are not well-formed and values without a string form are refused without being quoted", async () => {
  const cycle: Record<string, unknown> = { secret: "canary" };
  cycle["self"] = cycle;

  const half = await failureOf(callEndpoint({ parameters: [query("q")] }, { q: "canary\ud800" }));
  const round = await failureOf(callEndpoint({ parameters: [query("q")] }, { q: [cycle] }));

  expect([half, round]).toEqual([expect.objectContaining(refusal), expect.objectContaining(refusal)]);
  expect(JSON.stringify([half, round])).not.toContain("canary");
});

test("a missing required argument is refused by name", async () => {
  const failure = await failureOf(callEndpoint({ parameters: [query("q", { required: true })] }, { q: null }));

  expect(failure).toEqual({
    ...refusal,
    message: 'Cannot call "shop.op" because of its argument "q": it is missing.',
    details: { errors: [{ path: "/q", message: "it is missing" }] },
  });
});

test.each(["a\r\nX-Admin: 1", "a\nb", "a\0b", "snow ☃"])(
  "the header value %j is refused and not quoted",
  async (value) => {
    await using server = await startServer();

    const failure = await failureOf(
      callEndpoint({ baseUrl: server.origin, parameters: [header("X-Note")] }, { "X-Note": value }),
    );

    expect(failure).toMatchObject(refusal);
    expect(JSON.stringify(failure)).not.toContain(JSON.stringify(value).slice(1, -1));
    expect(server.received).toEqual([]);
  },
);

const hop = [
  "Host",
  "content-LENGTH",
  "Transfer-Encoding",
  "Connection",
  "Cookie",
  "Proxy-Authorization",
  "Upgrade",
  "TE",
];

test("connection headers, cookies and credentials cannot be set by parameters or metadata", async () => {
  await using server = await startServer();
  const names = [...hop, "Authorization", "Content-Type"];
  const input = Object.fromEntries(names.map((name) => [name, "evil"]));

  await callEndpoint(
    { baseUrl: server.origin, parameters: names.map((name) => header(name)) },
    input,
    { auth: { type: "bearer", token: "configured" } },
    { metadata: { http: { headers: { ...input, "X-Trace": "t1" } } } },
  );

  const { headers } = server.received[0]!;
  expect(Object.values(headers)).not.toContain("evil");
  expect(headers).toMatchObject({ authorization: "Bearer configured", "x-trace": "t1" });
});

test("configured headers override parameters and metadata, in any letter case", async () => {
  await using server = await startServer();

  await callEndpoint(
    { baseUrl: server.origin, parameters: [header("X-Version", { required: true }), header("X-Free")] },
    { "X-Version": "caller", "X-Free": "caller" },
    { headers: { "x-version": "operator", "X-Key": "operator" } },
    { metadata: { http: { headers: { "x-KEY": "caller", "x-free": "metadata" } } } },
  );

  expect(server.received[0]!.headers).toMatchObject({
    "x-version": "operator",
    "x-key": "operator",
    "x-free": "metadata",
  });
});

test("headers can be a function that is called for every request", async () => {
  await using server = await startServer();
  let count = 0;
  const config = { headers: async () => ({ "X-Count": String(++count) }) };

  await callEndpoint({ baseUrl: server.origin }, {}, config);
  await callEndpoint({ baseUrl: server.origin }, {}, config);

  expect(server.received.map(({ headers }) => headers["x-count"])).toEqual(["1", "2"]);
});

test("a failure of the headers function fails the call, also while a failing body is written", async () => {
  const body = {
    argument: "body",
    required: true,
    media: [{ mediaType: "multipart/form-data", encoding: {} }],
  };
  const headers = () => {
    throw new CallError("UNAVAILABLE", "no headers");
  };

  const call = callEndpoint({ method: "POST", body }, { body: { file: { base64: "*" } } }, { headers });

  expect(await failureOf(call)).toMatchObject({ mayHaveRun: expect.any(Boolean) });
});

test("Accept names the declared types; a call without a body has no Content-Type", async () => {
  await using server = await startServer();

  await callEndpoint({ baseUrl: server.origin, accept: ["application/json", "text/csv"] });
  await callEndpoint({ baseUrl: server.origin, accept: [], method: "POST" });

  expect(server.received.map(({ headers }) => [headers.accept, headers["content-type"]])).toEqual([
    ["application/json, text/csv", undefined],
    ["*/*", undefined],
  ]);
});

test("cookies are sent together, and one that would add another is refused", async () => {
  await using server = await startServer();
  const plan = { baseUrl: server.origin, parameters: [cookie("a"), cookie("b", { style: "cookie", explode: true })] };

  await callEndpoint(plan, { a: "1;x=2", b: "y z" }, { headers: { cookie: "op=1" } });
  const failures = [
    await failureOf(callEndpoint(plan, { b: "y; admin=1;role=2" })),
    await failureOf(callEndpoint(plan, { b: "y; admin=1" })),
    await failureOf(callEndpoint(plan, { b: { x: "1", "y; admin": "1" } })),
    await failureOf(callEndpoint(plan, { b: { "admin=1": "1" } })),
  ];

  expect(server.received.map(({ headers }) => headers.cookie)).toEqual(["op=1; a=1%3Bx%3D2; b=y z"]);
  expect(failures).toMatchObject([refusal, refusal, refusal, refusal]);
});

test("a base URL with a password is refused and not quoted", async () => {
  const failure = await failureOf(callEndpoint({ baseUrl: "https://user:canary@host.test/v1" }));

  expect(failure).toMatchObject({ code: "EXECUTION_ERROR", mayHaveRun: false });
  expect(JSON.stringify(failure)).not.toContain("canary");
});

test("methods that fetch cannot send are refused", async () => {
  expect(await failureOf(callEndpoint({ method: "TRACE" }))).toMatchObject(refusal);
});
