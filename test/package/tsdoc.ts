import ts from "typescript";
import { root } from "../../scripts/subpaths.ts";

/** What the doors of the package lack in TSDoc. */
export interface Documentation {
  /** Members of exported types without a sentence, as `Type.member`. */
  undocumented: string[];
  /** Exported names, and members of exported types, that have an `@example`. */
  withExample: Set<string>;
}

/** Reads the TSDoc of every exported name of some source files, and of the members of exported types. */
export function readDocumentation(doors: readonly string[]): Documentation {
  const { config } = ts.readConfigFile(`${root}/tsconfig.json`, ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const program = ts.createProgram([...doors], { ...options, noEmit: true });
  const checker = program.getTypeChecker();
  const undocumented = new Set<string>();
  const withExample = new Set<string>();
  for (const door of doors) {
    const module = checker.getSymbolAtLocation(program.getSourceFile(door)!)!;
    for (const exported of checker.getExportsOfModule(module)) {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
      if (!isOurs(symbol)) continue;
      if (hasExample(symbol, checker)) withExample.add(exported.name);
      for (const member of membersOf(symbol, checker)) {
        const name = `${exported.name}.${member.name}`;
        if (member.getDocumentationComment(checker).length === 0) undocumented.add(name);
        if (hasExample(member, checker)) withExample.add(name);
      }
    }
  }
  return { undocumented: [...undocumented].sort(), withExample };
}

/** The public members that the package itself declares on an exported interface, class or object type. */
function membersOf(symbol: ts.Symbol, checker: ts.TypeChecker): ts.Symbol[] {
  const isType = (symbol.flags & (ts.SymbolFlags.Interface | ts.SymbolFlags.Class | ts.SymbolFlags.TypeAlias)) !== 0;
  if (!isType) return [];
  const type = checker.getDeclaredTypeOfSymbol(symbol);
  const parts = type.isUnion() ? type.types : [type];
  return parts
    .flatMap((part) => checker.getPropertiesOfType(part))
    .filter((member) => isOurs(member) && isPublic(member) && !isDiscriminant(member, checker));
}

/** Whether a member distinguishes the shapes of a union: its values are its documentation. */
function isDiscriminant(member: ts.Symbol, checker: ts.TypeChecker): boolean {
  return ["kind", "source", "type"].includes(member.name) && checker.getTypeOfSymbol(member).isStringLiteral();
}

function isPublic(member: ts.Symbol): boolean {
  if (member.name.startsWith("~") || member.name.startsWith("__")) return false;
  const hidden = ts.ModifierFlags.Private | ts.ModifierFlags.Protected;
  return (member.declarations ?? []).every((it) => {
    const name = ts.getNameOfDeclaration(it);
    return !(ts.getCombinedModifierFlags(it) & hidden) && !(name !== undefined && ts.isPrivateIdentifier(name));
  });
}

function isOurs(symbol: ts.Symbol): boolean {
  return (symbol.declarations ?? []).some((it) =>
    it.getSourceFile().fileName.startsWith(`${root.replace(/\/$/, "")}/src/`),
  );
}

function hasExample(symbol: ts.Symbol, checker: ts.TypeChecker): boolean {
  return symbol.getJsDocTags(checker).some(({ name }) => name === "example");
}
