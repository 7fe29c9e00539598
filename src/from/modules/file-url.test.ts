import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { toFileURL } from "./file-url.ts";

test.each([
  "/srv/operations",
  "/srv/my operations/#1?x=%2e%2e&y",
  "/srv/größe/漢字",
  "/srv/back\\slash",
  "/srv/a/../b/./c",
  "/",
])("%j becomes the same URL as in Node", (path) => {
  expect(decodeURIComponent(toFileURL(path, "/home").href)).toBe(decodeURIComponent(pathToFileURL(path).href));
  expect(toFileURL(path, "/home").search).toBe("");
  expect(toFileURL(path, "/home").hash).toBe("");
});

test.each([
  ["operations", "/home/ann", "file:///home/ann/operations"],
  ["./operations/", "/home/ann", "file:///home/ann/operations/"],
  ["../shared", "/home/ann", "file:///home/shared"],
  ["..%2f..", "/home/ann", "file:///home/ann/..%252f.."],
  ["%2e%2e", "/home/ann", "file:///home/ann/%252e%252e"],
  ["C:\\srv\\ops", "C:\\", "file:///C:/srv/ops"],
  ["ops\\tasks", "C:\\srv", "file:///C:/srv/ops/tasks"],
  ["\\\\server\\share\\ops", "C:\\", "file://server/share/ops"],
])("%j in %j is %s", (path, cwd, expected) => {
  expect(toFileURL(path, cwd).href).toBe(expected);
});
