import { randomUUID } from "node:crypto";
import { realpath, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, relative, resolve } from "node:path";
import {
  type ContractChange,
  type ContractChanges,
  compareContracts,
  parseLock,
  printLock,
  printTypes,
} from "../../contract/index.ts";
import { readBounded } from "../../from/read-bounded.ts";
import { findConfig } from "../../hub/index.ts";
import { quote, toReason } from "../../internal/text.ts";
import { CallError } from "../../operation/index.ts";
import { defineCommand } from "../command.ts";
import { fileError, program, usageError } from "../failures.ts";
import { type OutputStream, toPrintable, toPrintableLine } from "../output-stream.ts";
import { countOf, describeUnready, readSources, type Target, targetOptions, withTarget } from "../target.ts";

const defaultFile = "operations.d.ts";

/** `operations types [-o FILE] [--lock] [--check]` */
export const types = defineCommand({
  examples: [
    "types",
    "types -o src/operations.d.ts --hub http://127.0.0.1:4000",
    "types -o src/api.d.ts --lock --openapi https://api.example.com/openapi.json",
    "types --check",
  ],
  options: {
    output: {
      type: "string",
      short: "o",
      value: "FILE",
      description: `Write the types to this file; "-" prints them. Default: ${defaultFile}.`,
    },
    lock: {
      type: "boolean",
      description: "Write the contracts to a lock file beside the types. Default in the folder of a configuration.",
    },
    check: { type: "boolean", description: "Write nothing. Fail if contracts differ from the lock file." },
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
      const lock = toLockFile(file);
      const [before, after] = [await read(lock), toPrintable(printLock(specs))];
      if (options.check && before === undefined) {
        throw usageError(`${quote(lock)} does not exist. Run "${program} types --lock" once and keep the file.`);
      }
      const changes = findChanges(before ?? after, after, lock);
      const report = options.json ? `${toPrintable(JSON.stringify(changes))}\n` : formatChanges(changes);
      if (options.check) {
        await stdout.write(report);
        return assertUnchanged(changes, file, printed);
      }
      const isOwn = options.config !== undefined || (await findConfig(folder)) !== undefined;
      const locks = options.lock || isOwn || before !== undefined;
      await replaceFiles(folder, [[file, printed], ...(locks ? [[lock, after] as const] : [])]);
      const names = [file, ...(locks ? [lock] : [])].map((name) => toPrintableLine(basename(name)));
      await stderr.write(`Wrote ${names.join(" and ")} with ${countOf(specs.length, "operation")}.\n`);
      if (options.json) await stdout.write(report);
      else if (report !== "") await stderr.write(`\n${report}`);
    }),
});

/** Throws if operations of a hub would be missing in the types, and be reported as removed. */
async function assertComplete(target: Target, stderr: OutputStream): Promise<void> {
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
    throw usageError(`${quote(lock)} cannot be read: ${toReason(error)}. Remove it and run "${program} types" again.`);
  }
}

async function assertUnchanged({ breaking, harmless }: ContractChanges, file: string, printed: string): Promise<void> {
  if (breaking.length + harmless.length > 0) {
    const counts = `${countOf(breaking.length, "breaking change")} and ${countOf(harmless.length, "harmless change")}`;
    const name = toPrintableLine(basename(toLockFile(file)));
    const message = `The contracts differ from ${name}: ${counts}. Run "${program} types" to accept them.`;
    throw new CallError("CONTRACTS_CHANGED", message);
  }
  // The types need not be kept, but those that are kept must be the current ones.
  const existing = await read(file);
  if (existing === undefined || sortParts(existing) === sortParts(printed)) return;
  throw new CallError("TYPES_OUTDATED", `${quote(file)} is not up to date. Run "${program} types" to write it again.`);
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

/** Maximum size of a declaration file or lock that is read, in bytes. */
const maxLockBytes = 256 * 1_024 * 1_024;

async function read(file: string): Promise<string | undefined> {
  try {
    return readBounded(file, maxLockBytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw fileError(file, "read", error);
  }
}

/** The lock of a file with types, such as `operations.lock.json` of `operations.d.ts`. */
function toLockFile(file: string): string {
  return `${file.replace(/(?:\.d)?\.[cm]?ts$/, "")}.lock.json`;
}

/** Replaces files, each in one step. A file in the folder of the user is never written to where a link leads out of it. */
async function replaceFiles(
  folder: string,
  files: ReadonlyArray<readonly [file: string, content: string]>,
): Promise<void> {
  const written: Array<[temporary: string, file: string]> = [];
  try {
    for (const [file, content] of files) {
      const temporary = `${file}.${randomUUID()}`;
      await assertNoLink(folder, file)
        .then(() => written.push([temporary, file]))
        .then(() => writeFile(temporary, content, { flag: "wx" }))
        .catch((error) => {
          throw fileError(file, "written", error);
        });
    }
    for (const [temporary, file] of written) await rename(temporary, file);
  } finally {
    for (const [temporary] of written) await rm(temporary, { force: true });
  }
}

async function assertNoLink(folder: string, file: string): Promise<void> {
  const isInside = (parent: string, path: string) => !/^\.\.(?:[\\/]|$)/.test(relative(parent, path));
  const target = await realpath(dirname(file));
  if (!isInside(folder, dirname(file)) || isInside(await realpath(folder), target)) return;
  throw new Error(`a link leads out of the folder, to ${quote(target)}`);
}
