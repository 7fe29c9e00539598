import { getOwn, isObject } from "../internal/objects.ts";
import { formatOperationId } from "../operation/index.ts";
import { parseArguments } from "./arguments.ts";
import { type CommandContext, type CommandOptions, generalOptions, type LoadedCommand } from "./command.ts";
import { commands, listedCommands } from "./commands.ts";
import { toPrintableLine } from "./output-stream.ts";
import { type Target, type TargetContext, withTarget } from "./target.ts";

/** Maximum time for reading operations while a user waits for completions. */
const maxWait = "5s";

/** Maximum length of a description, in characters. */
const maxDescriptionLength = 80;

/** What a shell suggests for the word that is being typed. */
export interface Suggestion {
  /** The whole word. */
  readonly value: string;
  /** What it means, for shells that show it. */
  readonly description: string;
}

/**
 * Suggests what the last word of a command line may become. Operations are read from what the options of the line name,
 * with the same rules as for the command itself: nothing that is not trusted runs, and nothing is asked.
 */
export async function suggest(words: readonly string[], context: CommandContext): Promise<Suggestion[]> {
  const current = words.at(-1) ?? "";
  const found = await suggestAll(words, current, context);
  return found.filter(({ value }) => value.startsWith(current) && isSafe(value));
}

async function suggestAll(words: readonly string[], current: string, context: CommandContext): Promise<Suggestion[]> {
  const [name, ...rest] = words;
  if (rest.length === 0) return listedCommands().map((value) => ({ value, description: commands[value]!.summary }));
  if (!Object.hasOwn(commands, name!)) return [];
  const command = await commands[name!]!.load();
  const options: CommandOptions = { ...command.options, ...generalOptions };
  const option = optionBefore(rest.at(-2), options);
  if (option !== undefined) return (option.values ?? []).map((value) => ({ value, description: "" }));
  if (current.startsWith("-")) {
    return Object.entries(options).map(([long, { description }]) => ({ value: `--${long}`, description }));
  }
  return suggestArguments(command, rest.slice(0, -1), context);
}

/** The option whose value is being typed. */
function optionBefore(word: string | undefined, options: CommandOptions): CommandOptions[string] | undefined {
  const found = Object.entries(options).find(
    ([long, { short }]) => word === `--${long}` || (short && word === `-${short}`),
  );
  return found?.[1].type === "string" ? found[1] : undefined;
}

async function suggestArguments(
  command: LoadedCommand,
  before: readonly string[],
  context: CommandContext,
): Promise<Suggestion[]> {
  const { completes = [] } = command;
  const { positionals, options } = parseArguments(before, command.options);
  if (typeof completes !== "string") {
    return positionals.length > 0 ? [] : completes.map((value) => ({ value, description: "" }));
  }
  const [id] = positionals;
  if (id !== undefined && completes === "operation") return [];
  const target = { ...context, positionals, options: { timeout: maxWait, ...options } } as object as TargetContext;
  return withTarget(target, (opened) =>
    id === undefined ? suggestOperations(opened) : suggestKeys(opened, id, positionals),
  );
}

async function suggestOperations(target: Target): Promise<Suggestion[]> {
  const specs = await target.list();
  return specs.map((spec) => ({
    value: formatOperationId(spec.namespace, spec.name),
    description: spec.title ?? spec.description,
  }));
}

/** The keys of the input that the line does not contain yet. */
async function suggestKeys(target: Target, id: string, positionals: readonly string[]): Promise<Suggestion[]> {
  const properties = getOwn((await target.find(id))?.inputSchema, "properties");
  if (!isObject(properties)) return [];
  const used = new Set(positionals.slice(1).map((pair) => /^(.*?)(?::|@)?=/.exec(pair)?.[1]));
  return Object.entries(properties)
    .filter(([key]) => !used.has(key))
    .map(([key, schema]) => ({ value: `${key}=`, description: String(getOwn(schema, "description") ?? "") }));
}

/** Bash expands suggestions like typed words, so that a foreign name such as `$(…)` would run. */
function isSafe(value: string): boolean {
  return /^[\w.,:=@%+/-]+$/.test(value);
}

/** Formats suggestions for the completion scripts: one per line, and what the shell does after the word. */
export function formatSuggestions(suggestions: readonly Suggestion[]): string {
  const lines = suggestions.map(
    ({ value, description }) => `${value}\t${toPrintableLine(description).slice(0, maxDescriptionLength)}\n`,
  );
  // After a key the value follows without a space.
  const isKey = suggestions.length > 0 && suggestions.every(({ value }) => value.endsWith("="));
  return `${lines.join("")}:${directives.noFiles + (isKey ? directives.noSpace : 0)}\n`;
}

/** Instructions to the completion scripts of `@bomb.sh/tab`, which are added up. */
const directives = { noSpace: 2, noFiles: 4 } as const;
