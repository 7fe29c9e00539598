import { expect, test } from "vitest";
import { toQueryTerms, toStems, toTellingStems } from "./words.ts";

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

test("telling words occur once, and common words only where there are no others", () => {
  expect(toTellingStems("the files of a file")).toEqual(["fil"]);
  expect(toTellingStems("who is it")).toEqual(["who", "is", "it"]);
  expect(toTellingStems("?!")).toEqual([]);
});

test("a word of a query has synonyms, also those of other groups", () => {
  const [make] = toQueryTerms("making");

  expect(make).toEqual({
    stem: "mak",
    synonyms: toStems("update edit change modify set create add new insert"),
    related: [],
  });
});

test.each([
  ["close an issue", true],
  ["close issues", false],
  ["delete an issue", false],
  ["the close of an issue", false],
  ["close it", false],
])("the first word of %j may be a change: %s", (query, expected) => {
  const related = toQueryTerms(query).map((term) => term.related);

  expect(related.flat()).toEqual(expected ? toStems("update edit change modify set make") : []);
});

test("a very long word takes linear time", () => {
  const word = "a".repeat(1_000_000);

  expect(toStems(`${word} ${word}ing`)).toEqual([word, word]);
});
