import { type ParseArgsConfig, parseArgs } from "node:util";

/**
 * Reads what a program was started with. Prints `help` and ends the program with 0 when it was asked for, and with 2,
 * after what is wrong, when it was not understood.
 */
export function readOptions<Config extends ParseArgsConfig>(help: string, config: Config) {
  try {
    const parsed = parseArgs(config);
    if (!("help" in parsed.values) || parsed.values["help"] !== true) return parsed;
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${help}`);
    process.exit(2);
  }
  console.log(help);
  process.exit(0);
}
