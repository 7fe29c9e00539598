import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { root } from "../../scripts/subpaths.ts";
import { listFiles, readProse } from "./prose.ts";

/** Words that our messages, comments, test titles and pages do without, and what to write instead. */
const avoided: ReadonlyArray<[pattern: RegExp, instead: string]> = [
  [/\baskers?\b/i, "caller"],
  [/\bwhoever\b/i, "the caller, a peer that …"],
  [/\bsomebody\b/i, "a caller, another client"],
  [/\bnobody\b/i, "no caller, no peer"],
  [/\bthe other side\b/i, "the server, the peer"],
  [/(?<!\bthere )\bis no(?=$| )(?! longer\b)/i, "is not a"],
  [/\bis none\b/i, "is missing, is invalid"],
  [/\bodd(?:ly)?\b/i, "invalid, malformed, unexpected"],
];

/** A part of each of them. Parsing a file takes long, and most files have none of these letters. */
const hint = /\baskers?\b|whoever|somebody|nobody|the other\W+side|\bis\W+no(?:ne)?\b|\bodd(?:ly)?\b/i;

/** Names every avoided phrase of a file. */
function findAvoided(file: string, text = readFileSync(resolve(root, file), "utf8")): string[] {
  if (!hint.test(text)) return [];
  return readProse(file, text).flatMap(({ line, text: prose }) =>
    avoided.flatMap(([pattern, instead]) =>
      Array.from(prose.matchAll(new RegExp(pattern, "gi")), ({ index }) => {
        const excerpt = prose.slice(Math.max(0, index - 30), index + 40);
        return `${file}:${line} "${excerpt}": write "${instead}"`;
      }),
    ),
  );
}

test("messages, comments, test titles and pages use plain technical English", () => {
  const files = listFiles().filter((file) => !file.endsWith("wording.test.ts"));

  expect(files.flatMap((file) => findAvoided(file))).toEqual([]);
  expect(files.length).toBeGreaterThan(500);
});

test.each([
  ["a comment", "// An asker calls.", 1],
  ["a comment of two lines", "/**\n * It is\n * no error.\n */", 1],
  ["a string", "const x = 'nobody';", 1],
  ["a part of a template", `const x = \`$${"{1}"} is no $${"{2}"}\`;`, 1],
  ["a test title", 'test("an odd one", () => {});', 1],
  ["every avoided phrase", "// Whoever and somebody on\n// the other side is none.", 4],
  ["names, expressions, and words that contain one", "const odd = /nobody/; // the odds of a masker", 0],
  ["the two exceptions", "// There is no file. It is no longer there.", 0],
])("%s is read", (_, text, count) => {
  expect(findAvoided("example.ts", text)).toHaveLength(count);
});
