import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { compileSchema, FromSchema, type SchemaReport } from "./index.ts";

const folder = new URL("../../test/fixtures/mcp-tools/", import.meta.url);

interface Tool {
  name: string;
  inputSchema: unknown;
  outputSchema?: unknown;
}

const lists = readdirSync(folder)
  .filter((file) => file.endsWith(".json"))
  .map((file) => ({ file, tools: JSON.parse(readFileSync(new URL(file, folder), "utf8")) as Tool[] }));

describe("schemas of real MCP servers", () => {
  test.each(lists)("every tool of $file converts, compiles and keeps its JSON", ({ tools }) => {
    const reports: SchemaReport[] = [];
    const schemas = tools.flatMap((tool) =>
      [tool.inputSchema, tool.outputSchema].filter((schema) => schema !== undefined),
    );

    for (const schema of schemas) {
      const type = FromSchema(schema, { onReport: (report) => reports.push(report) });
      // Tools accept and return objects, so a string is invalid for all of them.
      expect(compileSchema(type).check("text")).toBe(false);
      expect(JSON.stringify(type)).toBe(JSON.stringify(schema));
    }

    expect(schemas.length).toBeGreaterThanOrEqual(tools.length);
    expect(reports).toEqual([]);
  });
});
