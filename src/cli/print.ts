import { access, constants, open, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { toBase64 } from "../internal/base64.ts";
import { quote, toReason } from "../internal/text.ts";
import { CallError } from "../operation/index.ts";
import type { CommandContext, CommandOptions } from "./command.ts";
import { usageError } from "./failures.ts";
import { type Colors, toPrintable } from "./output-stream.ts";

/** Options of the commands that print values. */
export const valueOptions = {
  jq: { type: "string", value: "FILTER", description: "Print what this jq filter selects." },
  raw: { type: "boolean", description: "Print strings without quotes, and bytes as they are." },
  output: { type: "string", short: "o", value: "FILE", description: "Write the result to a file." },
} as const satisfies CommandOptions;

/** Options of the commands that print results of operations. */
export const resultOptions = {
  ...valueOptions,
  envelope: { type: "boolean", description: "Print the whole envelope, data and meta." },
} as const satisfies CommandOptions;

/** How values are printed: each as a document that a person may read in several lines, or each in one line. */
export type Layout = "document" | "lines";

/** Prints values as the options say. */
export interface Printer {
  /** Prints one value, or what `--jq` selects in it. */
  print(value: unknown): Promise<void>;
  /** Closes the file of `--output`. */
  close(): Promise<void>;
}

/** Creates a printer. Options that cannot work are refused now, before an operation is called. */
export async function createPrinter(context: CommandContext<typeof valueOptions>, layout: Layout): Promise<Printer> {
  const { options, stdout } = context;
  const file = options.output === undefined ? undefined : await prepareFile(resolve(context.folder, options.output));
  const filter = options.jq === undefined ? undefined : await compileFilter(options.jq);
  const isForPerson = stdout.isTerminal && file === undefined;
  const write = (part: string | Uint8Array) => (file === undefined ? stdout.write(part) : file.write(part));
  const isExact = layout === "document" && filter === undefined && !isForPerson;
  const formatJSON = (value: unknown): string => {
    const isPretty = isForPerson && options.json !== true;
    const json = stringify(value, isPretty && layout === "document" ? 2 : 0);
    return isPretty ? colorJSON(toPrintable(json), stdout.colors) : isForPerson ? toPrintable(json) : json;
  };
  const printOne = async (value: unknown): Promise<void> => {
    if (value === undefined && options.json !== true) return;
    const bytes = toBytes(value);
    const isRaw = options.raw === true || (file !== undefined && bytes !== undefined);
    const text = isRaw ? (isForPerson && bytes !== undefined ? new TextDecoder().decode(bytes) : value) : undefined;
    if (isRaw && bytes !== undefined && !isForPerson) return write(bytes);
    if (typeof text === "string") return write(`${isForPerson ? toPrintable(text) : text}${isExact ? "" : "\n"}`);
    return write(`${formatJSON(value)}\n`);
  };
  return {
    print: async (value) => {
      if (filter === undefined) return printOne(value);
      for (const selected of await filter(stringify(value, 0))) await printOne(selected);
    },
    close: async () => file?.close(),
  };
}

/** Formats a value as JSON. Values that JSON does not have get the form in which operations accept them, or a similar one. */
function stringify(value: unknown, indent: number): string {
  return JSON.stringify(value, toJSONValue, indent) ?? "null";
}

/** Replaces a property of `this` for `JSON.stringify`, which has called `toJSON` before. */
function toJSONValue(this: unknown, key: string, value: unknown): unknown {
  const original = (this as Record<string, unknown>)[key];
  const bytes = toBytes(original);
  if (bytes !== undefined) return { base64: toBase64(bytes) };
  if (typeof original === "bigint") return original.toString();
  return original instanceof Map || original instanceof Set ? [...original] : value;
}

function toBytes(value: unknown): Uint8Array | undefined {
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  return ArrayBuffer.isView(value) ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : undefined;
}

interface OutputFile {
  write(part: string | Uint8Array): Promise<void>;
  close(): Promise<void>;
}

/** Checks that a file can be written. It is created or emptied with the first value: a failed call leaves it unchanged. */
async function prepareFile(path: string): Promise<OutputFile> {
  const existing = await stat(path).catch(() => undefined);
  if (existing?.isDirectory()) throw usageError(`The file ${quote(path)} cannot be written: it is a folder.`);
  await access(existing === undefined ? dirname(path) : path, constants.W_OK).catch((error) => {
    throw usageError(`The file ${quote(path)} cannot be written: ${toReason(error)}.`);
  });
  let handle: ReturnType<typeof open> | undefined;
  return {
    write: async (part) => {
      handle ??= open(path, "w");
      await (await handle).appendFile(part);
    },
    close: async () => (await handle)?.close(),
  };
}

/** Prepares a jq filter, which returns the values that it selects in a JSON document. */
async function compileFilter(filter: string): Promise<(json: string) => Promise<unknown[]>> {
  const { default: jq } = await import("jq-wasm");
  // Runs nothing, so that only an invalid filter fails. The line feeds end a comment in the filter.
  await jq.raw("null", `empty | (\n${filter}\n)`, ["-c"]).catch((error) => {
    throw usageError(`The filter of --jq is invalid: ${toReason(error)}.`);
  });
  return async (json) => {
    const lines = await jq.raw(json, filter, ["-c"]).catch((error) => {
      throw new CallError("FILTER_FAILED", `The filter of --jq failed: ${toReason(error)}.`);
    });
    return lines
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  };
}

const tokens = /("(?:\\.|[^"\\])*")(\s*:)?|\b(?:true|false|null)\b|-?\d[\d.eE+-]*/g;

/** Colors formatted JSON: keys, strings, and other values. */
function colorJSON(json: string, colors: Colors): string {
  return json.replace(tokens, (token: string, string: string | undefined, colon: string | undefined) => {
    if (string === undefined) return colors.yellow(token);
    return colon === undefined ? colors.green(string) : `${colors.cyan(string)}${colon}`;
  });
}
