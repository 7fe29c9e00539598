import { truncate } from "../internal/text.ts";
import { CallError } from "../operation/index.ts";
import { checkPositionals, parseArguments } from "./arguments.ts";
import type { CommandContext } from "./command.ts";
import { formatCommandHelp, formatHelp } from "./commands/help.ts";
import { loadCommand } from "./commands.ts";
import { exitCodes, type FailureReport, program, toFailure, usageError } from "./failures.ts";
import { OutputStream, toPrintable, toPrintableLine } from "./output-stream.ts";

declare const __PACKAGE_VERSION__: string;

/** Maximum length of the details of a failure that a person reads, in characters. */
const maxDetailsLength = 2_000;

/** Maximum time in ms in which an interrupted command ends what it has started. A hub lets calls finish for 10 s. */
const maxEndingMs = 15_000;

/** Reasons why a command is ended from outside. */
const userInterrupted = new CallError("ABORTED", "The user interrupted the command.");
const readerGone = "The reader of stdout is gone.";

const args = process.argv.slice(2);
// Needed before the options are parsed, because parsing may fail. Arguments after `--` are not options.
const flags = args.slice(0, args.includes("--") ? args.indexOf("--") : args.length);
const printsJSON = flags.includes("--json");
const printsColors = !flags.includes("--no-color");
const interruption = new AbortController();
const context: CommandContext = {
  positionals: [],
  options: { json: printsJSON, "no-color": !printsColors, help: false },
  given: [],
  environment: process.env,
  folder: process.cwd(),
  stdout: new OutputStream(process.stdout, process.env, printsColors),
  stderr: new OutputStream(process.stderr, process.env, printsColors),
  print: (text, data) => context.stdout.write(printsJSON ? `${toPrintable(JSON.stringify(data))}\n` : text),
  signal: interruption.signal,
  operation: undefined,
};

process.on("SIGINT", interrupt).on("SIGTERM", interrupt);
process.stdout.on("error", (error) => isReaderGone(error) && interruption.abort(readerGone)); // Others fail the write.
process.stderr.on("error", () => {}); // Failures are handled where messages are written.
const exitCode = await main().catch(reportFailure);
// Anything that is still open, such as an idle connection, must not delay the end. All output is written by now.
process.exit(exitCode ?? exitCodes.ok);

async function main(): Promise<number | void> {
  const [name, ...rest] = args;
  if (name === undefined) {
    await context.stderr.write(formatHelp());
    return exitCodes.usage;
  }
  if (name === "--help" || name === "-h") return context.stdout.write(formatHelp());
  if (name === "--version") return context.stdout.write(`${__PACKAGE_VERSION__}\n`);
  if (name.startsWith("-")) throw usageError(`Name a command first. Run "${program} --help" for a list.`);
  const command = await loadCommand(name);
  const { positionals, options, given } = parseArguments(rest, command.options);
  if (options["help"] === true) return context.stdout.write(formatCommandHelp(name, command));
  checkPositionals(name, command, positionals);
  Object.assign(context, { positionals, options, given });
  return command.run(context);
}

/**
 * The first signal lets the command end what it has started, for a limited time. The second one ends the process
 * immediately.
 */
function interrupt(): void {
  const exit = () => process.exit(exitCodes.interrupted);
  if (interruption.signal.aborted) exit();
  setTimeout(exit, maxEndingMs).unref();
  interruption.abort(userInterrupted);
}

async function reportFailure(error: unknown): Promise<number> {
  const { aborted, reason } = context.signal;
  if (isReaderGone(error) || (aborted && reason === readerGone)) {
    return exitCodes.ok; // The reader has what it needs, such as `head -1`.
  }
  const { report, exitCode } = toFailure(error, context.operation);
  if (printsJSON) await writeMessage(`${toPrintable(JSON.stringify({ error: report }))}\n`);
  else if (!aborted) await writeMessage(formatFailure(report, exitCode));
  return aborted ? exitCodes.interrupted : exitCode;
}

function isReaderGone(error: unknown): boolean {
  return (error as { code?: unknown } | undefined)?.code === "EPIPE";
}

/** Writes to stderr. A message that no program reads is not needed. */
function writeMessage(text: string): Promise<void> {
  return context.stderr.write(text).catch(() => {});
}

/** Formats a failure for a person. Messages contain the issues of invalid input and the names that details repeat. */
function formatFailure({ code, message, details }: FailureReport, exitCode: number): string {
  const label = code === "USAGE" ? "error:" : toPrintableLine(`error ${code}:`);
  const line = `${context.stderr.colors.red(label)} ${toPrintable(message)}\n`;
  if (details === undefined || exitCode !== exitCodes.failed) return line;
  return `${line}${truncate(toPrintableLine(JSON.stringify(details)), maxDetailsLength)}\n`;
}
