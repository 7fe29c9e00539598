import { Writable } from "node:stream";
import { inputVariable } from "../hub/config-variables.ts";
import { type Environment, loadMCPConfig, type MCPConfigInput, type ResolvedConfig } from "../hub/index.ts";
import { quote } from "../internal/text.ts";
import type { CommandContext } from "./command.ts";
import { usageError } from "./failures.ts";
import { toPrintableLine } from "./output-stream.ts";

/** Asks a question on the terminal, and resolves with the line that the user typed. A hidden one is not shown. */
export type Prompt = (question: string, isHidden?: boolean) => Promise<string>;

/** Creates a function that asks questions on the terminal; `undefined` where no person could respond. */
export function createPrompt({ options, stderr, signal }: CommandContext): Prompt | undefined {
  if (!process.stdin.isTTY || !stderr.isTerminal || options.json === true) return undefined;
  return async (question, isHidden = false) => {
    const { createInterface } = await import("node:readline/promises");
    const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
    const output = isHidden ? nowhere : process.stderr;
    const reader = createInterface({ input: process.stdin, output, terminal: true });
    reader.on("SIGINT", () => process.kill(process.pid, "SIGINT")); // The terminal does not send it while it is read.
    const ended = new AbortController(); // Ctrl-D is an empty line.
    reader.on("close", () => ended.abort());
    if (isHidden) await stderr.write(question);
    try {
      return await reader.question(isHidden ? "" : question, { signal: AbortSignal.any([signal, ended.signal]) });
    } catch (error) {
      if (signal.aborted) throw error;
      return "";
    } finally {
      reader.close();
      if (isHidden || ended.signal.aborted) await stderr.write("\n");
    }
  };
}

/**
 * Asks on a terminal for the values that files of editors request with `${input:id}`. Returns the environment with them.
 * In a pipe nothing is asked, and the servers that need a value fail with the name of its variable.
 */
export async function requestInputs(
  { sources = {} }: Pick<ResolvedConfig, "sources">,
  context: CommandContext,
): Promise<Environment> {
  let { environment } = context;
  const prompt = createPrompt(context);
  if (prompt === undefined) return environment;
  for (const source of Object.values(sources)) {
    if (!("mcpConfig" in source)) continue;
    const { file, servers } = source.mcpConfig;
    // A file that cannot be read is a source that fails.
    const { inputs } = await loadMCPConfig(file, { servers, environment }).catch(() => ({ inputs: [] }));
    for (const input of inputs) {
      const variable = inputVariable(input.id);
      if (input.default !== undefined || environment[variable] !== undefined) continue;
      environment = { ...environment, [variable]: await requestInput(input, prompt) };
    }
  }
  return environment;
}

async function requestInput(input: MCPConfigInput, prompt: Prompt): Promise<string> {
  const { id, description = id, password, options } = input;
  const choice = options === undefined ? "" : ` (${options.join(", ")})`;
  const value = await prompt(toPrintableLine(`${description}${choice}:`).concat(" "), password);
  if (options === undefined || options.includes(value)) return value;
  throw usageError(`The value of the input ${quote(id)} must be one of ${options.map((it) => quote(it)).join(", ")}.`);
}
