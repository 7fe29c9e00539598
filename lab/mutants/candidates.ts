import ts from "typescript";

/** A change of one source file that its tests should notice. */
export interface Mutant {
  /** The path of the file, relative to the root of the repository. */
  file: string;
  /** The line of the change, from 1. */
  line: number;
  /** What was changed, such as `comparison`. */
  kind: string;
  /** The offset of the first character that is replaced. */
  start: number;
  /** The offset behind the last character that is replaced. */
  end: number;
  /** What stands there afterwards. */
  replacement: string;
}

const { SyntaxKind } = ts;

/** Operators of two operands and what replaces them. */
const swapped = new Map<ts.SyntaxKind, { kind: string; to: string }>([
  [SyntaxKind.LessThanToken, { kind: "comparison", to: "<=" }],
  [SyntaxKind.LessThanEqualsToken, { kind: "comparison", to: "<" }],
  [SyntaxKind.GreaterThanToken, { kind: "comparison", to: ">=" }],
  [SyntaxKind.GreaterThanEqualsToken, { kind: "comparison", to: ">" }],
  [SyntaxKind.EqualsEqualsEqualsToken, { kind: "comparison", to: "!==" }],
  [SyntaxKind.ExclamationEqualsEqualsToken, { kind: "comparison", to: "===" }],
  [SyntaxKind.AmpersandAmpersandToken, { kind: "logic", to: "||" }],
  [SyntaxKind.BarBarToken, { kind: "logic", to: "&&" }],
  [SyntaxKind.QuestionQuestionToken, { kind: "logic", to: "&&" }],
  [SyntaxKind.QuestionQuestionEqualsToken, { kind: "logic", to: "=" }],
  [SyntaxKind.PlusToken, { kind: "arithmetic", to: "-" }],
  [SyntaxKind.MinusToken, { kind: "arithmetic", to: "+" }],
  [SyntaxKind.AsteriskToken, { kind: "arithmetic", to: "/" }],
  [SyntaxKind.SlashToken, { kind: "arithmetic", to: "*" }],
  [SyntaxKind.PlusEqualsToken, { kind: "arithmetic", to: "-=" }],
  [SyntaxKind.MinusEqualsToken, { kind: "arithmetic", to: "+=" }],
]);

/** Lists every change of a file that this program knows, in the order of the text. */
export function listCandidates(file: string, text: string): Mutant[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: Mutant[] = [];
  const add = (kind: string, node: ts.Node, replacement: string, end = node.end) => {
    const start = node.getStart(source);
    found.push({ file, line: source.getLineAndCharacterOfPosition(start).line + 1, kind, start, end, replacement });
  };
  const visit = (node: ts.Node): void => {
    if (isSkipped(node)) return;
    if (ts.isExpressionStatement(node) && isRemovable(node.expression)) add("statement", node, ";");
    else if (ts.isReturnStatement(node)) add("return", node, ";");
    else if (ts.isThrowStatement(node))
      return add("throw", node, ";"); // What it throws is a message.
    else if (ts.isArrowFunction(node) && !ts.isBlock(node.body)) add("return", node.body, "undefined");
    else if (ts.isBinaryExpression(node)) addOperator(node);
    else if (ts.isNumericLiteral(node)) add("number", node, neighbour(node.text));
    else if (node.kind === SyntaxKind.TrueKeyword) add("boolean", node, "false");
    else if (node.kind === SyntaxKind.FalseKeyword) add("boolean", node, "true");
    else if (isNegation(node)) add("negation", node, `(${node.operand.getText(source)})`);
    else if (ts.isPostfixUnaryExpression(node) || isStep(node)) addStep(node);
    else if (isOptional(node)) add("optional", node.questionDotToken, ts.isPropertyAccessExpression(node) ? "." : "");
    const condition = conditionOf(node);
    if (condition !== undefined && !hasOwnOpposite(condition))
      add("condition", condition, `!(${condition.getText(source)})`);
    ts.forEachChild(node, visit);
  };
  const addOperator = (node: ts.BinaryExpression) => {
    const swap = swapped.get(node.operatorToken.kind);
    if (swap === undefined || isConcatenation(node)) return;
    const [left, right] = [node.left.getText(source), node.right.getText(source)];
    // Without the parentheses, `a ?? b ?? c` would become `a && b ?? c`, which is a syntax error.
    if (swap.kind === "logic" && swap.to !== "=") add(swap.kind, node, `((${left}) ${swap.to} (${right}))`);
    else add(swap.kind, node.operatorToken, swap.to);
  };
  const addStep = (node: ts.PrefixUnaryExpression | ts.PostfixUnaryExpression) => {
    const operand = node.operand.getText(source);
    const operator = node.operator === SyntaxKind.PlusPlusToken ? "--" : "++";
    add("arithmetic", node, ts.isPrefixUnaryExpression(node) ? operator + operand : operand + operator);
  };
  visit(source);
  return found;
}

/** Returns the text of a file with a change. */
export function applyMutant(text: string, { start, end, replacement }: Mutant): string {
  return text.slice(0, start) + replacement + text.slice(end);
}

/** Formats a change on one line, as `before → after`. */
export function describeMutant(text: string, { start, end, replacement }: Mutant): string {
  const shorten = (code: string) => {
    const line = code.replace(/\s+/g, " ");
    return line.length > 70 ? `${line.slice(0, 69)}…` : line;
  };
  return `${shorten(text.slice(start, end))} → ${replacement === "" || replacement === ";" ? "(removed)" : shorten(replacement)}`;
}

/** Types, imports and the texts that people read: messages of errors and of the log. */
function isSkipped(node: ts.Node): boolean {
  return (
    ts.isTypeNode(node) ||
    ts.isInterfaceDeclaration(node) ||
    ts.isTypeAliasDeclaration(node) ||
    ts.isImportDeclaration(node) ||
    ts.isExportDeclaration(node) ||
    ts.isTemplateExpression(node) ||
    (ts.isNewExpression(node) && /Error$/.test(node.expression.getText())) ||
    (ts.isCallExpression(node) && isLogging(node)) ||
    (ts.isExpressionStatement(node) && ts.isCallExpression(node.expression) && isLogging(node.expression)) ||
    (ts.isPropertyAssignment(node) && ts.isNumericLiteral(node.name))
  );
}

function isLogging(call: ts.CallExpression): boolean {
  return /^(?:console|log|logger|\w+Log|warnOnce|warnVisibly)\b/.test(call.expression.getText());
}

/** Calls, assignments and deletions. The call of a parent's constructor cannot be missing. */
function isRemovable(expression: ts.Expression): boolean {
  if (ts.isAwaitExpression(expression) || ts.isVoidExpression(expression)) return isRemovable(expression.expression);
  if (ts.isCallExpression(expression)) return expression.expression.kind !== SyntaxKind.SuperKeyword;
  if (ts.isBinaryExpression(expression)) return expression.operatorToken.kind === SyntaxKind.EqualsToken;
  return ts.isDeleteExpression(expression);
}

function isNegation(node: ts.Node): node is ts.PrefixUnaryExpression {
  return ts.isPrefixUnaryExpression(node) && node.operator === SyntaxKind.ExclamationToken;
}

function isStep(node: ts.Node): node is ts.PrefixUnaryExpression {
  if (!ts.isPrefixUnaryExpression(node)) return false;
  return node.operator === SyntaxKind.PlusPlusToken || node.operator === SyntaxKind.MinusMinusToken;
}

function isOptional(node: ts.Node): node is (
  | ts.PropertyAccessExpression
  | ts.ElementAccessExpression
  | ts.CallExpression
) & {
  questionDotToken: ts.QuestionDotToken;
} {
  const mayBe = ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node) || ts.isCallExpression(node);
  return mayBe && node.questionDotToken !== undefined;
}

function conditionOf(node: ts.Node): ts.Expression | undefined {
  if (ts.isIfStatement(node) || ts.isWhileStatement(node) || ts.isDoStatement(node)) return node.expression;
  if (ts.isForStatement(node) || ts.isConditionalExpression(node)) return node.condition;
  return undefined;
}

/** Whether another change already yields the opposite of a condition. */
function hasOwnOpposite(condition: ts.Expression): boolean {
  if (isNegation(condition)) return true;
  if (condition.kind === SyntaxKind.TrueKeyword || condition.kind === SyntaxKind.FalseKeyword) return true;
  if (!ts.isBinaryExpression(condition)) return false;
  const { kind } = condition.operatorToken;
  return kind === SyntaxKind.EqualsEqualsEqualsToken || kind === SyntaxKind.ExclamationEqualsEqualsToken;
}

/** Whether a plus joins strings, as far as its operands show. */
function isConcatenation({ left, operatorToken, right }: ts.BinaryExpression): boolean {
  const { kind } = operatorToken;
  if (kind !== SyntaxKind.PlusToken && kind !== SyntaxKind.PlusEqualsToken) return false;
  const isText = (node: ts.Expression): boolean =>
    ts.isStringLiteralLike(node) ||
    ts.isTemplateExpression(node) ||
    (ts.isBinaryExpression(node) && isConcatenation(node));
  return isText(left) || isText(right);
}

/** The nearest number on one side: one more than an even number, one less than any other. */
function neighbour(text: string): string {
  const value = Number(text);
  return String(value % 2 === 0 ? value + 1 : value - 1);
}
