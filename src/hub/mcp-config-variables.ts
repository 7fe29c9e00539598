/** Values of the variables in a configuration file. */
export interface MCPVariables {
  /** Values of `${env:NAME}` and, except in files of VS Code, `${NAME}`. @default the environment of this process */
  env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Values of `${input:id}` by id. @default `OPERATIONS_INPUT_<ID>` in `env`, or the defaults in the file */
  inputs?: Readonly<Record<string, string>> | undefined;
  /** Value of `${workspaceFolder}` and `${cwd}`. @default the working directory of this process */
  workspaceFolder?: string | undefined;
  /** Value of `${userHome}`. @default `HOME`, on Windows `USERPROFILE` */
  userHome?: string | undefined;
  /** Reads the files of `envFile` and `${file:path}`. Without this option such a server is skipped. */
  readFile?: ((path: string) => string) | undefined;
}

/**
 * The syntax of variables. All files have `${env:NAME}` and folders. `claude` adds `${NAME}` and `${NAME:-default}`, `gemini`
 * also `$NAME`, and `codex` has no variables.
 */
export type VariableDialect = "claude" | "vscode" | "gemini" | "codex";

/** Thrown for a variable without a value. The message contains its name only. */
export class MissingVariable extends Error {}

const reference = /\$\{([^{}]*)\}/g;
const geminiReference = /\$(?:\{([^{}]*)\}|([A-Za-z_][A-Za-z0-9_]*))/g;

/** Replaces the variables in a string once: their values are not expanded again. */
export function expandVariables(text: string, variables: MCPVariables, dialect: VariableDialect): string {
  if (dialect === "codex") return text;
  const pattern = dialect === "gemini" ? geminiReference : reference;
  return text.replace(pattern, (whole: string, inBraces?: string, bare?: string) =>
    typeof bare === "string" ? readVariable(bare, variables) : (lookUp(inBraces!, variables, dialect) ?? whole),
  );
}

/** Returns a variable of the environment. Throws a {@link MissingVariable} if it is not set. */
export function readVariable(name: string, { env = process.env }: MCPVariables): string {
  return assertSet(own(env, name), `the variable ${name}`);
}

/** Returns the variable of the environment that has the value of an input, such as `OPERATIONS_INPUT_API_KEY`. */
export function inputVariable(id: string): string {
  return `OPERATIONS_INPUT_${id.toUpperCase().replace(/[^A-Z0-9]/g, "_")}`;
}

function lookUp(name: string, variables: MCPVariables, dialect: VariableDialect): string | undefined {
  const known = folderOf(name, variables);
  if (known !== undefined) return known;
  const [, kind, argument = ""] = /^(env|input|file):(.*)$/s.exec(name) ?? [];
  if (kind === "input") return readInput(argument, variables);
  if (kind === "env") return withDefault(argument, variables);
  if (kind === "file") return readFile(argument, variables);
  if (dialect !== "vscode" && /^[A-Za-z_][A-Za-z0-9_]*(?::-|$)/.test(name)) return withDefault(name, variables);
  return undefined;
}

function withDefault(name: string, variables: MCPVariables): string {
  const [, variable = "", fallback] = /^(.*?)(?::-([\s\S]*))?$/.exec(name)!;
  // As in a shell, the default also replaces an empty value.
  return fallback === undefined
    ? readVariable(variable, variables)
    : own(variables.env ?? process.env, variable) || fallback;
}

function readInput(id: string, { inputs = {}, env = process.env }: MCPVariables): string {
  const value = own(inputs, id) ?? own(env, inputVariable(id));
  if (value === undefined)
    throw new MissingVariable(`the input "${id}" is not set. Set the variable ${inputVariable(id)}`);
  return value;
}

function readFile(path: string, { readFile: read }: MCPVariables): string {
  try {
    return read!(path).replace(/\r?\n$/, "");
  } catch {
    throw new MissingVariable(`the file "${path}" cannot be read`);
  }
}

function folderOf(name: string, variables: MCPVariables): string | undefined {
  const { workspaceFolder = process.cwd(), userHome, env = process.env } = variables;
  switch (name) {
    case "workspaceFolder":
    case "cwd":
      return workspaceFolder;
    case "workspaceFolderBasename":
      return workspaceFolder.split(/[\\/]/).filter(Boolean).at(-1) ?? "";
    case "userHome":
      return assertSet(userHome ?? own(env, "HOME") ?? own(env, "USERPROFILE"), "the home folder of the user");
    case "pathSeparator":
    case "/":
      return workspaceFolder.includes("\\") ? "\\" : "/";
    default:
      return undefined;
  }
}

function own(values: Readonly<Record<string, string | undefined>>, name: string): string | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined;
}

function assertSet(value: string | undefined, label: string): string {
  if (value === undefined) throw new MissingVariable(`${label} is not set`);
  return value;
}
