import type { OutputStream } from "./output-stream.ts";

/** One option of a command. */
export interface CommandOption {
  /** Whether the option takes a value. */
  readonly type: "string" | "boolean";
  /** One letter, such as `o` for `-o`. */
  readonly short?: string;
  /** Name of the value in the help, such as `FILE`. */
  readonly value?: string;
  /** What the option does, in one sentence. */
  readonly description: string;
  /** The values that it takes, for completion in a shell. @default any */
  readonly values?: readonly string[];
}

/** The options of a command by their long names. */
export type CommandOptions = Readonly<Record<string, CommandOption>>;

/** The values of options: `undefined` for an option that was not passed. */
export type OptionValues<Options extends CommandOptions> = {
  readonly [Name in keyof Options]: ValueTypes[Options[Name]["type"]] | undefined;
};

interface ValueTypes {
  string: string;
  boolean: boolean;
}

/** Options that every command has. */
export const generalOptions = {
  json: { type: "boolean", description: "Print JSON for programs; a failure is one JSON object on stderr." },
  "no-color": { type: "boolean", description: "Print without colors." },
  help: { type: "boolean", short: "h", description: "Print this help." },
} as const satisfies CommandOptions;

/** What a command receives. */
export interface CommandContext<Options extends CommandOptions = CommandOptions> {
  /** Arguments that are not options. */
  readonly positionals: readonly string[];
  /** Values of the options. */
  readonly options: OptionValues<Options> & OptionValues<typeof generalOptions>;
  /** Variables of the environment. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The folder in which the command was started. */
  readonly folder: string;
  /** Receives the result and nothing else. */
  readonly stdout: OutputStream;
  /** Receives messages. */
  readonly stderr: OutputStream;
  /** Fires when the user interrupts the command, and when the reader of stdout is gone. */
  readonly signal: AbortSignal;
  /** The operation that the command works on, for the report of a failure. The command sets it. */
  operation: string | undefined;
}

/** A command. Each is a file in `commands/` that is loaded when it is used. */
export interface Command<Options extends CommandOptions = CommandOptions> {
  /** Lines that the help begins with, without `operations` in front. */
  readonly examples: readonly string[];
  /** The arguments in the help, such as `ID [KEY=VALUE …]`. @default the command takes none */
  readonly arguments?: string;
  /** Minimum number of arguments. @default 0 */
  readonly minArguments?: number;
  /** Maximum number of arguments. @default 0 */
  readonly maxArguments?: number;
  /**
   * What a shell suggests for the arguments: ids of operations for the first one, with the keys of the input for those
   * after it, or some values. @default nothing
   */
  readonly completes?: "operation" | "operation and input" | readonly string[];
  /** Its options, beside the general ones. */
  readonly options: Options;
  /** Runs the command. Resolves with its exit code, 0 by default. */
  run(context: CommandContext<Options>): Promise<number | void>;
}

/** A command of the table, whose options the caller does not know. */
export interface LoadedCommand extends Omit<Command, "run"> {
  /** Runs the command. The context has the values of its own options. */
  run(context: never): Promise<number | void>;
}

/** Checks the types of a command and returns it unchanged. */
export function defineCommand<const Options extends CommandOptions>(command: Command<Options>): Command<Options> {
  return command;
}
