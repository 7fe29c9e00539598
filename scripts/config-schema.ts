import { join } from "node:path";
import ts from "typescript";
import { configSchema } from "../src/hub/config-schema.ts";
import { root } from "./subpaths.ts";

const configFile = join(root, "src/hub/config.ts");

/** A JSON Schema, as far as the description of a configuration uses it. */
interface Schema {
  type?: string;
  description?: string;
  properties?: Record<string, Schema>;
  patternProperties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  anyOf?: Schema[];
  required?: string[];
  isProgramOnly?: boolean;
}

/**
 * Returns the JSON Schema of `operations.config.json` and `operations.config.yaml`. The descriptions that editors show are the
 * comments of `HubConfig` and its parts.
 */
export function createConfigSchema(): object {
  const schema = toPublished(configSchema as Schema)!;
  const options: ts.CompilerOptions = {
    module: ts.ModuleKind.NodeNext,
    lib: ["lib.es2022.d.ts"],
    allowImportingTsExtensions: true,
    noEmit: true,
    strict: true,
    types: [],
  };
  const host = ts.createCompilerHost(options);
  // TypeBox derives types of ours from schemas. Reading the types of other packages takes longer than everything else.
  const isRead = (name: string, file: string) => /^\.|^typebox/.test(name) || file.includes("/node_modules/typebox/");
  host.resolveModuleNameLiterals = (names, file) =>
    names.map(({ text }) =>
      isRead(text, file) ? ts.resolveModuleName(text, file, options, host) : { resolvedModule: undefined },
    );
  const program = ts.createProgram([configFile], options, host);
  describe(schema, [findType(program, "HubConfig")], program.getTypeChecker());
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Configuration of a hub of @alkdev/operations",
    ...schema,
  };
}

/** Returns a copy without what only programs can contain, and with the keyword for records that editors complete best. */
function toPublished(schema: Schema): Schema | undefined {
  if (schema.isProgramOnly) return undefined;
  const { patternProperties, anyOf, properties = {}, required = [], ...rest } = schema;
  const members = Object.entries(properties).map(([key, member]) => [key, toPublished(member)] as const);
  if (members.some(([key, member]) => member === undefined && required.includes(key))) return undefined;
  const alternatives = anyOf?.map(toPublished).filter((it) => it !== undefined) ?? [];
  if (alternatives.length === 1) return alternatives[0];
  const [item] = Object.values(patternProperties ?? {});
  return {
    ...rest,
    ...(members.length > 0 && { properties: Object.fromEntries(members.filter(hasValue)) }),
    ...(required.length > 0 && { required }),
    ...(alternatives.length > 0 && { anyOf: alternatives }),
    ...(item !== undefined && { additionalProperties: toPublished(item) ?? true }),
    ...(schema.items !== undefined && { items: toPublished(schema.items)! }),
  };
}

function hasValue(entry: readonly [string, Schema | undefined]): entry is [string, Schema] {
  return entry[1] !== undefined;
}

function findType(program: ts.Program, name: string): ts.Type {
  const checker = program.getTypeChecker();
  const file = program.getSourceFile(configFile)!;
  const symbol = checker.getExportsOfModule(checker.getSymbolAtLocation(file)!).find((it) => it.name === name)!;
  return checker.getDeclaredTypeOfSymbol(symbol);
}

/** Adds the comments of the members of some types to a schema that describes one of them. */
function describe(schema: Schema, types: readonly ts.Type[], checker: ts.TypeChecker): void {
  const parts = types.flatMap((type) => (type.isUnion() ? type.types : [type]));
  for (const alternative of schema.anyOf ?? []) describe(alternative, parts, checker);
  const { properties = {}, required = [], additionalProperties, items } = schema;
  const matching = parts.filter((type) => required.every((key) => type.getProperty(key) !== undefined));
  for (const [key, member] of Object.entries(properties)) {
    const symbols = matching.flatMap((type) => type.getProperty(key) ?? []);
    const description = symbols.map((symbol) => commentOf(symbol, checker)).find((comment) => comment !== "");
    if (description !== undefined) member.description = description;
    describe(
      member,
      symbols.map((symbol) => checker.getTypeOfSymbol(symbol)),
      checker,
    );
  }
  const indexed = (kind: ts.IndexKind) => parts.flatMap((type) => checker.getIndexTypeOfType(type, kind) ?? []);
  if (typeof additionalProperties === "object") describe(additionalProperties, indexed(ts.IndexKind.String), checker);
  if (items !== undefined) describe(items, indexed(ts.IndexKind.Number), checker);
}

/** Returns the comment of a member as text, with its default value. */
function commentOf(symbol: ts.Symbol, checker: ts.TypeChecker): string {
  const tag = symbol.getJsDocTags(checker).find(({ name }) => name === "default");
  const text = ts.displayPartsToString(symbol.getDocumentationComment(checker));
  const preset = tag === undefined ? "" : ` Default: ${ts.displayPartsToString(tag.text)}.`;
  return `${text}${preset}`
    .replace(/\{@link (\w+)\}/g, "$1")
    .replace(/\s+/g, " ")
    .trim();
}
