import { createHash } from "node:crypto";
import { findConfig } from "../../hub/config-load.ts";
import { readState, writeState } from "../../hub/state-folder.ts";
import { getOwn } from "../../internal/objects.ts";
import { formatOperationId } from "../../operation/inside.ts";
import { parseArguments } from "../arguments.ts";
import { type Command, type CommandContext, type CommandOptions, defineCommand, generalOptions } from "../command.ts";
import { loadCommand, summaries } from "../commands.ts";
import { unknownName } from "../failures.ts";
import { toPrintableLine } from "../output-stream.ts";
import { hubOf, kindOf, type Target, type TargetContext, withTarget } from "../target.ts";
import { checkTrust } from "../trust.ts";
import { completionScripts } from "./completion-scripts.ts";

const shells = Object.keys(completionScripts);

/** Maximum time for reading operations while a user waits for completions. */
const maxWait = "5s";

/** Maximum time in ms for which operations that were read are suggested again, because their sources take time to start. */
const maxAgeMs = 60_000;

/** The file of the state folder with the last suggestions that were read. */
const recentFile = "completion.json";

/** Maximum length of a description, in characters. */
const maxDescriptionLength = 80;

/** `operations completion SHELL` */
export const completion = defineCommand({
  examples: [
    "completion bash >> ~/.bashrc",
    "completion zsh >> ~/.zshrc",
    "completion fish > ~/.config/fish/completions/operations.fish",
  ],
  arguments: "bash|zsh|fish",
  completes: shells,
  options: {},
  run: async ({ positionals: [shell = ""], stdout }) => {
    if (!shells.includes(shell)) throw unknownName("completion for", shell, shells);
    await stdout.write(completionScripts[shell]!);
  },
});

/** What a shell suggests for the word that is being typed: the whole word, and what it means. */
type Suggestion = readonly [word: string, description: string];

/** Suggestions, or `files` for the names of files. */
type Suggestions = Suggestion[] | "files";

/** `operations complete -- WORDS`, which the scripts call. It prints nothing but completions, whatever fails. */
export const complete = defineCommand({
  examples: ["complete -- call github."],
  arguments: "-- [WORD …]",
  options: {},
  run: async (context) => {
    const current = context.positionals.at(-1) ?? "";
    const all = await suggest(context.positionals, context).catch(() => []);
    if (all === "files") return context.stdout.write(":files\n");
    // Bash expands suggestions like typed words, so that a foreign name such as `$(…)` would run.
    const found = all.filter(([word]) => word.startsWith(current) && /^[\w.,:=@%+/-]+$/.test(word));
    const lines = found.map(
      ([word, description]) => `${word}\t${toPrintableLine(description).slice(0, maxDescriptionLength)}\n`,
    );
    await context.stdout.write(lines.join(""));
  },
});

/** Suggests what the last word of a command line may become. */
async function suggest([name = "", ...words]: readonly string[], context: CommandContext): Promise<Suggestions> {
  if (words.length === 0) return Object.entries(summaries);
  const command = await loadCommand(name);
  const options: CommandOptions = { ...command.options, ...generalOptions };
  const [before = "", current = ""] = ["", ...words].slice(-2);
  const option = Object.entries(options).find(([long, { short }]) => [`--${long}`, `-${short}`].includes(before));
  if (option?.[1].type === "string")
    return /\bFILE$/.test(option[1].value!) ? "files" : toSuggestions(option[1].values);
  if (!current.startsWith("-")) return suggestArguments(command, words.slice(0, -1), context);
  return Object.entries(options).map(([long, { description }]) => [`--${long}`, description]);
}

function toSuggestions(values: readonly string[] = []): Suggestion[] {
  return values.map((value) => [value, ""]);
}

async function suggestArguments(
  { completes = [], options: known }: Command,
  before: readonly string[],
  context: CommandContext,
): Promise<Suggestions> {
  const { positionals, options } = parseArguments(before, known);
  const [id, ...pairs] = positionals;
  if (id !== undefined && completes !== "operation and input") return [];
  if (completes === "files") return completes;
  if (typeof completes !== "string") return toSuggestions(completes);
  const used = new Set(pairs.map((pair) => /^(.*?)(?::|@)?=/.exec(pair)?.[1]));
  const opened = { ...context, operation: id, options: { timeout: maxWait, ...options } } as object as TargetContext;
  if (!(await isTrusted(opened))) return [];
  const found = await remember(opened, () =>
    withTarget(opened, (target) => (id === undefined ? suggestOperations(target) : suggestKeys(target, id))),
  );
  return found.filter(([word]) => !used.has(word.slice(0, -1)));
}

/**
 * Returns whether a key press may read operations: from what the user has named, or from a configuration in the folder whose
 * trust is stored. One that needs no trust may still send requests.
 */
async function isTrusted({ options, folder, environment }: TargetContext): Promise<boolean> {
  if (kindOf(options) !== undefined || hubOf(options, environment) !== undefined) return true;
  const file = await findConfig(folder);
  return file !== undefined && (await checkTrust(file, environment)).isStored;
}

async function suggestOperations(target: Target): Promise<Suggestion[]> {
  const specs = await target.find({ brief: true });
  return specs.map((spec) => [formatOperationId(spec.namespace, spec.name), spec.title ?? spec.description]);
}

async function suggestKeys(target: Target, id: string): Promise<Suggestion[]> {
  const [spec] = await target.find({ id });
  const properties = Object.entries(getOwn(spec?.inputSchema, "properties") ?? {});
  return properties.map(([key, schema]) => [`${key}=`, String(getOwn(schema, "description") ?? "")]);
}

/**
 * Returns what was read a moment ago for the same line, or reads it. Operations are read from what the options of the line
 * name, with the same rules as for the command itself: nothing that is not trusted runs, and nothing is asked.
 */
async function remember(context: TargetContext, read: () => Promise<Suggestion[]>): Promise<Suggestion[]> {
  const { folder, options, operation, environment } = context;
  const { OPERATIONS_HUB, OPERATIONS_TOKEN } = environment;
  const line = JSON.stringify([folder, options, operation, OPERATIONS_HUB, OPERATIONS_TOKEN]);
  const key = createHash("sha256").update(line).digest("hex");
  const recent = JSON.parse((await readState(recentFile, environment)) ?? "{}");
  if (recent.key === key && Date.now() - recent.time < maxAgeMs) return recent.suggestions;
  const suggestions = await read();
  const entry = JSON.stringify({ key, time: Date.now(), suggestions });
  await writeState(recentFile, entry, environment).catch(() => {}); // There may be no home folder.
  return suggestions;
}
