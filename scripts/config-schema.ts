import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript";
import { namespacePattern } from "../src/operation/inside.ts";
import { root } from "./subpaths.ts";

const configFile = join(root, "src/hub/config.ts");

/** The description of `HubConfig` with which a hub checks configurations. `npx tsx scripts/config-schema.ts` writes it. */
export const schemaFile = join(root, "src/hub/config.schema.json");

/** A JSON Schema, as far as the description of a configuration uses it. */
export interface Schema {
  type?: string;
  /** Whether only programs can contain it, as functions. */
  isProgramOnly?: boolean;
  description?: string;
  errorMessage?: string;
  enum?: string[];
  const?: boolean;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  anyOf?: Schema[];
  required?: string[];
  [keyword: string]: unknown;
}

const nonEmpty = { minLength: 1, errorMessage: "must be a string that is not empty" };
const positive = { exclusiveMinimum: 0, errorMessage: "must be a number above 0" };
const count = { minimum: 0, errorMessage: "must be a number of 0 or more" };
const integer = (minimum: number, errorMessage: string) => ({ type: "integer", minimum, errorMessage });
const pattern = (text: string, errorMessage: string) => ({ pattern: text, errorMessage });

/** What types do not say, by the name of a property, or by the names of its parent and its own. Other numbers are above 0. */
const constraints: Readonly<Record<string, object>> = {
  ...Object.fromEntries(
    "token clientId clientSecret command sign host match file id".split(" ").map((it) => [it, nonEmpty]),
  ),
  retries: count,
  attempts: count,
  "restart/limit": count,
  expiresAt: {},
  "history/limit": integer(1, "must be an integer of 1 or more"),
  "history/keep": pattern("^[1-9][0-9]{0,8}[smhd]$", 'must be a duration such as "7d", "12h" or "30m"'),
  port: { ...integer(0, "must be a port: an integer from 0 to 65535"), maximum: 65_535 },
  namespace: pattern(namespacePattern.source, "must be 1 to 64 characters without dots or control characters"),
  hash: pattern(
    "^sha256:[0-9a-fA-F]{64}$",
    'must be "sha256:" and 64 hexadecimal digits. Create a token and its hash with "operations token"',
  ),
};

/** Properties whose types are those of other packages. Their content is not described. */
const foreign: Readonly<Record<string, Schema>> = {
  connect: { type: "object" },
  provider: { type: "object", isProgramOnly: true },
};

/** Creates the description of `HubConfig` from its type. The comments of members become descriptions. */
export function createConfigSchema(): Schema {
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
  const checker = program.getTypeChecker();
  const file = checker.getSymbolAtLocation(program.getSourceFile(configFile)!)!;
  const config = checker.getExportsOfModule(file).find((it) => it.name === "HubConfig")!;
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Configuration of a hub of @alkdev/operations",
    ...toSchema(checker.getDeclaredTypeOfSymbol(config), ["", "HubConfig"], checker),
  };
}

/** @param path - The names of the property that has the type, and of its parent. */
function toSchema(type: ts.Type, path: readonly [string, string], checker: ts.TypeChecker): Schema {
  const parts = type.isUnion() ? type.types : [type];
  const literals = parts.flatMap((it) => (it.isStringLiteral() ? [it.value] : []));
  const isOther = ({ flags, symbol }: ts.Type) =>
    (flags & (ts.TypeFlags.Undefined | ts.TypeFlags.StringLiteral)) === 0 && symbol?.name !== "EnvReference";
  const others = parts.filter(isOther).map((it) => toAlternative(it, path, checker));
  const hasBoth = others.filter((it) => it.const !== undefined).length === 2;
  const alternatives: Schema[] = [
    ...(literals.length > 0 ? [{ type: "string", enum: literals }] : []),
    ...(hasBoth ? [{ type: "boolean", ...constraints[path[1]] }] : []),
    ...others.filter((it) => !hasBoth || it.const === undefined),
  ];
  return alternatives.length === 1 ? alternatives[0]! : { anyOf: alternatives };
}

function toAlternative(type: ts.Type, [parent, name]: readonly [string, string], checker: ts.TypeChecker): Schema {
  const constraint = constraints[`${parent}/${name}`] ?? constraints[name];
  if (type.flags & ts.TypeFlags.String) return { type: "string", ...constraint };
  if (type.flags & ts.TypeFlags.Number) return { type: "number", ...(constraint ?? positive) };
  if (type.flags & ts.TypeFlags.BooleanLiteral) {
    return { type: "boolean", const: checker.typeToString(type) === "true" };
  }
  if (type.getCallSignatures().length > 0) return { type: "function" };
  const item = checker.isArrayType(type) ? checker.getTypeArguments(type as ts.TypeReference)[0] : undefined;
  if (item !== undefined) return { type: "array", items: toSchema(item, [parent, name], checker) };
  const member = checker.getIndexTypeOfType(type, ts.IndexKind.String);
  if (member !== undefined) return { type: "object", additionalProperties: toSchema(member, ["", name], checker) };
  const properties = checker.getPropertiesOfType(type);
  if (properties.length === 0)
    throw new Error(`No JSON Schema for the type of "${name}": ${checker.typeToString(type)}.`);
  const required = properties.filter((it) => !(it.flags & ts.SymbolFlags.Optional)).map((it) => it.name);
  const described = properties.map((it) => {
    const schema = foreign[it.name] ?? toSchema(checker.getTypeOfSymbol(it), [name, it.name], checker);
    return [it.name, { ...schema, description: commentOf(it, checker) }];
  });
  return {
    type: "object",
    properties: Object.fromEntries(described),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
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

/** Returns the JSON Schema for editors: a copy without what only programs can contain. */
export function toPublished(schema: Schema): Schema {
  const { anyOf, properties, items, additionalProperties: member, ...rest } = schema;
  const alternatives = anyOf?.filter(isPublished).map(toPublished) ?? [];
  if (alternatives.length === 1) return { ...rest, ...alternatives[0] };
  const members = Object.entries(properties ?? {}).filter(([, it]) => isPublished(it));
  return {
    ...rest,
    ...(anyOf !== undefined && { anyOf: alternatives }),
    ...(properties !== undefined && {
      properties: Object.fromEntries(members.map(([key, it]) => [key, toPublished(it)])),
    }),
    ...(items !== undefined && { items: toPublished(items) }),
    ...(member !== undefined && { additionalProperties: typeof member === "object" ? toPublished(member) : member }),
  };
}

function isPublished({ type, isProgramOnly, required = [], properties = {} }: Schema): boolean {
  return type !== "function" && isProgramOnly !== true && required.every((key) => isPublished(properties[key]!));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  writeFileSync(schemaFile, `${JSON.stringify(createConfigSchema(), undefined, 2)}\n`);
  execFileSync(join(root, "node_modules/.bin/biome"), ["format", "--write", schemaFile]);
}
