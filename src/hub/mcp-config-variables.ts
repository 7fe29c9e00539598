/** Values of the variables in a configuration file. */
export interface MCPVariables {
  /** Values of `${env:NAME}` and, in `mcpServers`, `${NAME}`. @default the environment of this process */
  env?: Readonly<Record<string, string | undefined>>;
  /** Values of `${input:id}` by id. @default the defaults in the file */
  inputs?: Readonly<Record<string, string>>;
  /** Value of `${workspaceFolder}` and `${cwd}`. @default the working directory of this process */
  workspaceFolder?: string;
  /** Value of `${userHome}`. @default `HOME`, on Windows `USERPROFILE` */
  userHome?: string;
}

/** The syntax of variables: `claude` also expands `${NAME}` and `${NAME:-default}`, which VS Code does not. */
export type VariableDialect = "claude" | "vscode";

/** Thrown for a variable without a value. The message contains its name only. */
export class MissingVariable extends Error {}

const reference = /\$\{([^{}]*)\}/g;

/** Replaces the variables in a string once: their values are not expanded again. */
export function expandVariables(text: string, variables: MCPVariables, dialect: VariableDialect): string {
  return text.replace(reference, (whole, name: string) => lookUp(name, variables, dialect) ?? whole);
}

function lookUp(name: string, variables: MCPVariables, dialect: VariableDialect): string | undefined {
  const known = folderOf(name, variables);
  if (known !== undefined) return known;
  const prefixed = /^(env|input):(.*)$/.exec(name);
  if (prefixed?.[1] === "input")
    return assertSet(own(variables.inputs ?? {}, prefixed[2]!), `the input "${prefixed[2]}"`);
  if (prefixed?.[1] === "env") return fromEnvironment(prefixed[2]!, variables, dialect);
  if (dialect === "claude" && /^[A-Za-z_][A-Za-z0-9_]*(?::-|$)/.test(name)) {
    return fromEnvironment(name, variables, dialect);
  }
  return undefined;
}

function fromEnvironment(name: string, { env = environment() }: MCPVariables, dialect: VariableDialect): string {
  const [, variable, fallback] = /^(.*?)(?::-([\s\S]*))?$/.exec(name)!;
  const value = own(env, variable!);
  // As in a shell, the default also replaces an empty value.
  if (fallback !== undefined) return value || fallback;
  if (value === undefined && dialect === "vscode") return "";
  return assertSet(value, `the variable ${variable}`);
}

function folderOf(name: string, variables: MCPVariables): string | undefined {
  switch (name) {
    case "workspaceFolder":
    case "cwd":
      return workspaceOf(variables);
    case "workspaceFolderBasename":
      return workspaceOf(variables).split(/[\\/]/).filter(Boolean).at(-1) ?? "";
    case "userHome": {
      const env = variables.env ?? environment();
      return assertSet(
        variables.userHome ?? own(env, "HOME") ?? own(env, "USERPROFILE"),
        "the home folder of the user",
      );
    }
    case "pathSeparator":
    case "/":
      return workspaceOf(variables).includes("\\") ? "\\" : "/";
    default:
      return undefined;
  }
}

function workspaceOf({ workspaceFolder }: MCPVariables): string {
  const here = (globalThis as { process?: { cwd?: () => string } }).process;
  return assertSet(workspaceFolder ?? here?.cwd?.(), "the folder of the workspace");
}

function environment(): Readonly<Record<string, string | undefined>> {
  return (globalThis as { process?: { env: Record<string, string | undefined> } }).process?.env ?? {};
}

function own(values: Readonly<Record<string, string | undefined>>, name: string): string | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined;
}

function assertSet(value: string | undefined, label: string): string {
  if (value === undefined) throw new MissingVariable(`${label} is not set`);
  return value;
}
