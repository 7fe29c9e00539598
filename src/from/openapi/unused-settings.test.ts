import { expect, test } from "vitest";
import { importQuietly, openAPI } from "./testing.ts";

const spec = openAPI({
  paths: {
    "/pets": { get: { operationId: "listPets", tags: ["pets"] } },
    "/pets/{id}": { get: { operationId: "getPet", parameters: [{ name: "id", in: "path", required: true }] } },
  },
  components: { securitySchemes: { key: { type: "apiKey", in: "header", name: "key" } } },
});

test("settings that match the document cause no warning", () => {
  const { report } = importQuietly(spec, {
    include: ["listPets", "test.getPet", "pets", "GET /pets*"],
    exclude: { ids: ["*Pet"], tags: ["p*"], paths: ["/pets"] },
    rename: { listPets: "list" },
    auth: { schemes: { key: { type: "apiKey", token: "t0k3n" } } },
    pagination: { operations: { list: { kind: "link" }, "test.getPet": { kind: "link" } } },
  });

  expect(report.warnings).toEqual([]);
});

test.each([
  [{ include: ["listPet", "getPet"] }, "config.include", '"listPet" does not match any operation of the document.'],
  [{ include: ["get_pets*"] }, "config.include", '"get_pets*" does not match any operation of the document.'],
  [{ exclude: { tags: ["listPets"] } }, "config.exclude", '"listPets" does not match any operation of the document.'],
  [{ rename: { listPet: "list" } }, "config.rename", 'The document has no operation "listPet".'],
  [
    { auth: { schemes: { bearer: { type: "bearer", token: "t0k3n" } } } },
    "config.auth.schemes",
    'The document declares no security scheme "bearer". It has "key".',
  ],
  [
    { pagination: { operations: { listPet: { kind: "link" } } } },
    "config.pagination.operations",
    'The document has no operation "listPet".',
  ],
] as const)("a setting that matches nothing is reported: %j", (config, where, reason) => {
  const { report } = importQuietly(spec, { baseUrl: "https://api.test", ...(config as object) });

  expect(report.warnings).toEqual([{ where, reason }]);
});

test.each([{ include: "listPets" }, { exclude: [7] }, { include: { ids: "listPets" } }])(
  "a filter of another shape is refused: %j",
  (config) => {
    expect(() => importQuietly(spec, config as object)).toThrow(
      expect.objectContaining({
        code: "VALIDATION_ERROR",
        message: expect.stringMatching(
          /^(?:in|ex)clude must be an array of strings, or \{ ids, tags, paths \} with such arrays\.$/,
        ),
      }),
    );
  },
);
