import { expect, test } from "vitest";
import { importQuietly, openAPI, openAPIWith, sendOne } from "./testing.ts";

const auth = { type: "bearer", token: "s3cret" } as const;

test.each([
  ["the document's server", {}, {}, "https://api.test/v1/things"],
  ["baseUrl, whatever the document says", { baseUrl: "http://own.test/api/" }, {}, "http://own.test/api/things"],
  ["the operation's own server", {}, { servers: [{ url: "https://op.test" }] }, "https://op.test/things"],
  [
    "baseUrl over the operation's own",
    { baseUrl: "http://own.test" },
    { servers: [{ url: "https://op.test" }] },
    "http://own.test/things",
  ],
])("requests go to %s", async (_name, config, entry, expected) => {
  expect((await sendOne(openAPIWith(entry), {}, config)).url).toBe(expected);
});

test("a path's server wins over the document's", async () => {
  const spec = openAPI({ paths: { "/a": { servers: [{ url: "https://path.test/p" }], get: {} } } });

  expect((await sendOne(spec, {})).url).toBe("https://path.test/p/a");
});

test("a query in a server's URL is reported and ignored", () => {
  const { report } = importQuietly(openAPI({ servers: [{ url: "https://api.test/v1?key=1" }] }));

  expect(report.warnings).toEqual([
    { where: "#/paths/~1things/get", reason: "The query of the server's URL is ignored." },
  ]);
});

test("variables are filled from the document and the operator", async () => {
  const variables = { region: { default: "eu", enum: ["eu", "us"] }, port: { default: 8443 } };
  const servers = [{ url: "https://{region}.api.test:{port}/v1", variables }];
  const spec = openAPIWith({}, { servers });

  expect((await sendOne(spec, {})).url).toBe("https://eu.api.test:8443/v1/things");
  expect((await sendOne(spec, {}, { serverVariables: { region: "us" } })).url).toBe(
    "https://us.api.test:8443/v1/things",
  );
  expect(importQuietly(spec, { serverVariables: { region: "mars" } }).report.warnings[0]?.reason).toContain('"region"');
});

test.each([
  ["/api", "https://docs.test/api/things"],
  ["../v2/", "https://docs.test/v2/things"],
  ["//cdn.test/x", "https://cdn.test/x/things"],
])("the relative server %s is resolved against the document's URL", async (url, expected) => {
  const spec = openAPIWith({}, { servers: [{ url }] });

  expect((await sendOne(spec, {}, { documentUrl: "https://docs.test/a/openapi.json" })).url).toBe(expected);
});

test("the error for a relative server without a document URL names the setting", () => {
  expect(() => importQuietly(openAPI({ servers: [{ url: "/api" }] }))).toThrow("Set baseUrl.");
  expect(() => importQuietly(openAPI({ servers: undefined }))).toThrow("Set baseUrl.");
});

test.each([
  ["another origin", "https://evil.test"],
  ["a longer host", "https://docs.test.evil.test"],
  ["the same host without TLS", "http://docs.test"],
  ["another port", "https://docs.test:8443"],
])("a fetched document cannot send credentials to %s", (_name, url) => {
  const spec = openAPI({ servers: [{ url }] });
  const config = { documentUrl: "https://docs.test/openapi.json", auth };

  expect(() => importQuietly(spec, config)).toThrow("allowedOrigins");
  expect(() => importQuietly(spec, { ...config, allowedOrigins: ["https://docs.test", "https://evil"] })).toThrow();
  expect(importQuietly(spec, { ...config, allowedOrigins: [url] }).operations).toHaveLength(1);
  expect(importQuietly(spec, { ...config, auth: undefined }).operations).toHaveLength(1);
});

test("an object or a file does not decide where credentials go, however it names its server", () => {
  const documents = [{}, { documentUrl: "file:///srv/openapi.json" }];

  for (const located of documents) {
    for (const credentials of [{ auth }, { headers: { "x-api-key": "s3cret" } }]) {
      const config = { ...located, ...credentials };
      expect(() => importQuietly(openAPI(), config)).toThrow(
        "The server https://api.test has another origin than the document, and credentials are configured. " +
          "Set baseUrl, or add the origin to allowedOrigins.",
      );
      expect(importQuietly(openAPI(), { ...config, baseUrl: "https://api.test/v1" }).operations).toHaveLength(1);
      expect(importQuietly(openAPI(), { ...config, allowedOrigins: ["https://api.test"] }).operations).toHaveLength(1);
    }
  }
});

test("allowedOrigins must be an array", () => {
  const config = { auth, allowedOrigins: "https://api.test" as unknown as string[] };

  expect(() => importQuietly(openAPI(), config)).toThrow("allowedOrigins must be an array of strings");
});

test("an operation's own server on another origin than the document receives no credentials unless it is allowed", () => {
  const spec = openAPIWith({ servers: [{ url: "https://upload.test" }] });

  expect(() => importQuietly(spec, { auth })).toThrow("allowedOrigins");
  expect(() => importQuietly(spec, { headers: { "x-api-key": "s3cret" } })).toThrow("allowedOrigins");
  expect(importQuietly(spec, { auth, allowedOrigins: ["https://upload.test"] }).operations).toHaveLength(1);
  expect(importQuietly(spec, {}).operations).toHaveLength(1);
});

test.each(["ftp://files.test", "javascript:alert(1)", "https://user:pw@api.test"])(
  "the server %s is not used",
  (url) => {
    expect(() => importQuietly(openAPI({ servers: [{ url }] }))).toThrow(
      expect.objectContaining({ code: "VALIDATION_ERROR" }),
    );
  },
);

test.each(["api.test", "ftp://api.test", "https://user:pw@api.test", "https://api.test/?v=1"])(
  "the baseUrl %s is refused",
  (baseUrl) => {
    expect(() => importQuietly(openAPI(), { baseUrl })).toThrow(expect.objectContaining({ code: "VALIDATION_ERROR" }));
  },
);
