import { expect, test } from "vitest";
import type { Credentials, IdentifyCaller } from "../serve/authenticator.ts";
import { apiKeys, bearerTokens, createToken, firstOf } from "./index.ts";

const ada = { id: "ada", scopes: ["task"] };
const bob = { id: "bob", scopes: [] };
const nothing: Credentials = { headers: new Headers() };

test("the first authenticator that recognises the credentials decides", () => {
  const one = createToken();
  const two = createToken();
  const both = firstOf(bearerTokens([{ hash: one.hash, identity: ada }]), apiKeys([{ hash: two.hash, identity: bob }]));
  const headers = new Headers({ "x-api-key": two.token });
  expect(both.authenticate({ headers: new Headers(), token: one.token })).toEqual(ada);
  expect(both.authenticate({ headers })).toEqual(bob);
  expect(both.authenticate({ headers, token: "unknown" })).toEqual(bob);
  expect(both.authenticate(nothing)).toBe(undefined);
});

test("an error is final, also an asynchronous one", async () => {
  const refuse = () => {
    throw new Error("refused");
  };
  const never = () => expect.unreachable();
  expect(() => firstOf(refuse, never).authenticate(nothing)).toThrow("refused");
  await expect(firstOf(async () => refuse(), never).authenticate(nothing)).rejects.toThrow("refused");
});

test("asynchronous authenticators are called in order", async () => {
  const order: string[] = [];
  const add =
    (name: string, result?: typeof ada): IdentifyCaller =>
    async () => {
      order.push(name);
      return result;
    };
  const all = firstOf(add("a"), () => undefined, add("b", ada), add("c", bob));
  expect([await all.authenticate(nothing), order]).toEqual([ada, ["a", "b"]]);
  expect(await firstOf(add("d"), () => undefined).authenticate(nothing)).toBe(undefined);
});

test("descriptions and changes are combined", () => {
  const { hash } = createToken();
  const tokens = bearerTokens([{ hash, identity: ada }]);
  const keys = apiKeys([{ hash, identity: ada }]);
  const all = firstOf(() => undefined, tokens, keys);
  expect(all.describe?.()).toEqual({
    securitySchemes: {
      bearer: { type: "http", scheme: "bearer" },
      "x-api-key": { type: "apiKey", in: "header", name: "X-API-Key" },
    },
    headers: ["authorization", "x-api-key"],
  });
  let changes = 0;
  const stop = all.onChange!(() => {
    changes += 1;
  });
  tokens.remove(hash);
  keys.remove(hash);
  stop();
  tokens.replace([{ hash, identity: ada }]);
  expect(changes).toBe(2);
});

test("firstOf needs an authenticator", () => {
  expect(() => firstOf()).toThrow(new TypeError("firstOf needs at least one authenticator."));
  for (const value of [undefined, {}]) {
    expect(() => firstOf(value as IdentifyCaller)).toThrow(/^firstOf needs authenticators, or functions/);
  }
});
