import { readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import ts from "typescript";

/** Maximum number of test files per mutant. */
const maxTests = 32;
/** Number of test files of the chosen folders that are taken although they are neither direct importers nor in the same folder. */
const minOfFolders = 24;
/** Number of test files below which those of other folders are taken. */
const minTests = 8;

/** Finds the test files of a source file. Paths are relative to the root of the repository. */
export type FindTests = (file: string) => string[];

/**
 * Reads the imports of `files` and returns a function that lists the tests of a file, nearest first: those that import it
 * directly, those of its own folder that reach it through other modules, then others of `folders`, then all others.
 */
export function createFindTests(root: string, files: readonly string[], folders: readonly string[]): FindTests {
  const importers = readImporters(root, files);
  const isInside = (path: string, folder: string) => path.startsWith(`${folder}/`);
  return (file) => {
    const own = folders.find((folder) => isInside(file, folder)) ?? "";
    const tests = [...measureDistances(importers, file)]
      .filter(([path]) => path.endsWith(".test.ts") && path.startsWith("src/"))
      .sort(([path, distance], [otherPath, other]) => distance - other || (path < otherPath ? -1 : 1));
    const paths = tests.map(([path]) => path);
    const chosen = new Set(
      tests.filter(([path, distance]) => distance === 1 || isInside(path, own)).map(([path]) => path),
    );
    const fill = (from: readonly string[], count: number) => {
      for (const path of from) if (chosen.size < count) chosen.add(path);
    };
    const ofFolders = paths.filter((path) => folders.some((folder) => isInside(path, folder)));
    fill(ofFolders, minOfFolders);
    fill(paths, minTests);
    return [...chosen].slice(0, maxTests);
  };
}

/** Counts the imports between each file that reaches `file` and `file`. */
function measureDistances(importers: ReadonlyMap<string, readonly string[]>, file: string): Map<string, number> {
  const distances = new Map([[file, 0]]);
  for (const [path, distance] of distances) {
    for (const importer of importers.get(path) ?? []) {
      if (!distances.has(importer)) distances.set(importer, distance + 1);
    }
  }
  return distances;
}

/** Returns the files that import each file. Imports of types do not count, because they do not run. */
function readImporters(root: string, files: readonly string[]): Map<string, string[]> {
  const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, files: [], include: [] }, ts.sys, root);
  const cache = ts.createModuleResolutionCache(root, (name) => name, options);
  const importers = new Map<string, string[]>();
  for (const file of files) {
    const path = join(root, file);
    for (const specifier of listImports(readFileSync(path, "utf8"))) {
      const mode = ts.ModuleKind.ESNext;
      const resolved = ts.resolveModuleName(specifier, path, options, ts.sys, cache, undefined, mode).resolvedModule;
      if (resolved === undefined || resolved.isExternalLibraryImport) continue;
      const target = relative(root, resolved.resolvedFileName).replaceAll(sep, "/");
      importers.set(target, [...(importers.get(target) ?? []), file]);
    }
  }
  return importers;
}

function listImports(text: string): string[] {
  const specifiers: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) {
      const isType = ts.isImportDeclaration(node) ? node.importClause?.isTypeOnly : node.isTypeOnly;
      if (isType !== true && node.moduleSpecifier !== undefined) specifiers.push(textOf(node.moduleSpecifier));
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      specifiers.push(textOf(node.arguments[0]!));
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("imports.ts", text, ts.ScriptTarget.Latest));
  return specifiers.filter((specifier) => specifier !== "");
}

function textOf(node: ts.Expression): string {
  return ts.isStringLiteralLike(node) ? node.text : "";
}
