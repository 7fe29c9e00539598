import { unknownCommand } from "../arguments.ts";
import { type CommandOptions, defineCommand, generalOptions, type LoadedCommand } from "../command.ts";
import { commands, listedCommands } from "../commands.ts";

declare const __PACKAGE_VERSION__: string;

/** `operations help [COMMAND]` */
export const help = defineCommand({
  examples: ["help", "help call", "help --json"],
  arguments: "[COMMAND]",
  maxArguments: 1,
  options: {},
  run: async ({ positionals: [name], options, stdout }) => {
    if (name !== undefined && !Object.hasOwn(commands, name)) throw unknownCommand(name);
    if (options.json) return stdout.write(`${JSON.stringify(await describe(name))}\n`);
    const text =
      name === undefined ? formatHelp(__PACKAGE_VERSION__) : formatCommandHelp(name, await commands[name]!.load());
    await stdout.write(text);
  },
});

/** The command, or all of them, as data for programs. */
async function describe(only: string | undefined): Promise<unknown> {
  const names = only === undefined ? listedCommands() : [only];
  const described = await Promise.all(
    names.map(async (name) => {
      const { examples, arguments: positionals, options } = await commands[name]!.load();
      const { summary } = commands[name]!;
      return { name, summary, arguments: positionals ?? "", examples, options: { ...options, ...generalOptions } };
    }),
  );
  return only === undefined ? { version: __PACKAGE_VERSION__, commands: described } : described[0];
}

/** Formats the help of the program. */
export function formatHelp(version: string): string {
  const width = Math.max(...listedCommands().map((name) => name.length));
  return [
    "Examples:",
    "  operations list --openapi https://api.example.com/openapi.json",
    '  operations call mcp.read_file path=notes.txt --mcp-command "npx -y @modelcontextprotocol/server-filesystem ."',
    "  operations serve --config operations.config.ts",
    "",
    "Usage: operations COMMAND [OPTIONS]",
    "",
    "Commands:",
    ...listedCommands().map((name) => `  ${name.padEnd(width)}  ${commands[name]!.summary}`),
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
