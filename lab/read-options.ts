import { type ParseArgsConfig, parseArgs } from "node:util";

/**
 * Reads the options of a program. With `--help`, prints `help` and ends the program with 0. With invalid options,
 * prints the problem and `help` and ends the program with 2.
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
