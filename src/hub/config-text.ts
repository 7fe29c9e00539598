import { extname, relative } from "node:path";
import { getNodeValue, type ParseError, parseTree, printParseErrorCode, stripComments, visit } from "jsonc-parser";
import { parse as parseTOML, TomlError } from "smol-toml";
import { isMap, isNode, isSeq, parseDocument } from "yaml";
import { readBounded } from "../from/read-bounded.ts";
import { quote, toReason } from "../internal/text.ts";
import { CallError } from "../operation/index.ts";
import { isNestedDeeper } from "../transport/json-depth.ts";

/** A place in a file. Both numbers count from 1. */
interface TextPosition {
  line: number;
  /** Missing if only the line is known. */
  column?: number;
}

/** Keys of objects and indexes of arrays that lead to a value. */
export type ConfigPath = readonly (string | number)[];

/** A mistake in a configuration. */
export interface ConfigProblem {
  /** Leads to what is invalid. */
  path: ConfigPath;
  /** Completes a sentence that begins with the path, such as `must be a string.` Contains keys, never values. */
  message: string;
}

/** Returns the position of a key or of an array item. For a missing one, that of what should contain it. */
type Locate = (path: ConfigPath) => TextPosition | undefined;

/** The content of a configuration file. */
export interface ParsedText {
  value: unknown;
  locate: Locate;
}

/** Reads a file. Throws `VALIDATION_ERROR` if it cannot be read. */
export async function readText(file: string): Promise<string> {
  try {
    return readBounded(file).replace(/^\uFEFF/, "");
  } catch (error) {
    throw malformed(file, `cannot be read: ${toReason(error)}. Check the path.`, undefined, error);
  }
}

/** Maximum number of objects and arrays in each other. Deeper ones overflow the stack of parsers and checks. */
export const maxDepth = 200;

/**
 * Parses TOML, YAML, or else JSON with comments and trailing commas, by the extension of the file. Throws
 * `VALIDATION_ERROR` with the position of the mistake. Messages contain no part of the file, which may be secret.
 */
export function parseText(file: string, text: string): ParsedText {
  if (isNestedDeeper(text, maxDepth)) throw malformed(file, `is nested more than ${maxDepth} levels deep.`);
  const extension = extname(file);
  if (extension === ".toml") return parseTOMLText(file, text);
  return extension.startsWith(".y") ? parseYAMLText(file, text) : parseJSONText(file, text);
}

function parseJSONText(file: string, text: string): ParsedText {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first !== undefined) {
    const reason = toWords(printParseErrorCode(first.error));
    throw malformed(file, `is not valid JSON: ${reason}.`, toPosition(text, first.offset));
  }
  const keys = new Set<string>();
  visit(text, {
    onObjectProperty(key, offset, _length, _line, _column, pathOf) {
      const path = JSON.stringify([...pathOf(), key]);
      if (keys.has(path)) {
        throw malformed(file, `is not valid JSON: the key ${quote(key)} exists twice.`, toPosition(text, offset));
      }
      keys.add(path);
    },
  });
  return {
    value: getNodeValue(root!),
    // JSON without comments is also YAML.
    locate: (path) => locateInYAML(text, parseDocument(stripComments(text, " ")).contents, path),
  };
}

/** Parses YAML 1.2 with merge keys (`<<`). */
function parseYAMLText(file: string, text: string): ParsedText {
  const document = parseDocument(text, { merge: true, prettyErrors: false });
  // Messages of the parser can contain parts of the file, so only their codes are used.
  const [first] = [...document.errors, ...document.warnings];
  if (first !== undefined) {
    throw malformed(file, `is not valid YAML: ${toWords(first.code)}.`, toPosition(text, first.pos[0]));
  }
  try {
    const value: unknown = document.toJS();
    JSON.stringify(value); // Throws for a value that contains itself.
    return { value, locate: (path) => locateInYAML(text, document.contents, path) };
  } catch {
    throw malformed(file, "is not valid YAML: too many, unresolved or circular aliases.");
  }
}

function parseTOMLText(file: string, text: string): ParsedText {
  try {
    return { value: parseTOML(text), locate: () => undefined };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    throw malformed(file, "is not valid TOML.", { line: error.line, column: error.column });
  }
}

function locateInYAML(text: string, root: unknown, path: ConfigPath): TextPosition | undefined {
  let found = root;
  let value = root;
  for (const key of path) {
    const pair = isMap(value) ? value.items.find((item) => String(item.key) === key) : undefined;
    const next = isSeq(value) ? value.items[Number(key)] : pair?.key;
    if (!isNode(next)) break;
    found = next;
    value = pair === undefined ? next : pair.value;
  }
  return isNode(found) && found.range ? toPosition(text, found.range[0]) : undefined;
}

function toPosition(text: string, offset: number): TextPosition {
  const lines = text.slice(0, offset).split(/\r\n|\n|\r/);
  return { line: lines.length, column: lines.at(-1)!.length + 1 };
}

/** `InvalidSymbol` and `BAD_INDENT` become `invalid symbol` and `bad indent`. */
function toWords(code: string): string {
  return code
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .replaceAll("_", " ")
    .toLowerCase();
}

/** `VALIDATION_ERROR` about a whole file. */
export function malformed(file: string, message: string, position?: TextPosition, cause?: unknown): CallError {
  return invalidConfig(file, [{ path: [], message }], () => position, cause);
}

/** Maximum number of mistakes in a message. */
const maxListed = 20;

/** `VALIDATION_ERROR` with one line for each mistake: `file:line:column: message`. */
export function invalidConfig(
  file: string | undefined,
  problems: readonly ConfigProblem[],
  locate: Locate,
  cause?: unknown,
): CallError {
  const errors = problems.slice(0, maxListed).map(({ path, message }) => {
    const name = path.length === 0 ? "The configuration" : quote(formatPath(path), 400);
    return { path: formatPath(path), message: `${name} ${message}`, ...locate(path) };
  });
  const lines = errors.map(({ message, line, column }) => {
    if (file === undefined) return message;
    const shown = relative(process.cwd(), file);
    const place = [shown === "" || shown.startsWith("..") ? file : shown, line, column];
    return `${place.filter((part) => part !== undefined).join(":")}: ${message}`;
  });
  if (problems.length > maxListed) lines.push(`There are ${problems.length - maxListed} more mistakes.`);
  const details = { ...(file !== undefined && { file }), errors, total: problems.length };
  return new CallError("VALIDATION_ERROR", lines.join("\n"), details, { mayHaveRun: false, cause });
}

/** Returns a path as it is written in a program, such as `sources["my api"].include[0]`. */
export function formatPath(path: ConfigPath): string {
  return path.reduce<string>((before, key) => {
    if (typeof key === "number") return `${before}[${key}]`;
    if (/^[\w$-]+$/.test(key)) return before === "" ? key : `${before}.${key}`;
    return `${before}[${quote(key)}]`;
  }, "");
}
