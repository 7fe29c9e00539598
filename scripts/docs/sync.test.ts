import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findOrphans } from "./indexes.ts";
import { isShownTruly } from "./output.ts";
import { syncPage } from "./sync.ts";

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "docs-"));
  mkdirSync(join(root, "docs"));
  mkdirSync(join(root, "examples/a"), { recursive: true });
  writeFileSync(join(root, "main.ts"), "// #region call\ncall();\n// #endregion call\n");
  writeFileSync(join(root, "docs", "other.md"), "# The `other` page, twice!\n\n## Again\n\n## Again\n");
});
afterAll(() => rmSync(root, { recursive: true }));

const packed = ["docs/page.md", "docs/other.md", "examples/a/main.ts"];
const sync = (text: string) => syncPage({ root, path: "docs/page.md", text }, async () => "printed", packed);

test("a block is filled from its region", async () => {
  expect(await sync('```ts source="main.ts#call"\nold();\n```\n')).toEqual({
    text: '```ts source="main.ts#call"\ncall();\n```\n',
    problems: [],
  });
});

test.each([
  ["```ts\nx\n```", 'docs/page.md:1: a ts block needs source="file#region", so that it is code that runs'],
  ['```ts source="main.ts#gone"\nx\n```', 'docs/page.md:1: main.ts: there is no region "gone"'],
  ['```ts source="gone.ts"\nx\n```', "docs/page.md:1: there is no file gone.ts"],
  ['\n```txt output="gone.ts"\nx\n```', "docs/page.md:2: there is no file gone.ts"],
  ["```ts\nx", "docs/page.md:1: the code block that begins here has no end"],
  ["see [it](other.md#nowhere)", "docs/page.md:1: link to other.md#nowhere: the heading #nowhere does not exist"],
  ["\n[it]: ./gone.md", "docs/page.md:2: link to ./gone.md: docs/gone.md does not exist"],
  [
    "[a](../main.ts)",
    "docs/page.md:1: link to ../main.ts: main.ts is not in the package, but this page is. Name the file without a link",
  ],
])("a page that is out of date is reported with the reason: %j", async (text, problem) => {
  expect(await sync(text)).toEqual({ text, problems: [problem] });
});

test("links to files, headings and other hosts, and code that looks like a link, are fine", async () => {
  const text = [
    "# Here",
    "[a](other.md) [b](other.md#the-other-page-twice) [c](other.md#again-1) [d](#here) [e](../examples/) [f](../examples/a)",
    "[g](https://example.com/x) [h](mailto:a@example.com) `[i](gone.md)`",
    "```txt",
    "[j](gone.md)",
    "```",
  ].join("\n");

  expect(await sync(text)).toEqual({ text, problems: [] });
});

test("a page that is not in the package may link to every file", async () => {
  const page = { root, path: "docs/internal.md", text: "[a](../main.ts)" };

  expect((await syncPage(page, async () => "printed", packed)).problems).toEqual([]);
});

test("an index links every page, and every folder by one of its files", () => {
  const text = "[a](a.md) [b](../examples/b/main.ts) [c](../examples/c#top)";
  const targets = ["docs/a.md", "docs/d.md", "examples/b", "examples/c", "examples/cc"];

  expect(findOrphans({ path: "docs/README.md", text, targets })).toEqual([
    "docs/README.md: does not link docs/d.md. Add a line for it.",
    "docs/README.md: does not link examples/cc. Add a line for it.",
  ]);
});

test("shown output may differ in tokens", () => {
  const shown = `Token: ${"aB-_".repeat(10)}one`;
  const printed = `Token: ${"c0-D".repeat(10)}two`;

  expect([isShownTruly(shown, printed), isShownTruly(`${shown}longer`, printed)]).toEqual([true, false]);
});

test("shown output may differ in times, ids, durations and ports, and may be a part", () => {
  const printed = "at 1763195394000, 2026-11-15T08:29:54.000Z\ntook 3.2 ms on 127.0.0.1:4312 \n3 items\n";

  expect(isShownTruly("at 1763195394999, 2027-11-15T08:29:54Z\ntook 14 ms on 127.0.0.1:80\n3 items", printed)).toBe(
    true,
  );
  expect(isShownTruly("took 14 ms on 127.0.0.1:80\n3 items", printed)).toBe(true);
});

test.each(["", "4 items", "3 item", "at 1763195394000, 2026-11-15T08:29:54.000Z\n3 items"])(
  "shown output that was never printed is found: %j",
  (shown) => {
    const printed = "at 1763195394000, 2026-11-15T08:29:54.000Z\ntook 3.2 ms\n3 items\n";

    expect(isShownTruly(shown, printed)).toBe(false);
  },
);
