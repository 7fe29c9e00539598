import { expect, test } from "vitest";
import { importQuietly, openAPI, openAPIWith, recordingFetch, sendOne } from "./testing.ts";

const securitySchemes = {
  bearer: { type: "http", scheme: "Bearer" },
  key: { $ref: "#/components/securitySchemes/realKey" },
  realKey: { type: "apiKey", name: "api_key", in: "query" },
  oauth: { type: "oauth2", flows: { clientCredentials: { tokenUrl: "https://evil.test/token", scopes: {} } } },
  connect: { type: "openIdConnect", openIdConnectUrl: "https://evil.test/.well-known" },
};
const schemes = {
  bearer: { type: "bearer", token: "b-token" },
  key: { type: "apiKey", token: "k-token" },
} as const;

test.each([
  ["the operation's own alternative", { security: [{ key: [] }] }, "api_key=k-token", undefined],
  ["the first that is configured", { security: [{ oauth: [] }, { bearer: [] }] }, "", "Bearer b-token"],
  ["all schemes of an alternative", { security: [{ bearer: [], key: [] }] }, "api_key=k-token", "Bearer b-token"],
  ["the document's alternative", {}, "", "Bearer b-token"],
  ["nothing where nothing is needed", { security: [] }, "", undefined],
])("credentials follow %s", async (_name, entry, query, authorization) => {
  const spec = openAPIWith(entry, { components: { securitySchemes }, security: [{ bearer: [] }] });

  const { url, headers } = await sendOne(spec, {}, { auth: { schemes }, allowedOrigins: ["https://api.test"] });

  expect(new URL(url).search.slice(1)).toBe(query);
  expect(headers["authorization"]).toBe(authorization);
});

test("an undeclared scheme is reported and its alternative ignored", () => {
  const { report } = importQuietly(openAPIWith({ security: [{ ghost: [] }] }));

  expect(report.warnings).toEqual([
    {
      where: "#/paths/~1things/post/security",
      reason: 'The security scheme "ghost" is not declared. The alternative is ignored.',
    },
  ]);
});

test("schemes that are not supported are reported", () => {
  const odd = { none: {}, nowhere: { type: "apiKey", in: "body", name: "x" }, text: "bearer", lost: { $ref: "#/x" } };
  const { report } = importQuietly(openAPI({ components: { securitySchemes: odd } }));

  expect(report.warnings.map(({ where }) => where)).toEqual([
    "#/components/securitySchemes/none",
    "#/components/securitySchemes/nowhere",
    "#/components/securitySchemes/text",
    "#/components/securitySchemes/lost",
  ]);
});

test("no URL of the document's security is ever fetched", () => {
  const { fetch, sent } = recordingFetch();

  importQuietly(openAPIWith({ security: [{ oauth: [] }, { connect: [] }] }, { components: { securitySchemes } }), {
    fetch,
    auth: { type: "bearer", token: "x" },
    allowedOrigins: ["https://api.test"],
  });

  expect(sent).toEqual([]);
});
