import { readFile, writeFile } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import {
  type ContractChange,
  type ContractChanges,
  compareContracts,
  parseLock,
  printLock,
  printTypes,
} from "../../contract/index.ts";
import { quote, toReason } from "../../internal/text.ts";
import { CallError } from "../../operation/index.ts";
import { defineCommand } from "../command.ts";
import { fileError, usageError } from "../failures.ts";
import { type OutputStream, toPrintableLine } from "../output-stream.ts";
import { countOf, describeUnready, readSources, setToken, type Target, targetOptions, withTarget } from "../target.ts";

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
      const { options, folder, stdout, stderr } = context;
      if (options.check && options.output === "-") throw usageError('The option --check needs a file, not "-".');
      const specs = await target.find({});
      await assertComplete(target, stderr);
      if (specs.length === 0) {
        throw usageError(`${quote(target.label)} has no operations, so there are no types to write.`);
      }
      const printed = printTypes(specs);
      if (options.output === "-") return stdout.write(printed);
      const file = resolve(folder, options.output ?? defaultFile);
      const lock = resolve(dirname(file), lockFile);
      const [before, after] = [await read(lock), printLock(specs)];
      if (options.check && before === undefined) {
        throw usageError(`${quote(lock)} does not exist. Run "operations types" once and keep the file.`);
      }
      const changes = findChanges(before ?? after, after, lock);
      const report = options.json ? `${JSON.stringify(changes)}\n` : formatChanges(changes);
      if (options.check) {
        await stdout.write(report);
        return assertUnchanged(changes, file, printed);
      }
      await write(file, printed);
      await write(lock, after);
      const count = countOf(specs.length, "operation");
      await stderr.write(`Wrote ${toPrintableLine(basename(file))} and ${lockFile} with ${count}.\n`);
      if (options.json) await stdout.write(report);
      else if (report !== "") await stderr.write(`\n${report}`);
    }),
});

/** Throws if operations of a hub would be missing in the types, and be reported as removed. */
async function assertComplete(target: Target, stderr: OutputStream): Promise<void> {
  if (target.hasToken === false) {
    throw new CallError(
      "ACCESS_DENIED",
      `No token is set, so most operations would be missing in the types. ${setToken}`,
    );
  }
  const sources = await readSources(target);
  const [unready] = describeUnready(sources ?? []);
  if (unready !== undefined) {
    throw new CallError("UNAVAILABLE", `${unready} Its operations would be missing in the types.`);
  }
  if (sources !== undefined) return;
  await stderr.write(
    'Without the scope "hub:read", the token cannot read whether all sources are ready. Operations may be missing in the types.\n',
  );
}

function findChanges(before: string, after: string, lock: string): ContractChanges {
  if (before === after) return { breaking: [], harmless: [] };
  try {
    return compareContracts(parseLock(before), parseLock(after));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw usageError(`${quote(lock)} cannot be read: ${toReason(error)}. Remove it and run "operations types" again.`);
  }
}

async function assertUnchanged({ breaking, harmless }: ContractChanges, file: string, printed: string): Promise<void> {
  if (breaking.length + harmless.length > 0) {
    const counts = `${countOf(breaking.length, "breaking change")} and ${countOf(harmless.length, "harmless change")}`;
    const message = `The contracts differ from ${lockFile}: ${counts}. Run "operations types" to accept them.`;
    throw new CallError("CONTRACTS_CHANGED", message);
  }
  // The types need not be kept, but those that are kept must be the current ones.
  const existing = await read(file);
  if (existing === undefined || sortParts(existing) === sortParts(printed)) return;
  throw new CallError("TYPES_OUTDATED", `${quote(file)} is not up to date. Run "operations types" to write it again.`);
}

/** The parts of a declaration file in an order of their own: properties may be in any order. */
function sortParts(declarations: string): string {
  return declarations
    .split(/[\s;]+/)
    .sort()
    .join(" ");
}

/** Formats changes for a person. */
function formatChanges({ breaking, harmless }: ContractChanges): string {
  const format = (title: string, changes: readonly ContractChange[]) => {
    const lines = changes.map(({ operation, message }) => `  ${toPrintableLine(`${operation}: ${message}`)}\n`);
    return lines.length === 0 ? [] : [`${title}:\n${lines.join("")}`];
  };
  return [...format("Breaking changes", breaking), ...format("Harmless changes", harmless)].join("\n");
}

async function read(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw fileError(file, "read", error);
  }
}

async function write(file: string, content: string): Promise<void> {
  await writeFile(file, content).catch((error) => {
    throw fileError(file, "written", error);
  });
}
