import ts from "typescript";

/** Types that need parentheses in a union. */
const parenthesized = new Set([
  ts.SyntaxKind.FunctionType,
  ts.SyntaxKind.ConstructorType,
  ts.SyntaxKind.ConditionalType,
  ts.SyntaxKind.InferType,
]);

/**
 * Adds `undefined` to the types of the optional properties in a declaration file. This is what they mean here, because the
 * package is compiled without `exactOptionalPropertyTypes`. For users who enable it, they would refuse `undefined`.
 */
export function acceptUndefined(declarations: string): string {
  const file = ts.createSourceFile("index.d.ts", declarations, ts.ScriptTarget.Latest);
  const insertions: { at: number; text: string }[] = [];
  const visit = (node: ts.Node): void => {
    ts.forEachChild(node, visit);
    if (!ts.isPropertySignature(node) && !ts.isPropertyDeclaration(node) && !ts.isMappedTypeNode(node)) return;
    const { questionToken, type } = node;
    if (type === undefined || questionToken === undefined || questionToken.kind === ts.SyntaxKind.MinusToken) return;
    if (ts.isUnionTypeNode(type) && type.types.some(({ kind }) => kind === ts.SyntaxKind.UndefinedKeyword)) return;
    const [open, close] = parenthesized.has(type.kind) ? ["(", ")"] : ["", ""];
    insertions.push({ at: type.getStart(file), text: open }, { at: type.end, text: `${close} | undefined` });
  };
  visit(file);
  let text = declarations;
  for (const { at, text: inserted } of insertions.sort((a, b) => b.at - a.at)) {
    text = text.slice(0, at) + inserted + text.slice(at);
  }
  return text;
}
