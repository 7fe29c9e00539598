import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import ts from "typescript";
import { root } from "../../scripts/subpaths.ts";

/** A piece of a file that people read: a comment, a string, a part of a template, or a page. */
export interface Prose {
  /** Relative to the root of the repository. */
  file: string;
  line: number;
  /** On one line: line breaks and the marks of comments are spaces. */
  text: string;
}

const codeFolders = ["src", "test", "scripts", "examples", "benches", "docs"];

/** Lists our code and pages, relative to the root. Fixtures are not ours to write. */
export function listFiles(): string[] {
  const inFolders = codeFolders.flatMap((folder) =>
    readdirSync(resolve(root, folder), { recursive: true, encoding: "utf8" }).map((file) => join(folder, file)),
  );
  const pages = readdirSync(root).filter((file) => file.endsWith(".md"));
  return [...pages, ...inFolders].filter((file) => /\.(ts|mjs|js|md)$/.test(file) && !isForeign(file)).sort();
}

function isForeign(file: string): boolean {
  return file.startsWith(join("test", "fixtures")) || file.includes("node_modules");
}

/** Reads what people read in a file: all of a page, and the comments and strings of a program. */
export function readProse(file: string, text = readFileSync(resolve(root, file), "utf8")): Prose[] {
  return file.endsWith(".md") ? [{ file, line: 1, text: toOneLine(text) }] : readCode(file, text);
}

function readCode(file: string, text: string): Prose[] {
  const parsed = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: Prose[] = [];
  const add = (start: number, prose: string) =>
    found.push({ file, line: parsed.getLineAndCharacterOfPosition(start).line + 1, text: toOneLine(prose) });

  // Literals are blanked out, so that what looks like a comment in the rest is one.
  let rest = "";
  const visit = (node: ts.Node): void => {
    if (ts.isLiteralExpression(node) || ts.isTemplateMiddleOrTemplateTail(node) || ts.isTemplateHead(node)) {
      const start = node.getStart();
      rest += text.slice(rest.length, start) + " ".repeat(node.end - start);
      if (!ts.isRegularExpressionLiteral(node) && !ts.isNumericLiteral(node)) add(start, node.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(parsed);
  rest += text.slice(rest.length);
  for (const { 0: comment, index } of rest.matchAll(/\/\*[\s\S]*?\*\/|(?:\/\/[^\n]*(?:\n[ \t]*(?=\/\/))?)+/g)) {
    add(index, comment.replace(/^[ \t]*(?:\/\/|\/\*+|\*\/|\*)/gm, " "));
  }
  return found;
}

function toOneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
