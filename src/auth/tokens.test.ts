import { createHash } from "node:crypto";
import { describe, expect, test, vi } from "vitest";
import { CallError } from "../operation/index.ts";
import type { Credentials } from "../serve/authenticator.ts";
import { Gate } from "../serve/gate.ts";
import { apiKeys, bearerTokens, createToken, hashToken, type StoredToken } from "./index.ts";

const ada = { id: "ada", scopes: ["task"] };
const bob = { id: "bob", scopes: [] };
const sha256 = (token: string) => `sha256:${createHash("sha256").update(token).digest("hex")}`;

const withToken = (token?: string): Credentials => ({ headers: new Headers(), token });
const withHeader = (name: string, value: string): Credentials => ({ headers: new Headers({ [name]: value }) });

/** Runs a function and returns what it writes to the console. */
function warningsOf(run: () => void): string[] {
  const written = vi.spyOn(console, "warn").mockImplementation(() => {});
  try {
    run();
    return written.mock.calls.map(([line]) => String(line));
  } finally {
    written.mockRestore();
  }
}

describe("created tokens", () => {
  test("a token has 256 random bits, and its hash is stored", () => {
    const created = Array.from({ length: 100 }, createToken);
    expect(new Set(created.map(({ token }) => token)).size).toBe(100);
    for (const { token, hash } of created) {
      expect(Buffer.from(token, "base64url").length).toBe(32);
      expect(hash).toBe(sha256(token));
    }
  });

  const long = ["0123456789abcdef0123456789abcdef", "0123456789_abcdefghijk", "0".repeat(39)];
  test.each(long)("the token %s of another program is accepted", (token) => {
    expect(hashToken(token)).toBe(sha256(token));
  });

  const short = ["", "secret", "0123456789abcdef0123456789abcde", "0".repeat(38), "correct horse battery"];
  test.each([...short, undefined, 1])("the token %j is too short", (token) => {
    expect(() => hashToken(token as string)).toThrow(
      new TypeError("The token is too short: it needs at least 128 random bits. Create one with createToken()."),
    );
  });
});

describe("bearer tokens", () => {
  const { token, hash } = createToken();

  test("a token has its identity, and an unknown one has none", () => {
    const tokens = bearerTokens([{ hash, identity: ada }]);
    const given = [token, `${token}x`, token.slice(1), "", "x", "x".repeat(10_000), hash, undefined];
    expect(given.map((one) => tokens.authenticate(withToken(one)))).toEqual([ada, ...Array(7).fill(undefined)]);
  });

  test("hashes in upper case are accepted", () => {
    const tokens = bearerTokens([{ hash: hash.toUpperCase().replace("SHA", "sha"), identity: ada }]);
    expect(tokens.authenticate(withToken(token))).toEqual(ada);
  });

  test("the expiry is part of the identity", () => {
    const identity = { ...ada, expiresAt: Date.now() + 60_000 };
    expect(bearerTokens([{ hash, identity }]).authenticate(withToken(token))).toEqual(identity);
  });

  test.each([["bearerTokens", bearerTokens] as const, ["apiKeys", apiKeys] as const])(
    "%s refuses a token that has expired, and an expiry that is malformed when it is made",
    (_name, create) => {
      const credentials = { headers: new Headers({ "X-API-Key": token }), token };
      const expired = new CallError("ACCESS_DENIED", "The token has expired. Authenticate again.", undefined, {
        mayHaveRun: false,
      });
      const tokens = create([{ hash, identity: { ...ada, expiresAt: 1_000 } }]);
      expect(() => tokens.authenticate(credentials)).toThrow(expired);
      for (const expiresAt of ["2026", Number.NaN, null]) {
        const identity = { ...ada, expiresAt } as StoredToken["identity"];
        expect(() => create([{ hash, identity }])).toThrow(/^The expiresAt of "ada" in \w+ is not a time in ms/);
      }
    },
  );

  test("tokens are added, removed and replaced, and listeners are called when some may be gone", () => {
    const other = createToken();
    const tokens = bearerTokens([{ hash, identity: ada }]);
    let changes = 0;
    const stop = tokens.onChange!(() => {
      changes += 1;
    });
    tokens.add({ hash: other.hash, identity: bob });
    expect([tokens.authenticate(withToken(other.token)), changes]).toEqual([bob, 0]);
    expect([tokens.remove(hash), tokens.remove(hash), tokens.remove("sha256:"), tokens.remove(token)]).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect([tokens.authenticate(withToken(token)), changes]).toEqual([undefined, 1]);
    tokens.replace([{ hash, identity: bob }]);
    expect([tokens.authenticate(withToken(token)), tokens.authenticate(withToken(other.token)), changes]).toEqual([
      bob,
      undefined,
      2,
    ]);
    stop();
    tokens.remove(hash);
    expect(changes).toBe(2);
  });

  test("a list with an invalid entry changes nothing", () => {
    const tokens = bearerTokens([{ hash, identity: ada }]);
    expect(() => tokens.replace([{ hash: "sha256:0", identity: bob }])).toThrow(TypeError);
    expect(tokens.authenticate(withToken(token))).toEqual(ada);
  });

  test.each([undefined, null, "", sha256("")])("the hash %j of an empty token is refused when it is made", (empty) => {
    const entry = { hash: empty as string, identity: ada };
    const message = 'A token of "ada" in bearerTokens is empty. Check the variable that contains it.';

    expect(() => bearerTokens([entry])).toThrow(new TypeError(message));
  });

  test("an empty token is never accepted", async () => {
    const tokens = bearerTokens([{ hash, identity: ada }]);
    expect(tokens.authenticate(withToken(""))).toBe(undefined);
    const gate = new Gate({ authenticate: tokens });
    const headers = new Headers({ authorization: "Bearer " });
    expect(await gate.check({ method: "GET", url: "http://localhost/", headers })).toMatchObject({ status: 401 });
  });

  test("an empty list warns when the program starts", () => {
    expect(warningsOf(() => bearerTokens([]))).toEqual([
      "[alkdev.operations.auth] bearerTokens: There are no tokens, so every token is refused.",
    ]);
  });

  test("invalid entries are refused without repeating the value, which may be the token", () => {
    const secret = "let-me-in-let-me-in-let-me-in";
    for (const invalid of [secret, `sha256:${secret}`, `sha512:${"0".repeat(64)}`, 7]) {
      const run = () => bearerTokens([{ hash: invalid as string, identity: ada }]);
      expect(run).toThrow(
        new TypeError('A hash of "ada" in bearerTokens is malformed. Create it with createToken() or hashToken().'),
      );
    }
    expect(() => bearerTokens([{ hash, identity: { id: "ada" } as StoredToken["identity"] }])).toThrow(
      new TypeError("An entry of bearerTokens has no valid identity. Pass an object with an id and a list of scopes."),
    );
    const twice = { hash, identity: ada };
    expect(() => bearerTokens([twice, { hash, identity: bob }])).toThrow(/have the same hash/);
    expect(() => bearerTokens([twice]).add({ hash, identity: bob })).toThrow(/have the same hash/);
    expect(() => bearerTokens(undefined as unknown as [])).toThrow("bearerTokens needs a list of { hash, identity }.");
  });
});

describe("API keys", () => {
  const { token: key, hash } = createToken();

  test("a key is read from its header only", () => {
    const keys = apiKeys([{ hash, identity: ada }]);
    const custom = apiKeys([{ hash, identity: ada }], { header: "X-Hub-Key" });
    expect(keys.authenticate(withHeader("X-API-Key", key))).toEqual(ada);
    expect(keys.authenticate(withHeader("X-API-Key", `${key}, ${key}`))).toBe(undefined);
    expect(keys.authenticate(withHeader("X-API-Key", ""))).toBe(undefined);
    expect(keys.authenticate(withToken(key))).toBe(undefined);
    expect(keys.authenticate(withHeader("X-Hub-Key", key))).toBe(undefined);
    expect(custom.authenticate(withHeader("X-Hub-Key", key))).toEqual(ada);
    expect(custom.describe?.()).toEqual({
      securitySchemes: { "x-hub-key": { type: "apiKey", in: "header", name: "X-Hub-Key" } },
      headers: ["x-hub-key"],
    });
  });

  test("a header that does not fit is refused", () => {
    for (const header of ["Authorization", "Cookie", "", "x key", "x:key"]) {
      expect(() => apiKeys([{ hash, identity: ada }], { header })).toThrow(/cannot contain a key/);
    }
  });
});
