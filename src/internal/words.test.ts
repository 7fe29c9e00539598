import { expect, test } from "vitest";
import { toQueryStems, toStems } from "./words.ts";

test.each([
  ["issue", "issues"],
  ["repository", "repositories"],
  ["branch", "branches"],
  ["merge", "merging"],
  ["merge", "merged"],
  ["star", "starred"],
  ["run", "running"],
  ["add", "added"],
  ["release", "releases"],
  ["address", "addresses"],
])("%s and %s have the same stem", (one, other) => {
  expect(toStems(one)).toEqual(toStems(other));
});

test.each([
  ["string", "str"],
  ["status", "statu"],
  ["bus", "bu"],
  ["feed", "fe"],
])("the ending of %s is part of the word", (word, cut) => {
  expect(toStems(word)).not.toEqual([cut]);
});

test("words end at punctuation and at the capitals of camel case", () => {
  expect(toStems("github.issues/list_for-org getHTTPStatus2 Straße 日本")).toEqual([
    ...["github", "issu", "list", "for", "org", "get", "http", "status2", "straße", "日本"],
  ]);
});

test("a short prefix with a hyphen is also joined with the word after it", () => {
  expect(toStems("re-run-workflow e-mail")).toEqual(["re", "run", "rerun", "workflow", "e", "mail", "email"]);
});

test("the words of a URL are ignored", () => {
  expect(toStems("see [docs](https://docs.example.com/rest/issues) for more")).toEqual(["see", "doc", "for", "mor"]);
});

test("a query keeps each word once and drops common words, unless it has no others", () => {
  expect(toQueryStems("the files of a file")).toEqual(["fil"]);
  expect(toQueryStems("who is it")).toEqual(["who", "is", "it"]);
  expect(toQueryStems("?!")).toEqual([]);
});

test("a very long word takes linear time", () => {
  const word = "a".repeat(1_000_000);

  expect(toStems(`${word} ${word}ing`)).toEqual([word, word]);
});
