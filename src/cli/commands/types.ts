import { readFile, writeFile } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import type { SourceState } from "../../hub/index.ts";
import { quote, toReason } from "../../internal/text.ts";
import { CallError, type OperationSpec } from "../../operation/index.ts";
import { defineCommand } from "../command.ts";
import { usageError } from "../failures.ts";
import { toPrintable, toPrintableLine } from "../output-stream.ts";
import { type Target, type TargetCallOptions, targetOptions, timeoutOf, withTarget } from "../target.ts";
import { type ContractChange, compareContracts } from "../types/changes.ts";
import { parseLock, printLock } from "../types/lock.ts";
import { printTypes } from "../types/print-types.ts";

const defaultFile = "operations.d.ts";
const lockFile = "operations.lock.json";

/** `operations types [-o FILE] [--check]` */
export const types = defineCommand({
  examples: [
    "types",
    "types -o src/operations.d.ts --hub http://127.0.0.1:4000",
    "types -o - --openapi https://api.example.com/openapi.json",
    "types --check",
  ],
  options: {
    output: {
      type: "string",
      short: "o",
      value: "FILE",
      description: `Write the types to this file, and ${lockFile} beside it; "-" prints the types only. Default: ${defaultFile}.`,
    },
    check: { type: "boolean", description: `Write nothing. Fail if contracts differ from ${lockFile}.` },
    ...targetOptions,
  },
  run: (context) =>
    withTarget(context, async (target) => {
      const { options, folder, signal, stdout, stderr } = context;
      if (options.check && options.output === "-") throw usageError('The option --check needs a file, not "-".');
      const limits = { signal, timeout: timeoutOf(context) };
      const specs = await target.list(undefined, limits);
      await assertReady(target, specs, limits);
      if (specs.length === 0)
        throw usageError(`${quote(target.label)} has no operations, so there are no types to write.`);
      const printed = printTypes(specs);
      if (options.output === "-") return stdout.write(printed);
      const file = resolve(folder, options.output ?? defaultFile);
      const lock = resolve(dirname(file), lockFile);
      const changes = await findChanges(lock, specs);
      const report = options.json ? `${JSON.stringify(toReport(changes ?? []))}\n` : formatChanges(changes ?? []);
      if (options.check) {
        if (changes === undefined)
          throw usageError(`${quote(lock)} does not exist. Run "operations types" once and keep the file.`);
        await stdout.write(report);
        return assertUnchanged(changes, file, printed);
      }
      await write(file, printed);
      await write(lock, printLock(specs));
      await stderr.write(
        `Wrote ${toPrintableLine(basename(file))} and ${lockFile} with ${countOf(specs.length, "operation")}.\n`,
      );
      if (options.json) await stdout.write(report);
      else if (report !== "") await stderr.write(`\n${report}`);
    }),
});

/** Throws if a source of a hub is not ready: its operations would be missing in the types, and be reported as removed. */
async function assertReady(target: Target, specs: readonly OperationSpec[], limits: TargetCallOptions): Promise<void> {
  if (!specs.some(({ namespace, name }) => namespace === "hub" && name === "sources")) return;
  const { data } = await target.call("hub.sources", {}, limits);
  const missing = (data as SourceState[]).find(({ status }) => status !== "ready");
  if (missing === undefined) return;
  const reason = missing.reason === undefined ? `it is ${missing.status}` : missing.reason.replace(/\.$/, "");
  const message = `The source ${quote(missing.name)} is not ready: ${reason}. Its operations would be missing in the types.`;
  throw new CallError("UNAVAILABLE", message);
}

/** Returns the differences from a lock file; `undefined` if the file does not exist. */
async function findChanges(lock: string, specs: readonly OperationSpec[]): Promise<ContractChange[] | undefined> {
  const before = await read(lock);
  if (before === undefined) return undefined;
  const after = printLock(specs);
  if (before === after) return [];
  try {
    return compareContracts(parseLock(before), parseLock(after));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw usageError(`${quote(lock)} cannot be read: ${toReason(error)}. Remove it and run "operations types" again.`);
  }
}

async function assertUnchanged(changes: readonly ContractChange[], file: string, printed: string): Promise<void> {
  if (changes.length > 0) {
    const breaking = changes.filter(({ isBreaking }) => isBreaking).length;
    const counts = `${countOf(breaking, "breaking change")} and ${countOf(changes.length - breaking, "harmless change")}`;
    const message = `The contracts differ from ${lockFile}: ${counts}. Run "operations types" to accept them.`;
    throw new CallError("CONTRACTS_CHANGED", message);
  }
  // The types need not be kept, but those that are kept must be the current ones.
  const existing = await read(file);
  if (existing === undefined || existing === printed) return;
  throw new CallError("TYPES_OUTDATED", `${quote(file)} is not up to date. Run "operations types" to write it again.`);
}

/** Formats changes for a person, the breaking ones first. */
function formatChanges(changes: readonly ContractChange[]): string {
  const { breaking, harmless } = toReport(changes);
  const format = (title: string, list: readonly Change[]) => {
    if (list.length === 0) return [];
    return [
      `${title}\n${list.map(({ operation, message }) => `  ${toPrintableLine(operation)}: ${message}\n`).join("")}`,
    ];
  };
  return toPrintable([...format("Breaking changes:", breaking), ...format("Harmless changes:", harmless)].join("\n"));
}

type Change = Pick<ContractChange, "operation" | "message">;

function toReport(changes: readonly ContractChange[]): { breaking: Change[]; harmless: Change[] } {
  const select = (isBreaking: boolean) =>
    changes
      .filter((change) => change.isBreaking === isBreaking)
      .map(({ operation, message }) => ({ operation, message }));
  return { breaking: select(true), harmless: select(false) };
}

function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

async function read(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw usageError(`The file ${quote(file)} cannot be read: ${toReason(error)}.`);
  }
}

async function write(file: string, content: string): Promise<void> {
  await writeFile(file, content).catch((error) => {
    throw usageError(`The file ${quote(file)} cannot be written: ${toReason(error)}.`);
  });
}
