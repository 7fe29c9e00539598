import { expect, test } from "vitest";
import { isConfidentialURL, isLoopbackHost, withoutTrailingSlashes } from "./urls.ts";

test.each([
  "localhost",
  "LOCALHOST",
  "app.localhost",
  "127.0.0.1",
  "127.0.0.2",
  "127.255.255.254",
  "::1",
  "[::1]",
  "::ffff:127.0.0.1",
  "[::ffff:7f00:1]",
])("%s is the local machine", (host) => {
  expect(isLoopbackHost(host)).toBe(true);
});

test.each([
  "example.com",
  "localhost.example.com",
  "notlocalhost",
  "127.0.0.1.example.com",
  "127.0.0.1.nip.io",
  "127.0.0.999",
  "128.0.0.1",
  "0.0.0.0",
  "10.0.0.1",
  "::2",
  "::ffff:10.0.0.1",
  "[::ffff:a00:1]",
  "",
])("%j is not the local machine", (host) => {
  expect(isLoopbackHost(host)).toBe(false);
});

test.each([
  ["https://example.com", true],
  ["http://127.0.0.2:8080/keys", true],
  ["http://app.localhost", true],
  ["http://[::1]:8080", true],
  ["http://2130706433", true], // The URL parser converts the number to 127.0.0.1.
  ["http://example.com", false],
  ["ftp://127.0.0.1", false],
  ["ws://localhost", false],
  ["file:///etc/passwd", false],
])("whether %s is confidential: %s", (url, expected) => {
  expect(isConfidentialURL(new URL(url))).toBe(expected);
});

test("slashes are removed from the end only", () => {
  expect(withoutTrailingSlashes("/a//b///")).toBe("/a//b");
  expect(withoutTrailingSlashes("///")).toBe("");
  expect(withoutTrailingSlashes("a")).toBe("a");
});
