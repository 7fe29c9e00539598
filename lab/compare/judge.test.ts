import { expect, test } from "vitest";
import { findDifferences } from "./differences.ts";
import { type Expectation, judge } from "./judge.ts";
import { findUnused, formatReport } from "./report.ts";

const renamed: Expectation = {
  id: "renamed",
  what: "The name is another one.",
  wanted: "a section of the design",
  kinds: ["call"],
  explains: ({ path, current }) => path === "/name" && current === "new",
};

test("differences are found as deep as possible, and missing values are undefined", () => {
  const reference = { same: [1, { a: null }], list: [1, 2], "a/b": true, gone: {} };
  const current = { same: [1, { a: null }], list: [1], "a/b": [true], added: 0 };

  expect(findDifferences(reference, current)).toEqual([
    { path: "/list/1", reference: 2, current: undefined },
    { path: "/a~1b", reference: true, current: [true] },
    { path: "/gone", reference: {}, current: undefined },
    { path: "/added", reference: undefined, current: 0 },
  ]);
});

test("a case is expected if every difference is explained, and only in the kinds of the expectation", () => {
  const pair = { index: 1, ms: 1, reference: { name: "old", id: 1 }, current: { name: "new", id: 1 } };

  expect(judge({ ...pair, kind: "call" }, [renamed])).toMatchObject({ expected: ["renamed"], unexpected: [] });
  expect(judge({ ...pair, kind: "other" }, [renamed])).toMatchObject({ expected: [], unexpected: [{ path: "/name" }] });
  expect(judge({ ...pair, kind: "call", current: { name: "new", id: 2 } }, [renamed])).toMatchObject({
    expected: ["renamed"],
    unexpected: [{ path: "/id", reference: 1, current: 2 }],
  });
});

test("the report counts cases per kind, groups unexpected ones and names expectations without cases", () => {
  const verdict = { kind: "call", ms: 500, expected: [], unexpected: [] };
  const verdicts = [
    { ...verdict, index: 0 },
    { ...verdict, index: 1, unexpected: [{ path: "/list/0/id", reference: 1, current: undefined }] },
    { ...verdict, index: 2, unexpected: [{ path: "/list/4/id", reference: 1, current: 2 }] },
  ];

  const report = formatReport(verdicts, [renamed], true);
  expect(report).toContain("call       3      1         0           2      1.5");
  expect(report).toContain("call /list/*/id: 2 cases, such as --kind call --case 1");
  expect(report).toContain("Expected, but not found in any case: renamed");
  expect(findUnused([{ ...verdict, index: 3, expected: ["renamed"] }], [renamed])).toEqual([]);
});
