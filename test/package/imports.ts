import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import ts from "typescript";
import { root } from "../../scripts/subpaths.ts";

/** One import, re-export or `import()` in a source file. */
export interface Import {
  /** Relative to `src/`, such as `registry/registry.ts`. */
  file: string;
  line: number;
  /** The statement's first line, for messages. */
  text: string;
  /** The source text where the specifier is computed. */
  specifier: string;
  /** `import(path)`: what is loaded is known at run time only. */
  computed: boolean;
  /** For relative imports: the file it leads to, relative to `src/`. */
  target?: string;
  kind: "value" | "type" | "dynamic";
  /** `export * from`, also with a name. */
  exportsAll: boolean;
}

const sources = resolve(root, "src");

/** The source files that are built, relative to `src/`; tests and their helpers are left out. */
export function listSources(): string[] {
  return readdirSync(sources, { recursive: true, encoding: "utf8" })
    .filter((file) => /\.tsx?$/.test(file) && !/\.(test|test-d)\.ts$|(^|\/)testing\.ts$/.test(file))
    .sort();
}

/** Reads every import of a source file, those inside functions and types included. */
export function readImports(file: string, text = readFileSync(join(sources, file), "utf8")): Import[] {
  const parsed = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const imports: Import[] = [];
  const visit = (node: ts.Node): void => {
    const found = asImport(node);
    if (found) {
      const { line } = parsed.getLineAndCharacterOfPosition(node.getStart());
      const target = found.specifier.startsWith(".")
        ? relative(sources, resolve(sources, dirname(file), found.specifier))
        : undefined;
      imports.push({ file, line: line + 1, text: node.getText().split("\n")[0]!, target, ...found });
    }
    ts.forEachChild(node, visit);
  };
  visit(parsed);
  return imports;
}

function asImport(node: ts.Node): Pick<Import, "specifier" | "computed" | "kind" | "exportsAll"> | undefined {
  if (ts.isImportDeclaration(node)) {
    const kind = node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword ? "type" : "value";
    return { ...read(node.moduleSpecifier), kind, exportsAll: false };
  }
  if (ts.isExportDeclaration(node) && node.moduleSpecifier) {
    const exportsAll = !node.exportClause || ts.isNamespaceExport(node.exportClause);
    return { ...read(node.moduleSpecifier), kind: node.isTypeOnly ? "type" : "value", exportsAll };
  }
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
    return { ...read(node.argument.literal), kind: "type", exportsAll: false };
  }
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
    return { ...read(node.arguments[0]!), kind: "dynamic", exportsAll: false };
  }
  return undefined;
}

function read(node: ts.Node): Pick<Import, "specifier" | "computed"> {
  return ts.isStringLiteralLike(node)
    ? { specifier: node.text, computed: false }
    : { specifier: node.getText(), computed: true };
}
