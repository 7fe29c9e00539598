import { getOwn } from "../../internal/objects.ts";
import { formatOperationId } from "../../operation/inside.ts";
import { parseArguments } from "../arguments.ts";
import { type Command, type CommandContext, type CommandOptions, defineCommand, generalOptions } from "../command.ts";
import { loadCommand, summaries } from "../commands.ts";
import { unknownName } from "../failures.ts";
import { toPrintableLine } from "../output-stream.ts";
import { hubOf, type TargetContext, withTarget } from "../target.ts";
import { readTemplate } from "./templates.ts";

/** The shells with a script in `templates/completion`. */
const shells = ["bash", "zsh", "fish"];

/** Maximum time for a request to a hub while a user waits for completions. */
const maxWait = "2s";

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
    await stdout.write(readTemplate(`completion/operations.${shell}`));
  },
});

/** What a shell suggests for the word that is being typed: the whole word, and what it means. */
type Suggestion = readonly [word: string, description: string];

/** Suggestions, or `files` for the names of files. */
type Suggestions = Suggestion[] | "files";

/**
 * `operations complete -- WORDS`, which the scripts call. It prints nothing but suggestions, whatever fails: one per line,
 * with its description after a tab, or `:files` for file names. After a suggestion that ends with `=` follows no space.
 */
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

/** Suggests arguments. Ids and keys come from a running hub only: pressing Tab starts nothing and reads no file. */
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
  if (hubOf(options, context.environment) === undefined) return [];
  const target = { ...context, options: { timeout: maxWait, ...options } } as object as TargetContext;
  const specs = await withTarget(target, ({ find }) => find(id === undefined ? { brief: true } : { id }));
  if (id === undefined) {
    return specs.map((spec) => [formatOperationId(spec.namespace, spec.name), spec.title ?? spec.description]);
  }
  const used = new Set(pairs.map((pair) => /^(.*?)(?::|@)?=/.exec(pair)?.[1]));
  const properties = Object.entries(getOwn(specs[0]?.inputSchema, "properties") ?? {});
  return properties
    .filter(([key]) => !used.has(key))
    .map(([key, schema]) => [`${key}=`, String(getOwn(schema, "description") ?? "")]);
}
