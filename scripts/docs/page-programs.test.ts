import { expect, test } from "vitest";
import { listPagePrograms } from "./page-programs.ts";

test("blocks with the word program are listed, with the output that follows them", () => {
  const text = [
    "# Page",
    '```ts program source="examples/guide/calls.ts#start"',
    "start();",
    "```",
    "It prints:",
    '```txt output="examples/guide/calls.ts"',
    "started",
    "```",
    '```ts source="examples/guide/calls.ts#part"',
    "part();",
    "```",
    '```txt output="examples/guide/calls.ts"',
    "of a part",
    "```",
    '```ts program source="examples/guide/errors.ts"',
    "fail();",
    "```",
  ].join("\n");

  expect(listPagePrograms("docs/page.md", text)).toEqual([
    { path: "docs/page.md", line: 2, example: "examples/guide/calls.ts", content: "start();", shown: "started" },
    { path: "docs/page.md", line: 15, example: "examples/guide/errors.ts", content: "fail();" },
  ]);
});
