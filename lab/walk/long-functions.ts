import ts from "typescript";

/** A function with more lines than a reader holds in mind. */
export interface LongFunction {
  /** Its name, or `(anonymous)`. */
  name: string;
  /** The line that it begins at, from 1. */
  line: number;
  /** Lines from its first to its last. */
  lines: number;
}

/** Returns the functions of a file with more than `limit` lines, without those that only contain such functions. */
export function findLongFunctions(text: string, limit = 60): LongFunction[] {
  const file = ts.createSourceFile("file.tsx", text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
  const lineOf = (position: number) => file.getLineAndCharacterOfPosition(position).line;
  const visit = (node: ts.Node): LongFunction[] => {
    const inner: LongFunction[] = [];
    ts.forEachChild(node, (child) => {
      inner.push(...visit(child));
    });
    if (!ts.isFunctionLike(node) || !("body" in node) || node.body === undefined) return inner;
    const first = lineOf(node.getStart(file));
    const lines = lineOf(node.getEnd()) - first + 1;
    if (lines <= limit || inner.length > 0) return inner;
    return [{ name: nameOf(node, file), line: first + 1, lines }];
  };
  return visit(file);
}

function nameOf(node: ts.SignatureDeclaration, file: ts.SourceFile): string {
  const name = node.name ?? (ts.isVariableDeclaration(node.parent) ? node.parent.name : undefined);
  return name?.getText(file) ?? "(anonymous)";
}
