import type { Environment } from "../hub/index.ts";
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
  readonly [Name in keyof Options]: { string: string; boolean: boolean }[Options[Name]["type"]] | undefined;
};

/** Options that every command has. */
export const generalOptions = {
  json: { type: "boolean", description: "Print JSON for programs; a failure is one JSON object on stderr." },
  "no-color": { type: "boolean", description: "Print without colours." },
  help: { type: "boolean", short: "h", description: "Print this help." },
} as const satisfies CommandOptions;

/** What a command receives. */
export interface CommandContext<Options extends CommandOptions = CommandOptions> {
  /** Arguments that are not options. */
  readonly positionals: readonly string[];
  /** Values of the options. */
  readonly options: OptionValues<Options> & OptionValues<typeof generalOptions>;
  /** The options that were passed, in their order. */
  readonly given: ReadonlyArray<readonly [name: string, value: string | boolean]>;
  /** Variables of the environment. */
  readonly environment: Environment;
  /** The folder in which the command was started. */
  readonly folder: string;
  /** Receives the result and nothing else. */
  readonly stdout: OutputStream;
  /** Receives messages. */
  readonly stderr: OutputStream;
  /** Prints the result of the command: a string for a person, or with `--json` the same as data. */
  print(text: string, data: unknown): Promise<void>;
  /** Fires when the user interrupts the command, and when the reader of stdout is gone. */
  readonly signal: AbortSignal;
  /** The operation that the command works on, for the report of a failure. The command sets it. */
  operation: string | undefined;
}

/** A command. Each is a file in `commands/` that is loaded when it is used. */
export interface Command<Options extends CommandOptions = CommandOptions> {
  /** Lines that the help begins with, without the program in front. */
  readonly examples: readonly string[];
  /** The arguments, such as `ID [KEY=VALUE …]`: those in brackets are optional. @default the command takes none */
  readonly arguments?: string;
  /**
   * What a shell suggests for the arguments: ids of operations for the first one, with the keys of the input for those
   * after it, names of files, or some values. @default nothing
   */
  readonly completes?: "operation" | "operation and input" | "files" | readonly string[];
  /** Its options, beside the general ones. */
  readonly options: Options;
  /** Runs the command. Resolves with its exit code, 0 by default. */
  run(context: CommandContext<Options>): Promise<number | void>;
}

/** Checks the types of a command and returns it unchanged. */
export function defineCommand<const Options extends CommandOptions>(command: Command<Options>): Command<Options> {
  return command;
}
