import { expect, test } from "vitest";
import { fillTables } from "./tables.ts";

test("a table is filled from the code that it describes, and the rest of the page stays", async () => {
  const page = "before\n\n<!-- table config history -->\nold\n<!-- end of table -->\n\nafter\n";

  const filled = await fillTables(page);

  expect(filled).toMatch(
    /^before\n\n<!-- table config history -->\n\n\| field \| meaning \| default \|\n\|---\|---\|---\|\n/,
  );
  expect(filled).toContain('| `keep` | How long calls are kept, such as `"7d"`, `"12h"` or `"30m"`. | "7d" |');
  expect(filled).toMatch(/\|\n\n<!-- end of table -->\n\nafter\n$/);
  expect(await fillTables(filled)).toBe(filled);
});

test.each([
  ["commands", "| `call` | Call an operation and print its result. |"],
  ["options calls", "| `--limit N` |"],
  ["limits", "| `callDepth` | 64 | Maximum depth of nested calls. |"],
])("the table %s has its rows", async (name, row) => {
  expect(await fillTables(`<!-- table ${name} -->\n<!-- end of table -->`)).toContain(row);
});

test("an unknown table is a problem", async () => {
  await expect(fillTables("<!-- table birds -->\n<!-- end of table -->")).rejects.toThrow('There is no table "birds".');
});
