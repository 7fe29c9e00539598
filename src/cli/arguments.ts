import { parseArgs } from "node:util";
import { quote } from "../internal/text.ts";
import { type Command, type CommandOptions, generalOptions } from "./command.ts";
import { program, unknownName, usageError } from "./failures.ts";

/** The parsed arguments of one command. */
export interface ParsedArguments {
  /** Arguments that are not options. */
  positionals: string[];
  /** Values of options by their long names. */
  options: Record<string, string | boolean | undefined>;
  /** The same options in the order in which they were passed. */
  given: Array<[name: string, value: string | boolean]>;
}

/** Parses the arguments of a command. Does not check their number, so that `--help` always works. */
export function parseArguments(args: readonly string[], own: CommandOptions): ParsedArguments {
  const options: CommandOptions = { ...own, ...generalOptions };
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true, allowPositionals: true });
  const parsed: ParsedArguments = { positionals: [], options: {}, given: [] };
  for (const token of tokens) {
    if (token.kind === "positional") parsed.positionals.push(token.value);
    if (token.kind !== "option") continue;
    const { name, rawName, value } = token;
    const option = Object.hasOwn(options, name) ? options[name]! : undefined;
    if (option === undefined) {
      const known = Object.keys(options).map((long) => `--${long}`);
      throw unknownName("option", rawName, known, "Run the command with --help for a list.");
    }
    if (option.type === "string" && value === undefined) {
      throw usageError(`The option ${rawName} requires a value: ${rawName} ${option.value}.`);
    }
    if (option.type === "boolean" && value !== undefined) {
      throw usageError(`The option ${rawName} does not take a value.`);
    }
    parsed.options[name] = value ?? true;
    parsed.given.push([name, value ?? true]);
  }
  return parsed;
}

/** Throws if a command received fewer or more arguments than it takes. */
export function checkPositionals(name: string, command: Command, positionals: readonly string[]): void {
  const words = command.arguments?.split(" ") ?? [];
  const required = words.filter((word) => /^\w/.test(word)).length;
  const allowed = words.includes("…]") ? Number.POSITIVE_INFINITY : words.length;
  const help = `Run "${program} ${name} --help" for examples.`;
  if (positionals.length < required) {
    throw usageError(`An argument is missing: ${program} ${name} ${command.arguments}. ${help}`);
  }
  if (positionals.length > allowed) {
    throw usageError(`The argument ${quote(positionals[allowed]!)} is one too many. ${help}`);
  }
}
