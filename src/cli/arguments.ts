import { parseArgs } from "node:util";
import { nearest } from "../internal/nearest.ts";
import { quote } from "../internal/text.ts";
import { type CommandOptions, generalOptions, type LoadedCommand } from "./command.ts";
import { commands } from "./commands.ts";
import { unknownName, usageError } from "./failures.ts";

/** The parsed arguments of one command. */
export interface ParsedArguments {
  /** Arguments that are not options. */
  positionals: string[];
  /** Values of options by their long names. */
  options: Record<string, string | boolean | undefined>;
}

/** Parses the arguments of a command. Does not check their number, so that `--help` always works. */
export function parseArguments(args: readonly string[], own: CommandOptions): ParsedArguments {
  const options: CommandOptions = { ...own, ...generalOptions };
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true, allowPositionals: true });
  const parsed: ParsedArguments = { positionals: [], options: {} };
  for (const token of tokens) {
    if (token.kind === "positional") parsed.positionals.push(token.value);
    if (token.kind === "option") parsed.options[token.name] = readOption(token, options);
  }
  return parsed;
}

function readOption(
  { name, rawName, value }: { name: string; rawName: string; value?: string | undefined },
  options: CommandOptions,
): string | boolean {
  const option = Object.hasOwn(options, name) ? options[name]! : undefined;
  if (option === undefined) {
    const meant = nearest(name, Object.keys(options));
    throw unknownName(`There is no option ${quote(rawName)}.`, meant && `--${meant}`, "");
  }
  if (option.type === "boolean") {
    if (value !== undefined) throw usageError(`The option ${rawName} does not take a value.`);
    return true;
  }
  if (value === undefined) throw usageError(`The option ${rawName} requires a value: ${rawName} ${option.value}.`);
  return value;
}

/** Throws if a command received fewer or more arguments than it takes. */
export function checkPositionals(name: string, command: LoadedCommand, positionals: readonly string[]): void {
  const { minArguments = 0, maxArguments = 0 } = command;
  const help = `Run "operations ${name} --help" for examples.`;
  if (positionals.length < minArguments) {
    throw usageError(`An argument is missing: operations ${name} ${command.arguments ?? ""}. ${help}`);
  }
  if (positionals.length > maxArguments) {
    throw usageError(`The argument ${quote(positionals[maxArguments]!)} is one too many. ${help}`);
  }
}

/** The error for a command that does not exist. */
export function unknownCommand(name: string): Error {
  const help = ' Run "operations --help" for a list.';
  return unknownName(`There is no command ${quote(name)}.`, nearest(name, Object.keys(commands)), help);
}

/** Formats the help of the program. */
export function formatHelp(version: string): string {
  const width = Math.max(...Object.keys(commands).map((name) => name.length));
  return [
    "Examples:",
    "  operations list --openapi https://api.example.com/openapi.json",
    '  operations call fs.read_file path=notes.txt --mcp-command "npx -y @modelcontextprotocol/server-filesystem ."',
    "  operations serve --config operations.config.ts",
    "",
    "Usage: operations COMMAND [OPTIONS]",
    "",
    "Commands:",
    ...Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`),
    "",
    "Options:",
    ...formatOptions({
      help: { type: "boolean", short: "h", description: "Print this help, or that of a command." },
      version: { type: "boolean", description: "Print the version." },
    }),
    "",
    "Exit codes:",
    "  0 success · 1 unexpected · 2 invalid usage or input, nothing was called · 3 access denied",
    "  4 unreachable or timed out · 5 the operation failed · 130 interrupted",
    "",
    `@alkdev/operations ${version}. Documentation: docs/command.md in the package.`,
    "",
  ].join("\n");
}

/** Formats the help of a command. It begins with examples, because most readers need one of them. */
export function formatCommandHelp(name: string, command: LoadedCommand): string {
  return [
    "Examples:",
    ...command.examples.map((example) => `  operations ${example}`),
    "",
    `Usage: operations ${name}${command.arguments === undefined ? "" : ` ${command.arguments}`} [OPTIONS]`,
    "",
    commands[name]!.summary,
    "",
    "Options:",
    ...formatOptions({ ...command.options, ...generalOptions }),
    "",
    "Documentation: docs/command.md in the package.",
    "",
  ].join("\n");
}

function formatOptions(options: CommandOptions): string[] {
  const rows = Object.entries(options).map(([name, { short, value, description }]) => ({
    left: `  ${short === undefined ? "    " : `-${short}, `}--${name}${value === undefined ? "" : ` ${value}`}`,
    description,
  }));
  const width = Math.max(...rows.map(({ left }) => left.length));
  return rows.map(({ left, description }) => `${left.padEnd(width)}  ${description}`);
}
