import { expect, test } from "vitest";
import { toQueryTerms, toStems } from "./words.ts";

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
    ...["github", "issu", "list", "org", "get", "http", "status2", "straße", "日本"],
  ]);
});

test("a short prefix with a hyphen is also joined with the word after it", () => {
  expect(toStems("re-run-workflow e-mail")).toEqual(["re", "run", "rerun", "workflow", "e", "mail", "email"]);
});

test("the words of a URL are ignored", () => {
  expect(toStems("see [docs](https://docs.example.com/rest/issues) for more")).toEqual(["see", "doc", "mor"]);
});

test("common words are omitted, unless there are no others", () => {
  expect(toStems("the files of a file")).toEqual(["fil", "fil"]);
  expect(toStems("who is it")).toEqual(["who", "is", "it"]);
  expect(toStems("?!")).toEqual([]);
});

test("a query has the stems of its words, of their synonyms, and the beginnings of its words", () => {
  expect(toQueryTerms("removing Templates, templates")).toEqual(
    new Map([
      ["remov", 1],
      ["delet", 0.5],
      ["destroy", 0.5],
      ["remo", 4 / 5],
      ["templat", 1],
      ["temp", 4 / 7],
      ["templ", 5 / 7],
      ["templa", 6 / 7],
    ]),
  );
});

test("a word of a query has the synonyms of all its groups", () => {
  const expected = toStems("make update edit change modify set create add new insert");

  expect([...toQueryTerms("making").keys()].sort()).toEqual([...expected].sort());
});

test.each([
  ["close an issue", true],
  ["close issues", false],
  ["delete an issue", false],
  ["the close of an issue", false],
  ["close it", false],
])("the first word of %j may be a change: %s", (query, expected) => {
  expect(toQueryTerms(query).get("updat")).toBe(expected ? 0.1 : undefined);
});

test("the number of searched stems is limited", () => {
  const words = Array.from({ length: 10_000 }, (_, index) => `${index}`);

  expect([...toQueryTerms(words.join(" ")).keys()]).toEqual(words.slice(0, 32));
  expect(toQueryTerms("1".repeat(10_000)).size).toBe(18);
});

test("a very long word takes linear time", () => {
  const word = "a".repeat(1_000_000);

  expect(toStems(`${word} ${word}ing`)).toEqual([word, word]);
});
