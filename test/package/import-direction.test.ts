import { builtinModules } from "node:module";
import { expect, test } from "vitest";
import { type Import, listSources, readImports } from "./imports.ts";
import { layers, nodeLayers, openFolders, typeOnly, typePackages } from "./layers.ts";

const imports = listSources().flatMap((file) => readImports(file));

/** `src/registry/call.ts:3: import … — reason`: enough to find and understand the line. */
const complain = (offender: Import, reason: string) =>
  `src/${offender.file}:${offender.line}: ${offender.text} — ${reason}`;

/** The row of the table that a file belongs to: `registry`, `from/openapi`, `from/source.ts`, `index.ts`. */
function layerOf(file: string): string {
  const [first = "", second] = file.split("/");
  if (second === undefined) return first;
  if (first !== "from") return first;
  return `from/${second}`;
}

const rowOf = (layer: string) => layers[layer] ?? (layer.startsWith("from/") ? layers["from/*"] : undefined);

const isBuiltin = (specifier: string) => specifier.startsWith("node:") || builtinModules.includes(specifier);

function packageOf(specifier: string): string {
  const [scope = "", name] = specifier.split("/");
  return scope.startsWith("@") ? `${scope}/${name}` : scope;
}

function whyWrong(found: Import): string | undefined {
  const layer = layerOf(found.file);
  const row = rowOf(layer);
  if (!row) return `${layer} is not in test/package/layers.ts`;
  if (found.exportsAll) return "a door names what it exports; no export *";
  if (found.target === undefined) return whyForeignWrong(found, layer, row.packages);
  const target = layerOf(found.target);
  if (target === layer) return undefined;
  const allowed =
    row.ours.includes(target) ||
    (target !== "from/source.ts" && target.startsWith("from/") && row.ours.includes("from/*"));
  if (!allowed) return `${layer} may import ${row.ours.join(", ") || "nothing of ours"}`;
  if (found.kind !== "type" && typeOnly[layer]?.includes(target)) return `${layer} imports types only from ${target}`;
  if (openFolders.includes(target)) return undefined;
  if (found.target !== target && found.target !== `${target}/index.ts`)
    return `${target} is entered through its index.ts`;
  return undefined;
}

function whyForeignWrong(found: Import, layer: string, packages: string[]): string | undefined {
  if (found.computed)
    return nodeLayers.includes(layer) ? undefined : `${layer} imports a path that only shows at run time`;
  if (isBuiltin(found.specifier)) {
    return nodeLayers.includes(layer) || found.kind === "type" ? undefined : `${layer} also runs in a browser`;
  }
  if (packages.includes(packageOf(found.specifier))) return undefined;
  if (found.kind === "type" && layer !== "internal" && typePackages.includes(packageOf(found.specifier)))
    return undefined;
  return `${layer} may import the packages ${packages.join(", ") || "(none)"}`;
}

function complaintsAbout(list: Import[]): string[] {
  return list.flatMap((found) => {
    const reason = whyWrong(found);
    return reason === undefined ? [] : [complain(found, reason)];
  });
}

test("imports only point down the layers, through doors, to packages that belong there", () => {
  expect(complaintsAbout(imports)).toEqual([]);
});

test.each([
  ["internal/a.ts", 'import { x } from "../operation/index.ts";', "internal may import nothing of ours"],
  ["operation/a.ts", 'import type { X } from "../registry/index.ts";', "operation may import internal"],
  ["schema/a.ts", 'export { x } from "../operation/spec.ts";', "operation is entered through its index.ts"],
  [
    "from/openapi/a.ts",
    'import { x } from "../mcp/index.ts";',
    "from/openapi may import internal, operation, schema, from/source.ts",
  ],
  [
    "from/mcp/a.ts",
    'type X = import("../../registry/index.ts").X;',
    "from/mcp may import internal, operation, schema, from/source.ts",
  ],
  ["registry/a.ts", 'import { x } from "../from/source.ts";', "registry imports types only from from/source.ts"],
  ["registry/a.ts", 'const x = await import("yaml");', "registry may import the packages typebox"],
  ["schema/a.ts", 'import { readFileSync } from "node:fs";', "schema also runs in a browser"],
  ["from/modules/a.ts", "const x = import(path);", "from/modules imports a path that only shows at run time"],
  ["index.ts", 'export * from "./operation/index.ts";', "a door names what it exports; no export *"],
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
