import ts from "typescript";

/** What one sub-path offers. */
export interface PublicApi {
  /** Names that exist at run time. */
  values: string[];
  /** Names that exist for the compiler only. */
  types: string[];
  /** Our own names without a TSDoc sentence. */
  undocumented: string[];
  /** Optional properties of types that refuse `undefined` with `exactOptionalPropertyTypes`. */
  exactProperties: string[];
}

/** Reads the public names of a built entry from its declaration file. */
export function readApi(declarations: string): PublicApi {
  const program = ts.createProgram([declarations], {
    strict: true,
    exactOptionalPropertyTypes: true,
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
  const api: PublicApi = { values: [], types: [], undocumented: [], exactProperties: [] };
  for (const exported of checker.getExportsOfModule(module)) {
    const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
    const isValue = (symbol.flags & ts.SymbolFlags.Value) !== 0 && !isTypeOnly(exported);
    api[isValue ? "values" : "types"].push(exported.name);
    if (!isOurs(symbol)) continue;
    if (symbol.getDocumentationComment(checker).length === 0) api.undocumented.push(exported.name);
    for (const name of exactPropertiesOf(symbol, checker)) api.exactProperties.push(`${exported.name}.${name}`);
  }
  return { ...api, values: api.values.sort(), types: api.types.sort(), undocumented: api.undocumented.sort() };
}

/** The optional properties of an exported type that refuse `undefined`. Methods are not properties. */
function exactPropertiesOf(symbol: ts.Symbol, checker: ts.TypeChecker): string[] {
  if (!(symbol.flags & (ts.SymbolFlags.Interface | ts.SymbolFlags.TypeAlias))) return [];
  const declared = checker.getDeclaredTypeOfSymbol(symbol);
  return partsOf(declared)
    .flatMap((part) => checker.getPropertiesOfType(part))
    .filter((member) => member.flags & ts.SymbolFlags.Optional && !(member.flags & ts.SymbolFlags.Method))
    .filter((member) => isOurs(member) && !acceptsUndefined(checker.getTypeOfSymbol(member), checker))
    .map(({ name }) => name);
}

function acceptsUndefined(type: ts.Type, checker: ts.TypeChecker): boolean {
  // A property of a type parameter, such as `Options["signal"]`, has the type of its constraint.
  return partsOf(checker.getBaseConstraintOfType(type) ?? type).some(
    (part) => part.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown) || part === checker.getUndefinedType(),
  );
}

function partsOf(type: ts.Type): ts.Type[] {
  return type.isUnion() ? type.types : [type];
}

function isTypeOnly(symbol: ts.Symbol): boolean {
  return (symbol.declarations ?? []).some((it) => ts.isExportSpecifier(it) && ts.isTypeOnlyExportDeclaration(it));
}

function isOurs(symbol: ts.Symbol): boolean {
  return (symbol.declarations ?? []).some((it) => it.getSourceFile().fileName.includes("/@alkdev/operations/"));
}
