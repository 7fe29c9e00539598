import { expect, test } from "vitest";
import { listPagePrograms } from "./page-programs.ts";

test("blocks with the word program are listed, with the output that follows them", () => {
  const text = [
    "# Page",
    '```ts program source="examples/calls/main.ts#start"',
    "start();",
    "```",
    "It prints:",
    '```txt output="examples/calls/main.ts"',
    "started",
    "```",
    '```ts source="examples/calls/main.ts#part"',
    "part();",
    "```",
    '```txt output="examples/calls/main.ts"',
    "of a part",
    "```",
    '```ts program source="examples/errors/main.ts"',
    "fail();",
    "```",
  ].join("\n");

  expect(listPagePrograms("docs/page.md", text)).toEqual([
    { path: "docs/page.md", line: 2, example: "calls", content: "start();", shown: "started" },
    { path: "docs/page.md", line: 15, example: "errors", content: "fail();" },
  ]);
});
