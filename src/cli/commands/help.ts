import { type Command, type CommandOptions, defineCommand, generalOptions } from "../command.ts";
import { loadCommand, summaries } from "../commands.ts";
import { program } from "../failures.ts";

declare const __PACKAGE_VERSION__: string;

/** `operations help [COMMAND]` */
export const help = defineCommand({
  examples: ["help", "help call", "help --json"],
  arguments: "[COMMAND]",
  options: {},
  run: async ({ positionals: [name], print }) => {
    if (name === undefined) return print(formatHelp(), await describeAll());
    const command = await loadCommand(name);
    await print(formatCommandHelp(name, command), describe(name, command));
  },
});

/** A command as data for programs. */
function describe(name: string, { arguments: positionals = "", examples, options }: Command): object {
  return {
    name,
    summary: summaryOf(name),
    arguments: positionals,
    examples,
    options: { ...options, ...generalOptions },
  };
}

async function describeAll(): Promise<object> {
  const commands = Object.keys(summaries).map(async (name) => describe(name, await loadCommand(name)));
  return { version: __PACKAGE_VERSION__, commands: await Promise.all(commands) };
}

function summaryOf(name: string): string {
  return (summaries as Record<string, string>)[name] ?? "Print completions for a shell.";
}

/** Formats the help of the program. */
export function formatHelp(): string {
  return `Examples:
  ${program} list --openapi https://api.example.com/openapi.json
  ${program} call tools.read_file path=notes.txt --mcp-command "npx -y @modelcontextprotocol/server-filesystem ."
  ${program} serve --config operations.config.ts

Usage: ${program} COMMAND [OPTIONS]

Commands:
${formatRows(Object.entries(summaries))}
Options:
${formatOptions({
  help: { type: "boolean", short: "h", description: "Print this help, or that of a command." },
  version: { type: "boolean", description: "Print the version." },
})}
Exit codes:
  0 success · 1 unexpected · 2 invalid usage or input, nothing was called · 3 access denied
  4 unreachable or timed out · 5 the operation failed · 130 interrupted

@alkdev/operations ${__PACKAGE_VERSION__}. Documentation: docs/command.md in the package.
`;
}

/** Formats the help of a command. It begins with examples, because most readers need one of them. */
export function formatCommandHelp(name: string, { examples, arguments: positionals, options }: Command): string {
  return `Examples:
${examples.map((example) => `  ${program} ${example}\n`).join("")}
Usage: ${program} ${name}${positionals === undefined ? "" : ` ${positionals}`} [OPTIONS]

${summaryOf(name)}

Options:
${formatOptions({ ...options, ...generalOptions })}
Documentation: docs/command.md in the package.
`;
}

function formatOptions(options: CommandOptions): string {
  const rows = Object.entries(options).map(([name, { short, value, description }]) => {
    const names = `${short === undefined ? "    " : `-${short}, `}--${name}`;
    return [value === undefined ? names : `${names} ${value}`, description] as const;
  });
  return formatRows(rows);
}

function formatRows(rows: ReadonlyArray<readonly [left: string, right: string]>): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}\n`).join("");
}
