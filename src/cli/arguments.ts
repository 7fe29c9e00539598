import { parseArgs } from "node:util";
import { nearest } from "../internal/nearest.ts";
import { quote } from "../internal/text.ts";
import { type CommandOptions, generalOptions, type LoadedCommand } from "./command.ts";
import { listedCommands } from "./commands.ts";
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
    throw unknownName(
      `There is no option ${quote(rawName)}.`,
      meant && `--${meant}`,
      " Run the command with --help for a list.",
    );
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
  return unknownName(`There is no command ${quote(name)}.`, nearest(name, listedCommands()), help);
}
