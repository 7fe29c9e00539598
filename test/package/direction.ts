import { isBuiltin } from "node:module";
import { dirname } from "node:path";
import { subpaths } from "../../scripts/subpaths.ts";
import type { Import } from "./imports.ts";
import {
  type Layer,
  layers,
  lazyNodeLayers,
  lazyPackages,
  moduleLoaders,
  nodeLayers,
  openFolders,
  typeOnly,
  typePackages,
} from "./layers.ts";

/** Folders whose own folders and files are layers. */
const groups = ["from", "transport"];

/** Says, one line each, which imports go against the layers and why. */
export function complaintsAbout(imports: Import[]): string[] {
  return imports.flatMap((found) => {
    const reason = whyWrong(found);
    return reason === undefined ? [] : [complain(found, reason)];
  });
}

/** `src/registry/call.ts:3: import … — reason`: enough to find and understand the line. */
export function complain({ file, line, text }: Import, reason: string): string {
  return `src/${file}:${line}: ${text} — ${reason}`;
}

/** The row of the table that a file belongs to: `registry`, `call/outgoing`, `from/openapi`, `from/source.ts`, `index.ts`. */
function layerOf(file: string): string {
  const [first = "", second] = file.split("/");
  const inner = `${first}/${second}`;
  return groups.includes(first) || Object.hasOwn(layers, inner) ? inner : first;
}

/** The `group/*` that a layer without a row of its own belongs to. */
function groupOf(layer: string): string {
  return `${layer.split("/", 1)[0]}/*`;
}

function rowOf(layer: string): Layer | undefined {
  return layers[layer] ?? layers[groupOf(layer)];
}

function packageOf(specifier: string): string {
  const [scope = "", name] = specifier.split("/");
  return scope.startsWith("@") ? `${scope}/${name}` : scope;
}

function whyWrong(found: Import): string | undefined {
  const layer = layerOf(found.file);
  const row = rowOf(layer);
  if (!row) return `${layer} is not in test/package/layers.ts`;
  if (found.exportsAll && !isDoor(found))
    return "only the index.ts or inside.ts of a folder exports all of a file in it";
  if (found.target === undefined) return whyForeignWrong(found, layer, row.packages);
  const target = layerOf(found.target);
  if (target === layer) return undefined;
  const allowed = row.ours.includes(target) || (!target.endsWith(".ts") && row.ours.includes(groupOf(target)));
  if (!allowed) return `${layer} may import ${row.ours.join(", ") || "nothing of ours"}`;
  if (found.kind !== "type" && typeOnly[layer]?.includes(target)) return `${layer} imports types only from ${target}`;
  if (openFolders.includes(target) || row.ours.includes(found.target)) return undefined;
  if (found.target !== target && found.target !== `${target}/index.ts`)
    return `${target} is entered through its index.ts`;
  return undefined;
}

/** Whether an `export *` is part of the door of a folder. The entries of the package name what they export. */
function isDoor({ file, target = "" }: Import): boolean {
  const isEntry = subpaths.some(({ entry }) => file === `${entry}.ts`);
  return !isEntry && /\/(?:index|inside)\.ts$/.test(file) && dirname(target) === dirname(file);
}

function whyForeignWrong(found: Import, layer: string, packages: string[]): string | undefined {
  if (found.computed)
    return moduleLoaders.includes(layer) ? undefined : `${layer} imports a path that only shows at run time`;
  if (isBuiltin(found.specifier)) {
    if (nodeLayers.includes(layer) || found.kind === "type") return undefined;
    return lazyNodeLayers.includes(layer) && found.kind === "dynamic" ? undefined : `${layer} also runs in a browser`;
  }
  if (found.kind === "value" && lazyPackages.includes(packageOf(found.specifier)))
    return "an optional peer is loaded with import() when it is used";
  if (packages.includes(packageOf(found.specifier))) return undefined;
  if (found.kind === "type" && layer !== "internal" && typePackages.includes(packageOf(found.specifier)))
    return undefined;
  return `${layer} may import the packages ${packages.join(", ") || "(none)"}`;
}
