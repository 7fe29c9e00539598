import ts from "typescript";

/** What one sub-path offers. */
export interface PublicApi {
  /** Names that exist at run time. */
  values: string[];
  /** Names that exist for the compiler only. */
  types: string[];
  /** Our own names without a TSDoc sentence. */
  undocumented: string[];
}

/** Reads the public names of a built entry from its declaration file. */
export function readApi(declarations: string): PublicApi {
  const program = ts.createProgram([declarations], {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    skipLibCheck: true,
    noEmit: true,
    types: [],
  });
  const checker = program.getTypeChecker();
  const module = checker.getSymbolAtLocation(program.getSourceFile(declarations)!);
  if (!module) throw new Error(`${declarations} exports nothing`);
  const api: PublicApi = { values: [], types: [], undocumented: [] };
  for (const exported of checker.getExportsOfModule(module)) {
    const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
    const isValue = (symbol.flags & ts.SymbolFlags.Value) !== 0 && !isTypeOnly(exported);
    api[isValue ? "values" : "types"].push(exported.name);
    if (isOurs(symbol) && symbol.getDocumentationComment(checker).length === 0) api.undocumented.push(exported.name);
  }
  return { values: api.values.sort(), types: api.types.sort(), undocumented: api.undocumented.sort() };
}

function isTypeOnly(symbol: ts.Symbol): boolean {
  return (symbol.declarations ?? []).some((it) => ts.isExportSpecifier(it) && ts.isTypeOnlyExportDeclaration(it));
}

function isOurs(symbol: ts.Symbol): boolean {
  return (symbol.declarations ?? []).some((it) => it.getSourceFile().fileName.includes("/@alkdev/operations/"));
}
