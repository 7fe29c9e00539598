import { expect, test } from "vitest";
import { isSecretName, redact } from "./secrets.ts";

test.each([
  "Authorization",
  "Proxy-Authorization",
  "X-API-Key",
  "GITHUB_TOKEN",
  "clientSecret",
  "PGPASSWORD",
  "passphrase",
  "AWS_CREDENTIALS",
  "Cookie",
  "X-Session",
  "X-Hub-Signature-256",
  "x-jwt",
  "X-SID",
  "x-pin",
  "userPin",
  "X-CSRF",
  "otp",
])("%s is the name of a secret", (name) => {
  expect(isSecretName(name)).toBe(true);
});

test.each(["Accept", "Content-Type", "PATH", "User-Agent", "X-Request-Id", "X-Shipping", "Inside", "spinner"])(
  "%s is not the name of a secret",
  (name) => {
    expect(isSecretName(name)).toBe(false);
  },
);

test("every occurrence of a secret is replaced, and short values are kept", () => {
  expect(redact("Bearer s3cret, again s3cret in a page", new Set(["s3cret", "a", ""]))).toBe(
    "Bearer [redacted], again [redacted] in a page",
  );
});

test("a secret that begins with another one is replaced as a whole", () => {
  expect(redact("token abcd1234 and abcd", ["abcd", "abcd1234"])).toBe("token [redacted] and [redacted]");
});
