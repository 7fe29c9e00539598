import { formatCommandHelp, formatHelp, listedCommands, unknownCommand } from "../arguments.ts";
import { defineCommand, generalOptions } from "../command.ts";
import { commands } from "../commands.ts";

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
