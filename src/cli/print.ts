import { access, constants, open, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { toBase64 } from "../internal/base64.ts";
import { toReason } from "../internal/text.ts";
import { waitFor } from "../internal/wait.ts";
import { CallError, isCallError } from "../operation/index.ts";
import type { CommandContext, CommandOptions } from "./command.ts";
import { fileError, usageError } from "./failures.ts";
import { type Colors, toPrintable } from "./output-stream.ts";
import { timeoutsOf } from "./target.ts";

/** Options of the commands that print values. */
export const valueOptions = {
  jq: { type: "string", value: "FILTER", description: "Print the result of this jq filter." },
  raw: { type: "boolean", description: "Print strings without quotes, and bytes as they are." },
  output: { type: "string", short: "o", value: "FILE", description: "Write the result to a file." },
} as const satisfies CommandOptions;

/** Options of the commands that print results of operations. */
export const resultOptions = {
  ...valueOptions,
  envelope: { type: "boolean", description: "Print the whole envelope, data and meta." },
} as const satisfies CommandOptions;

type PrinterContext = CommandContext<typeof valueOptions> & { readonly options: { timeout?: string | undefined } };

/** Prints values in the format of the options. */
export interface Printer {
  /** Prints one value, or what `--jq` selects in it. */
  print(value: unknown): Promise<void>;
  /** Closes the file of `--output`, and ends the filter. */
  close(): Promise<void>;
}

/** Creates a printer of one document if an option asks for data; `undefined` if the command prints text for a person. */
export async function createDataPrinter(context: PrinterContext): Promise<Printer | undefined> {
  const { json, jq, output } = context.options;
  return json || jq !== undefined || output !== undefined ? createPrinter(context, "document") : undefined;
}

/**
 * Creates a printer. Options that cannot work are refused now, before an operation is called.
 * @param layout whether each value is a document that a person may read in several lines, or one line
 */
export async function createPrinter(context: PrinterContext, layout: "document" | "lines"): Promise<Printer> {
  const { options, stdout, folder } = context;
  const file = options.output === undefined ? undefined : await prepareFile(resolve(folder, options.output));
  const filter = options.jq === undefined ? undefined : await compileFilter(options.jq, context);
  const isForPerson = stdout.isTerminal && file === undefined;
  const toText = (text: string) => (isForPerson ? toPrintable(text) : text);
  const formatJSON = (value: unknown): string => {
    const isPretty = isForPerson && options.json !== true;
    const json = toPrintable(stringify(value, isPretty && layout === "document" ? 2 : 0));
    return `${isPretty ? colorJSON(json, stdout.colors) : json}\n`;
  };
  const format = (value: unknown): string | Uint8Array => {
    const bytes = toBytes(value);
    if (options.raw !== true && (file === undefined || bytes === undefined)) return formatJSON(value);
    if (bytes !== undefined && !isForPerson) return bytes;
    const text = bytes === undefined ? value : new TextDecoder().decode(bytes);
    if (typeof text !== "string") return formatJSON(value);
    // One string that a program reads is written exactly as it is.
    return layout === "document" && filter === undefined && !isForPerson ? text : `${toText(text)}\n`;
  };
  return {
    print: async (value) => {
      for (const selected of filter === undefined ? [value] : await filter.run(stringify(value, 0))) {
        if (selected !== undefined || options.json === true) await (file ?? stdout).write(format(selected));
      }
    },
    close: async () => {
      await filter?.close();
      await file?.close();
    },
  };
}

/** Formats a value as JSON. Values that JSON does not have get the form in which operations accept them, or a similar one. */
function stringify(value: unknown, indent: number): string {
  return JSON.stringify(value, toJSONValue, indent) ?? "null";
}

/** Replaces a property of `this` for `JSON.stringify`, which has called `toJSON` before. */
function toJSONValue(this: Record<string, unknown>, key: string, value: unknown): unknown {
  const original = this[key];
  const bytes = toBytes(original);
  if (bytes !== undefined) return { base64: toBase64(bytes) };
  if (typeof original === "bigint") return original.toString();
  return original instanceof Map || original instanceof Set ? [...original] : value;
}

function toBytes(value: unknown): Uint8Array | undefined {
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  return ArrayBuffer.isView(value) ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : undefined;
}

/** Checks that a file can be written. It is created or emptied with the first value: a failed call leaves it unchanged. */
async function prepareFile(path: string) {
  const existing = await stat(path).catch(() => undefined);
  if (existing?.isDirectory()) throw fileError(path, "written", "it is a folder");
  await access(existing === undefined ? dirname(path) : path, constants.W_OK).catch((error) => {
    throw fileError(path, "written", error);
  });
  let handle: ReturnType<typeof open> | undefined;
  return {
    write: async (part: string | Uint8Array): Promise<void> => {
      handle ??= open(path, "w");
      await (await handle).appendFile(part);
    },
    close: async () => (await handle)?.close(),
  };
}

/** Prepares a jq filter, which returns the values that it selects in a JSON document. */
async function compileFilter(filter: string, context: PrinterContext) {
  const jq = (await import("./jq.ts")).startJQ();
  const run = async (json: string, what: string): Promise<string> => {
    try {
      const limits = { timeout: timeoutsOf(context).call, signal: context.signal };
      return await waitFor(jq.run(json, what), limits, (code) => {
        const message = "The filter of --jq did not end in time. Pass a longer --timeout.";
        return new CallError(code, code === "TIMEOUT" ? message : "The filter of --jq was interrupted.");
      });
    } catch (error) {
      await jq.close();
      throw error;
    }
  };
  // Runs nothing, so that only an invalid filter fails. The line feeds end a comment in the filter.
  await run("null", `empty | (\n${filter}\n)`).catch((error) => {
    throw isCallError(error) ? error : usageError(`The filter of --jq is invalid: ${toReason(error)}.`);
  });
  return {
    run: async (json: string): Promise<unknown[]> => {
      const lines = await run(json, filter).catch((error) => {
        if (isCallError(error)) throw error;
        throw new CallError("FILTER_FAILED", `The filter of --jq failed: ${toReason(error)}.`);
      });
      return (lines.match(/[^\n]+/g) ?? []).map((line) => JSON.parse(line));
    },
    close: jq.close,
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
