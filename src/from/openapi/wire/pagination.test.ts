import { expect, test } from "vitest";
import { httpEnvelope } from "../../../operation/index.ts";
import type { HTTPServiceConfig } from "../config.ts";
import type { ParameterPlan } from "../endpoint.ts";
import { createEndpointHandler } from "../handler.ts";
import { endpointPlan, parameterPlan } from "./testing.ts";

interface Case {
  parameters: Array<string | ParameterPlan>;
  pagination?: HTTPServiceConfig["pagination"];
  input?: Record<string, unknown>;
  data?: unknown;
  link?: string;
  method?: string;
}

function pages({ parameters, pagination, method = "GET" }: Case) {
  const plans = parameters.map((parameter) =>
    typeof parameter === "string" ? parameterPlan({ name: parameter, location: "query" }) : parameter,
  );
  const plan = endpointPlan({ method, baseUrl: "https://api.test/v1", parameters: plans });
  return createEndpointHandler(plan, { namespace: "shop", ...(pagination === undefined ? {} : { pagination }) });
}

function next(given: Case): unknown {
  const headers: Record<string, string> = given.link === undefined ? {} : { link: given.link };
  const envelope = httpEnvelope(given.data, { statusCode: 200, headers, contentType: "application/json" });
  return pages(given).nextPage?.(given.input ?? {}, envelope);
}

const number = (name: string, more = {}) =>
  parameterPlan({ name, location: "query", schema: { type: "integer", ...more } });

test.each<[string, Case, unknown]>([
  [
    "a cursor beside the items",
    { parameters: ["cursor"], data: { items: [1], next_cursor: "c2" }, input: { q: 1 } },
    { q: 1, cursor: "c2" },
  ],
  ["a page token", { parameters: ["pageToken"], data: { files: [], nextPageToken: "t" } }, { pageToken: "t" }],
  [
    "a cursor in response metadata",
    { parameters: ["cursor"], data: { response_metadata: { next_cursor: "x=" } } },
    { cursor: "x=" },
  ],
  ["cursors after", { parameters: ["after"], data: { paging: { cursors: { after: "z" } } } }, { after: "z" }],
  [
    "the last id",
    { parameters: ["after", "limit"], data: { data: [{ id: "a" }], has_more: true, last_id: "a" } },
    { after: "a" },
  ],
  [
    "the last item's id",
    { parameters: ["starting_after"], data: { data: [{ id: "a" }, { id: "b" }], has_more: true } },
    { starting_after: "b" },
  ],
  [
    "no more",
    { parameters: ["starting_after"], data: { data: [{ id: "a" }], has_more: false, last_id: "a" } },
    undefined,
  ],
  ["an empty cursor", { parameters: ["cursor"], data: { next_cursor: "" } }, undefined],
  ["the same cursor again", { parameters: ["cursor"], data: { next_cursor: "c" }, input: { cursor: "c" } }, undefined],
  ["an offset", { parameters: ["offset", "limit"], data: [1, 2], input: { limit: 2 } }, { limit: 2, offset: 2 }],
  [
    "an offset that goes on",
    { parameters: ["startAt"], data: { issues: [1, 2] }, input: { startAt: 4 } },
    { startAt: 6 },
  ],
  ["fewer than the limit", { parameters: ["offset", "limit"], data: [1], input: { limit: 2 } }, undefined],
  ["nothing at an offset", { parameters: ["offset"], data: [] }, undefined],
  ["a page", { parameters: ["page"], data: { results: [1] } }, { page: 2 }],
  ["a page that goes on", { parameters: ["page"], data: [1], input: { page: 2 } }, { page: 3 }],
  ["pages from zero", { parameters: [number("page", { default: 0 })], data: [1] }, { page: 1 }],
  ["an empty page", { parameters: ["page"], data: { results: [] } }, undefined],
  ["an answer without items", { parameters: ["page"], data: "text" }, undefined],
])("inferred: %s", (_, given, expected) => {
  expect(next(given)).toEqual(expected);
});

test.each<[string, Case, unknown]>([
  [
    "declared arguments only",
    { parameters: [number("page"), "q"], link: '<https://api.test/v1/x?page=2&q=a%20b&role=admin>; rel="next"' },
    { page: 2, q: "a b" },
  ],
  [
    "among other links",
    {
      parameters: [number("page")],
      link: '<?page=9>; rel="last", <?page=3>; title="a, b"; rel="prev next"',
      input: { page: 2 },
    },
    { page: 3 },
  ],
  [
    "by the type of what was asked for",
    { parameters: ["page"], link: "<?page=3>; rel=next", input: { page: 2 } },
    { page: 3 },
  ],
  ["no next one", { parameters: ["page"], link: '<?page=1>; rel="prev"', data: [1] }, undefined],
  ["another origin", { parameters: ["page"], link: '<https://evil.test/?page=2>; rel="next"' }, undefined],
  [
    "the same page again",
    { parameters: [number("page")], link: '<?page=2>; rel="next"', input: { page: 2 } },
    undefined,
  ],
])("by Link header: %s", (_, given, expected) => {
  expect(next(given)).toEqual(expected);
});

test.each<[string, Case, unknown]>([
  [
    "a cursor by pointer",
    {
      parameters: ["from"],
      pagination: { kind: "cursor", parameter: "from", cursor: "/a~1b/0" },
      data: { "a/b": ["n"] },
    },
    { from: "n" },
  ],
  [
    "items by pointer",
    { parameters: ["seite"], pagination: { kind: "page", parameter: "seite", items: "/x/y" }, data: { x: { y: [1] } } },
    { seite: 2 },
  ],
  [
    "for one operation",
    { parameters: ["n"], pagination: { operations: { op: { kind: "offset", parameter: "n" } } }, data: [1] },
    { n: 1 },
  ],
  ["links only", { parameters: ["token"], pagination: { kind: "link" }, data: { next_token: "no" } }, undefined],
  [
    "over a link",
    { parameters: ["n"], pagination: { kind: "offset", parameter: "n" }, data: [1], link: "<?n=9>; rel=next" },
    { n: 1 },
  ],
])("configured: %s", (_, given, expected) => {
  expect(next(given)).toEqual(expected);
});

test("a Link header of brackets alone is read in time", () => {
  expect(next({ parameters: ["page"], data: [1], link: "<".repeat(400_000) })).toBeUndefined();
});

test("operations without pages have no next page: by name, by method, by configuration", () => {
  expect(pages({ parameters: ["q"] }).nextPage).toBeUndefined();
  expect(pages({ parameters: ["page"], method: "POST" }).nextPage).toBeUndefined();
  expect(pages({ parameters: ["page"], pagination: false }).nextPage).toBeUndefined();
  expect(pages({ parameters: ["q"], pagination: { kind: "page", parameter: "page" } }).nextPage).toBeUndefined();
});

test("the pagination rule is in _meta", () => {
  expect(pages({ parameters: ["offset", "per_page"] }).pagination).toEqual({
    kind: "offset",
    parameter: "offset",
    limitParameter: "per_page",
    inferred: true,
  });
  expect(pages({ parameters: ["q"], pagination: { kind: "link" } }).pagination).toEqual({
    kind: "link",
    inferred: false,
  });
});
