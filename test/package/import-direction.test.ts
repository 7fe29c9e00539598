import { isBuiltin } from "node:module";
import { expect, test } from "vitest";
import { complain, complaintsAbout } from "./direction.ts";
import { listSources, readImports } from "./imports.ts";

const imports = listSources().flatMap((file) => readImports(file));

test("imports only point to lower layers, through index.ts files, and to allowed packages", () => {
  expect(complaintsAbout(imports)).toEqual([]);
});

test.each([
  ["internal/a.ts", 'import { x } from "../operation/index.ts";', "internal may import nothing of ours"],
  ["operation/a.ts", 'import type { X } from "../registry/index.ts";', "operation may import internal"],
  ["schema/a.ts", 'export { x } from "../operation/spec.ts";', "operation is entered through its index.ts"],
  [
    "from/openapi/a.ts",
    'import { x } from "../mcp/index.ts";',
    "from/openapi may import internal, operation, operation/inside.ts, schema, from/source.ts, from/report.ts, from/pins.ts, from/read-bounded.ts, middleware, transport/http-form.ts, transport/network-error.ts, transport/unsendable.ts, transport/http-body.ts, transport/json-depth.ts",
  ],
  [
    "from/mcp/a.ts",
    'type X = import("../../registry/index.ts").X;',
    "from/mcp may import internal, operation, operation/inside.ts, schema, from/source.ts, from/report.ts, from/pins.ts, transport/line-reader.ts, transport/mcp-form.ts, transport/network-error.ts, transport/unsendable.ts",
  ],
  ["middleware/a.ts", 'import { x } from "../registry/index.ts";', "middleware imports types only from registry"],
  ["registry/a.ts", 'import { x } from "../from/source.ts";', "registry imports types only from from/source.ts"],
  ["registry/a.ts", 'const x = await import("yaml");', "registry may import the packages typebox, minisearch"],
  ["schema/a.ts", 'import { readFileSync } from "node:fs";', "schema also runs in a browser"],
  ["from/mcp/a.ts", 'import { spawn } from "node:child_process";', "from/mcp also runs in a browser"],
  [
    "from/mcp/a.ts",
    'import { Client } from "@modelcontextprotocol/client";',
    "an optional peer is loaded with import() when it is used",
  ],
  ["from/mcp/a.ts", "const x = import(path);", "from/mcp imports a path that only shows at run time"],
  [
    "index.ts",
    'export * from "./operation/index.ts";',
    "only the index.ts or inside.ts of a folder exports all of a file in it",
  ],
  [
    "auth/index.ts",
    'export * from "./tokens.ts";',
    "only the index.ts or inside.ts of a folder exports all of a file in it",
  ],
  ["from/source.ts", 'import { x } from "../operation/inside.ts";', "operation is entered through its index.ts"],
  ["extra/a.ts", 'import "../internal/index.ts";', "extra is not in test/package/layers.ts"],
])("an import against the direction is named: %s %s", (file, text, reason) => {
  expect(complaintsAbout(readImports(file, text))).toEqual([
    expect.stringMatching(new RegExp(`^src/${file}:1: .* — ${reason.replace(/[.*()/]/g, "\\$&")}$`)),
  ]);
});

test("no Node module is loaded with the root", () => {
  const seen = new Set(["index.ts"]);
  const builtins: string[] = [];

  for (const file of seen) {
    for (const found of imports.filter((it) => it.file === file && it.kind === "value")) {
      if (found.target !== undefined) seen.add(found.target);
      else if (isBuiltin(found.specifier)) builtins.push(complain(found, "loaded with the root"));
    }
  }

  expect(builtins).toEqual([]);
  expect([...seen]).toContain("operation/index.ts");
});
