import { afterEach, describe, expect, test, vi } from "vitest";
import { sleep } from "../internal/testing.ts";
import { type AuthenticatedIdentity, CallError, credentialEnded } from "../operation/inside.ts";
import { createRegistry } from "../registry/index.ts";
import { serveWebSocket } from "../transport/websocket/index.ts";
import type { Credentials, IdentifyCaller } from "./authenticator.ts";
import { type Admission, Gate, type GateOptions } from "./gate.ts";
import { serveHTTP } from "./http/index.ts";
import { serveMCP } from "./mcp/index.ts";
import type { CORSOptions, FetchInfo } from "./server.ts";

const ada = { id: "ada", scopes: ["task"] };

/** Accepts the token `good`, and refuses all other tokens. */
const tokens: IdentifyCaller = ({ token }) => {
  if (token === undefined) return undefined;
  if (token !== "good") throw new Error(`Unknown token ${token}`);
  return ada;
};

const request = (headers: Record<string, string> = {}, { method = "GET", url = "http://localhost:3000/" } = {}) => ({
  method,
  url,
  headers: new Headers(headers),
});

function check(
  options: GateOptions,
  headers: Record<string, string>,
  given: { method?: string; url?: string; info?: FetchInfo; exposedHeaders?: readonly string[] } = {},
): Promise<Admission> {
  return new Gate({ allowAnonymous: true, ...options }, given.exposedHeaders).check({
    ...request(headers, given),
    ...given.info,
  });
}

/** Returns the parts of an admission that tests compare. */
async function brief(checking: Promise<Admission>): Promise<unknown> {
  const admission = await checking;
  if (admission.kind === "caller") return admission.identity?.id ?? "anonymous";
  return admission.kind === "refusal" ? admission.status : admission.kind;
}

afterEach(() => {
  vi.useRealTimers();
});

const missing = new TypeError(
  'The option authenticate is missing or invalid. Pass an authenticator of @alkdev/operations/auth, a function, or "none".',
);

test("an option authenticate that is missing or invalid is refused", () => {
  for (const authenticate of [undefined, null, "None", {}, true]) {
    expect(() => new Gate({ authenticate } as unknown as GateOptions)).toThrow(missing);
  }
});

test.each([
  ["serveHTTP", serveHTTP],
  ["serveMCP", serveMCP],
  ["serveWebSocket", serveWebSocket],
])("%s without options reports that authenticate is missing", (_name, serve) => {
  expect(() => serve(createRegistry({ operations: [] }), undefined as never)).toThrow(missing);
});

describe("hosts without authentication", () => {
  const local = [
    "localhost",
    "localhost:3000",
    "LOCALHOST",
    "app.localhost:1",
    "127.0.0.1",
    "127.8.0.1:80",
    "[::1]:80",
  ];
  test.each(local)("a request to %s is accepted", async (host) => {
    expect(await brief(check({ authenticate: "none" }, { host }))).toBe("anonymous");
  });

  const foreign = ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "", "localhost, evil.example", "a b"];
  test.each([...foreign, "evil@localhost", "localhost/x", "0.0.0.0", "10.0.0.1"])("%j is refused", async (host) => {
    expect(await brief(check({ authenticate: "none" }, { host }))).toBe(403);
  });

  test("the URL counts when there is no Host header", async () => {
    const refused = check({ authenticate: "none" }, {}, { url: "http://evil.example/" });
    expect(await brief(refused)).toBe(403);
    expect(await brief(check({ authenticate: "none" }, {}))).toBe("anonymous");
    expect(await brief(check({ authenticate: "none" }, {}, { url: "/relative" }))).toBe(403);
  });

  test("with allowPublic of the listener, requests to any host and from any machine are accepted", async () => {
    const headers = { host: "api.example.com" };
    const info = { allowPublic: true, remoteAddress: "192.0.2.7" };
    expect(await brief(check({ authenticate: "none" }, headers, { info }))).toBe("anonymous");
  });

  test.each([
    ["127.0.0.1", "anonymous"],
    ["::1", "anonymous"],
    ["::ffff:127.0.0.1", "anonymous"],
    ["192.0.2.7", 403],
    ["::ffff:192.0.2.7", 403],
  ])("a request to localhost from %s is %s", async (remoteAddress, outcome) => {
    expect(await brief(check({ authenticate: "none" }, { host: "localhost" }, { info: { remoteAddress } }))).toBe(
      outcome,
    );
  });

  test("X-Forwarded-Host never makes a host local, and with trustProxy it must be local too", async () => {
    const headers = { host: "evil.example", "x-forwarded-host": "localhost" };
    expect(await brief(check({ authenticate: "none", trustProxy: true }, headers))).toBe(403);
    const forwarded = { host: "localhost", "x-forwarded-host": "evil.example" };
    expect(await brief(check({ authenticate: "none", trustProxy: true }, forwarded))).toBe(403);
    expect(await brief(check({ authenticate: "none" }, forwarded))).toBe("anonymous");
  });

  test("with authentication, requests to any host are accepted", async () => {
    expect(await brief(check({ authenticate: tokens }, { host: "api.example.com" }))).toBe("anonymous");
  });
});

describe("web pages", () => {
  const app = "https://app.example.com";
  const host = "api.example.com";
  const cases: Array<[Record<string, string>, "anonymous" | 403]> = [
    [{}, "anonymous"],
    [{ "sec-fetch-site": "none" }, "anonymous"],
    [{ "sec-fetch-site": "same-origin" }, "anonymous"],
    [{ "sec-fetch-site": "same-origin", origin: "http://localhost:5173" }, "anonymous"], // a proxy changed the host
    [{ origin: "https://api.example.com" }, "anonymous"],
    [{ origin: "http://api.example.com" }, "anonymous"], // TLS may end at a proxy
    [{ "sec-fetch-site": "cross-site" }, 403],
    [{ "sec-fetch-site": "same-site" }, 403],
    [{ "sec-fetch-site": "unheard-of" }, 403],
    [{ "sec-fetch-site": "cross-site", origin: "https://api.example.com" }, 403],
    [{ origin: app }, 403],
    [{ origin: app, "sec-fetch-site": "none" }, 403],
    [{ origin: "null" }, 403],
    [{ origin: "" }, 403],
    [{ origin: "https://api.example.com:8443" }, 403],
    [{ origin: "https://api.example.com.evil.example" }, 403],
    [{ origin: "https://api.example.com, https://evil.example" }, 403],
    [{ origin: "chrome-extension://abcdef" }, 403],
  ];
  test.each(cases)("%j is %s", async (headers, expected) => {
    expect(await brief(check({ authenticate: tokens }, { host, ...headers }))).toBe(expected);
  });

  test("a valid token does not admit a page of another origin", async () => {
    expect(await brief(check({ authenticate: tokens }, { host, origin: app, authorization: "Bearer good" }))).toBe(403);
  });

  test("cors admits the listed origins only, and responses carry its headers", async () => {
    const options: GateOptions = { authenticate: tokens, cors: { origins: [app] } };
    const exposedHeaders = ["request-id", "retry-after"];
    const headers = { "access-control-allow-origin": app, "access-control-expose-headers": "request-id, retry-after" };
    const site = { host, "sec-fetch-site": "cross-site" };
    expect(await check(options, { ...site, origin: app }, { exposedHeaders })).toMatchObject({
      kind: "caller",
      headers,
    });
    const refused = await check(options, { ...site, origin: app, authorization: "Bearer bad" }, { exposedHeaders });
    expect(refused).toMatchObject({ status: 401, headers });
    expect(await brief(check(options, { ...site, origin: "https://evil.example" }))).toBe(403);
    expect(await brief(check(options, site))).toBe(403);
    expect(new Gate(options).vary).toBe("authorization, origin");
    expect(new Gate({ authenticate: "none" }).vary).toBe("");
  });

  test("a preflight of an allowed origin needs no credentials, and any other preflight is refused", async () => {
    const options: GateOptions = { authenticate: tokens, cors: { origins: [app] } };
    const preflight = {
      host,
      "sec-fetch-site": "cross-site",
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization,content-type",
    };
    expect(await check(options, { ...preflight, origin: app }, { method: "OPTIONS" })).toEqual({
      kind: "preflight",
      headers: {
        "access-control-allow-origin": app,
        "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
        "access-control-allow-headers": "authorization,content-type",
        "access-control-max-age": "600",
        vary: "origin, access-control-request-headers",
      },
    });
    expect(await brief(check(options, { ...preflight, origin: "https://evil.example" }, { method: "OPTIONS" }))).toBe(
      403,
    );
    expect(await brief(check({ authenticate: tokens }, { ...preflight, origin: app }, { method: "OPTIONS" }))).toBe(
      403,
    );
    expect(await brief(check(options, { host, origin: app }, { method: "OPTIONS" }))).toBe("anonymous");
  });

  test.each(["*", "null", "https://app.example.com/", "app.example.com", "HTTPS://app.example.com", "ftp://a.test"])(
    "cors.origins with %j is refused",
    (origin) => {
      expect(() => new Gate({ authenticate: tokens, cors: { origins: [origin] } })).toThrow(/which is not an origin/);
    },
  );

  test.each([true, {}, { origins: "https://app.example.com" }])("cors without a list is refused: %j", (cors) => {
    expect(() => new Gate({ authenticate: tokens, cors: cors as unknown as CORSOptions })).toThrow(
      /^cors needs a list of origins/,
    );
  });
});

describe("credentials", () => {
  const cases: Array<[string | undefined, string | number]> = [
    [undefined, "anonymous"],
    ["Bearer good", "ada"],
    ["bearer   good", "ada"],
    ["Bearer bad", 401],
    ["Bearer", 401],
    ["Bearer ", 401],
    ["Bearer good bad", 401],
    ["Bearer good, Bearer good", 401],
    ["Basic YWRhOmFkYQ==, Bearer good", 401],
    ["Basic YWRhOmFkYQ==", 401],
    ["good", 401],
    ["", 401],
  ];
  test.each(cases)("Authorization: %s is %s", async (authorization, expected) => {
    expect(await brief(check({ authenticate: tokens }, authorization === undefined ? {} : { authorization }))).toBe(
      expected,
    );
  });

  test("an empty token of a WebSocket is refused before the authenticator, which may have an empty one by mistake", async () => {
    const gate = new Gate({ authenticate: ({ token }) => (token === "" ? ada : undefined) });
    expect(await brief(gate.check({ ...request(), token: "" }))).toBe(401);
  });

  test("a refusal contains code, message and challenge, and neither the token nor the internal reason", async () => {
    expect({ ...(await check({ authenticate: tokens }, { authorization: "Bearer secret-token" })) }).toEqual({
      kind: "refusal",
      status: 401,
      error: new CallError("ACCESS_DENIED", "The credentials were refused.", undefined, { mayHaveRun: false }),
      headers: { "www-authenticate": 'Bearer error="invalid_token"' },
    });
  });

  test("credentials that the authenticator does not know are refused with a message for people", async () => {
    const message = "The server does not accept these credentials. Check the token or key.";
    expect(await check({ authenticate: () => undefined }, { authorization: "Bearer unknown" })).toMatchObject({
      status: 401,
      error: new CallError("ACCESS_DENIED", message, undefined, { mayHaveRun: false }),
    });
  });

  test("the message of a CallError reaches the caller", async () => {
    const authenticate = () => {
      throw new CallError("ACCESS_DENIED", "The token has expired; create a new one.", { internal: true });
    };
    expect(await check({ authenticate }, {})).toMatchObject({
      status: 401,
      error: new CallError("ACCESS_DENIED", "The token has expired; create a new one.", undefined, {
        mayHaveRun: false,
      }),
    });
  });

  test("credentials that cannot be checked at the moment are not invalid", async () => {
    const authenticate = async () => {
      throw new CallError("UNAVAILABLE", "The keys could not be fetched.", undefined, { retryable: true });
    };
    expect({ ...(await check({ authenticate }, {})) }).toEqual({
      kind: "refusal",
      status: 503,
      error: new CallError("UNAVAILABLE", "The keys could not be fetched.", undefined, {
        retryable: true,
        mayHaveRun: false,
      }),
      headers: {},
    });
  });

  test("a header of the authenticator counts as a credential", async () => {
    const authenticate = {
      authenticate: () => undefined,
      describe: () => ({
        securitySchemes: { key: { type: "apiKey" as const, in: "header" as const, name: "X-API-Key" } },
        headers: ["x-api-key"],
      }),
    };
    expect(await brief(check({ authenticate }, {}))).toBe("anonymous");
    expect(await check({ authenticate }, { "x-api-key": "1" })).toMatchObject({
      status: 401,
      headers: { "www-authenticate": 'ApiKey header="X-API-Key"' },
    });
  });

  test("a server without authentication ignores credentials", async () => {
    expect(await brief(check({ authenticate: "none" }, { authorization: "Bearer good" }))).toBe("anonymous");
  });

  test("an authenticator may be asynchronous", async () => {
    const authenticate: IdentifyCaller = async (given) => tokens(given);
    expect(await brief(check({ authenticate }, { authorization: "Bearer good" }))).toBe("ada");
    expect(await brief(check({ authenticate }, { authorization: "Bearer x" }))).toBe(401);
  });

  test("without credentials, every request is refused, unless allowAnonymous is set", async () => {
    const refusal = await check({ authenticate: tokens, allowAnonymous: false }, {});
    expect(refusal).toMatchObject({ kind: "refusal", status: 401, error: { code: "ACCESS_DENIED" } });
    expect(await brief(new Gate({ authenticate: tokens }).check(request()))).toBe(401);
    expect(await brief(check({ authenticate: tokens, allowAnonymous: true }, {}))).toBe("anonymous");
    expect(await brief(check({ authenticate: tokens, allowAnonymous: true }, { authorization: "Bearer x" }))).toBe(401);
    expect([tokens, "none" as const].map((authenticate) => new Gate({ authenticate }).allowsAnonymous)).toEqual([
      false,
      true,
    ]);
  });

  test("the identity is a frozen copy with its expiry", async () => {
    const expiresAt = Date.now() + 60_000;
    const identity = { id: "ada", scopes: ["task"], expiresAt };
    const checking = check({ authenticate: () => identity }, {});
    identity.scopes.push("admin");
    expect(await checking).toMatchObject({ kind: "caller", identity: ada, expiresAt });
  });

  const unexpected: Record<string, () => unknown> = {
    null: () => null,
    "an empty object": () => ({}),
    "scopes as a string": () => ({ id: "ada", scopes: "admin" }),
    true: () => true,
    "an expired identity": () => ({ ...ada, expiresAt: Date.now() - 1 }),
    "a malformed expiry": () => ({ ...ada, expiresAt: "tomorrow" }),
    "a rejection with undefined": () => Promise.reject(undefined),
    "a thenable that throws": () => ({
      get then() {
        throw new Error("no");
      },
    }),
    "a thrown null": () => {
      throw null;
    },
    "a thrown symbol": () => {
      throw Symbol("no");
    },
  };
  test.each(Object.entries(unexpected))("%s is refused with 401", async (_name, produce) => {
    const authenticate = produce as () => AuthenticatedIdentity;
    expect(await brief(check({ authenticate }, {}))).toBe(401);
  });

  test("an authenticator that does not finish is refused with 503 after ten seconds", async () => {
    vi.useFakeTimers();
    const pending = check({ authenticate: () => new Promise(() => {}) }, {});
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await brief(pending)).toBe(503);
  });

  test("the address is that of the connection, or with trustProxy the one that the proxy added", () => {
    const seen: Array<string | undefined> = [];
    const authenticate = ({ remoteAddress }: Credentials) => {
      seen.push(remoteAddress);
      return undefined;
    };
    const headers = { "x-forwarded-for": "1.1.1.1, 2.2.2.2" };
    const info = { remoteAddress: "10.0.0.1" };
    check({ authenticate }, headers, { info });
    check({ authenticate, trustProxy: true }, headers, { info });
    check({ authenticate, trustProxy: true }, {}, { info });
    expect(seen).toEqual(["10.0.0.1", "2.2.2.2", "10.0.0.1"]);
  });

  test("the public origin is that of the Host header, or with trustProxy that of the proxy", () => {
    const forwarded = request({ host: "a.test:80", "x-forwarded-proto": "https", "x-forwarded-host": "b.test" });
    expect(new Gate({ authenticate: tokens }).publicOrigin(forwarded)).toBe("http://a.test");
    expect(new Gate({ authenticate: tokens, trustProxy: true }).publicOrigin(forwarded)).toBe("https://b.test");
  });

  test("a server adds parameters to the challenge", () => {
    const gate = new Gate({ authenticate: tokens });
    expect(gate.challenge()).toBe("Bearer");
    expect(gate.challenge(['error="invalid_token"', 'realm="a"'])).toBe('Bearer error="invalid_token", realm="a"');
  });
});

describe("open streams", () => {
  /** An authenticator whose identities by token can be changed, and that can be unavailable. */
  function changeable(identities: Record<string, AuthenticatedIdentity>, isAsync = false) {
    const listeners = new Set<() => void>();
    const state = { isDown: false };
    const identify = ({ token = "" }: Credentials) => {
      if (state.isDown) throw new CallError("UNAVAILABLE", "The identity provider does not respond.");
      if (identities[token] === undefined) throw new Error("unknown");
      return identities[token];
    };
    return {
      identities,
      state,
      listeners,
      change: () => {
        for (const listener of listeners) listener();
      },
      authenticate: isAsync ? async (given: Credentials) => identify(given) : identify,
      onChange: (listener: () => void) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    };
  }

  async function open(gate: Gate, token: string, ended: string[]): Promise<() => void> {
    const caller = await gate.check(request({ authorization: `Bearer ${token}` }));
    if (caller.kind !== "caller") throw new Error("The caller was refused.");
    return gate.watch(caller, (reason) => ended.push(`${token} ${reason}`));
  }

  test.each([false, true])(
    "removed and changed credentials end their streams only (asynchronous: %s)",
    async (isAsync) => {
      const authenticate = changeable({ one: ada, two: ada, three: { id: "bob", scopes: ["task"] } }, isAsync);
      const gate = new Gate({ authenticate });
      const ended: string[] = [];
      for (const token of ["one", "two", "three"]) await open(gate, token, ended);
      delete authenticate.identities["one"];
      authenticate.identities["three"] = { id: "bob", scopes: [] };
      authenticate.change();
      await vi.waitFor(() => expect(ended).toEqual(["one revoked", "three revoked"]));
      authenticate.change();
      gate.close();
      expect([ended.length, authenticate.listeners.size]).toEqual([2, 0]);
    },
  );

  test.each([false, true])(
    "credentials with more rights keep their streams, which keep their own rights (asynchronous: %s)",
    async (isAsync) => {
      const authenticate = changeable({ one: ada }, isAsync);
      const gate = new Gate({ authenticate });
      const caller = await gate.check(request({ authorization: "Bearer one" }));
      if (caller.kind !== "caller") throw new Error("The caller was refused.");
      const end = vi.fn();
      gate.watch(caller, end);
      const change = async (identity: AuthenticatedIdentity) => {
        authenticate.identities["one"] = identity;
        authenticate.change();
        await sleep(0);
      };
      await change({ ...ada, scopes: [...ada.scopes, "more"], resources: { "doc:1": ["read"] } });
      await change({ ...ada, resources: { "doc:1": ["read", "write"] } });
      expect([caller.identity, end.mock.calls.length]).toEqual([ada, 0]);
      await change({ ...ada, scopes: [] });
      expect(end.mock.calls).toEqual([["revoked"]]);
      gate.close();
    },
  );

  test("credentials that are removed before the stream is open end it", async () => {
    const authenticate = changeable({ one: ada });
    const gate = new Gate({ authenticate });
    const caller = await gate.check(request({ authorization: "Bearer one" }));
    delete authenticate.identities["one"];
    authenticate.change();
    const reason = await new Promise((resolve) => {
      if (caller.kind === "caller") gate.watch(caller, resolve);
    });
    expect(reason).toBe("revoked");
    expect(credentialEnded("task.changes", "revoked", true).message).toBe(
      'Access to "task.changes" denied: the credential of the caller is no longer accepted. Authenticate again.',
    );
  });

  test("expired credentials end their stream, unless it has ended before", async () => {
    vi.useFakeTimers();
    const expiresAt = Date.now() + 60_000;
    const gate = new Gate({ authenticate: changeable({ one: { ...ada, expiresAt }, two: { ...ada, expiresAt } }) });
    const ended: string[] = [];
    await open(gate, "one", ended);
    const stop = await open(gate, "two", ended);
    stop();
    await vi.advanceTimersByTimeAsync(60_000);
    expect([ended, vi.getTimerCount()]).toEqual([["one expired"], 0]);
  });

  test.each([false, true])(
    "an earlier expiry applies to open streams, a later one does not (asynchronous: %s)",
    async (isAsync) => {
      vi.useFakeTimers();
      const expireIn = (ms: number) => ({ ...ada, expiresAt: Date.now() + ms });
      const authenticate = changeable({ later: ada, shorter: expireIn(60_000), longer: expireIn(30_000) }, isAsync);
      const gate = new Gate({ authenticate });
      const ended: string[] = [];
      for (const token of Object.keys(authenticate.identities)) await open(gate, token, ended);
      Object.assign(authenticate.identities, { later: expireIn(10_000), shorter: expireIn(20_000), longer: ada });
      authenticate.change();
      await vi.advanceTimersByTimeAsync(10_000);
      expect(ended).toEqual(["later expired"]);
      await vi.advanceTimersByTimeAsync(10_000);
      expect(ended).toEqual(["later expired", "shorter expired"]);
      await vi.advanceTimersByTimeAsync(10_000);
      expect([ended.length, ended[2], vi.getTimerCount()]).toEqual([3, "longer expired", 0]);
    },
  );

  test("streams stay open while their credentials cannot be checked, and are checked again later", async () => {
    vi.useFakeTimers();
    const authenticate = changeable({ kept: ada, removed: ada });
    const gate = new Gate({ authenticate });
    const ended: string[] = [];
    await open(gate, "kept", ended);
    await open(gate, "removed", ended);
    authenticate.state.isDown = true;
    delete authenticate.identities["removed"];
    authenticate.change();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(ended).toEqual([]);
    authenticate.state.isDown = false;
    await vi.advanceTimersByTimeAsync(60_000);
    expect([ended, vi.getTimerCount()]).toEqual([["removed revoked"], 0]);
  });

  test("a gate that was closed has no timers", async () => {
    vi.useFakeTimers();
    const authenticate = changeable({ one: { ...ada, expiresAt: Date.now() + 60_000 } });
    const gate = new Gate({ authenticate });
    await open(gate, "one", []);
    authenticate.state.isDown = true;
    authenticate.change();
    await vi.advanceTimersByTimeAsync(0);
    expect(vi.getTimerCount()).toBe(2);
    gate.close();
    expect(vi.getTimerCount()).toBe(0);
  });
});
