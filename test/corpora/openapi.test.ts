import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { checkDocument } from "./check-document.ts";

const folder = new URL("../fixtures/openapi/", import.meta.url);

/** Methods in the document, and operations made of them: more where an entry also streams. */
const expected: Record<string, [entries: number, operations: number]> = {
  "azure-compute-20.yaml": [116, 116],
  "google-drive.yaml": [50, 50],
  "mastodon.yaml": [127, 127],
  "netlify-20.yaml": [120, 120],
  "oai-media-32.yaml": [1, 1],
  "oai-mega-31.yaml": [1, 1],
  "oai-mega-32.yaml": [1, 1],
  "oai-petstore-30.json": [3, 3],
  "oai-tags-32.json": [4, 4],
  "oai-tictactoe-31.json": [3, 3],
  "oai-uspto.json": [3, 3],
  "redocly-museum.yaml": [8, 8],
  "spotify.yaml": [88, 88],
  "swagger-petstore3.yaml": [19, 19],
  "twilio-verify.json": [57, 57],
  "xkcd.yaml": [2, 2],
};

test("every document of the folder is known", () => {
  expect(readdirSync(folder).sort()).toEqual(Object.keys(expected).sort());
});

// The largest document has 12,000 lines and hundreds of operations, each of which is called.
test.each(Object.entries(expected))(
  "%s: every method is imported or reported, every schema compiles, also for MCP clients, every operation can be called",
  { timeout: 60_000 },
  async (file, [entries, operations]) => {
    const check = await checkDocument(readFileSync(new URL(file, folder), "utf8"));

    expect(check).toMatchObject({ entries, operations, called: operations, problems: [] });
  },
);
