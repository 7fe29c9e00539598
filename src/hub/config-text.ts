import { findNodeAtLocation, type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";
import { parse as parseTOML, TomlError } from "smol-toml";
import { isAlias, isMap, isNode, isPair, isSeq, LineCounter, parseDocument, type Node as YAMLNode } from "yaml";
import { setOwn } from "../internal/objects.ts";
import { quote } from "../internal/text.ts";

/** A place in a file. Both numbers count from 1. */
export interface TextPosition {
  line: number;
  column: number;
}

/** A key of a value, or an index of an array. */
export type ConfigPath = readonly (string | number)[];

/** A file that was parsed. */
export interface ParsedText {
  value: unknown;
  /** Returns the position of a value, or of its key. For a missing one, that of the value that should contain it. */
  locate(path: ConfigPath, atKey?: boolean): TextPosition | undefined;
}

/** Reports why a file cannot be parsed. Contains no part of the file, which may be secret. */
export class TextError extends Error {
  readonly position: TextPosition | undefined;

  constructor(message: string, position: TextPosition | undefined) {
    super(message);
    this.position = position;
  }
}

/** Parses JSON as written in configuration files: with comments, trailing commas and a byte order mark. */
export function parseJSONText(file: string): ParsedText {
  const text = withoutByteOrderMark(file);
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first !== undefined || root === undefined) {
    const reason = first === undefined ? "value expected" : toWords(printParseErrorCode(first.error));
    throw new TextError(`It is not valid JSON: ${reason}.`, toPosition(text, first?.offset ?? 0));
  }
  const value = toValue(root, text);
  return {
    value,
    locate(path, atKey = false) {
      const { found, isWhole } = deepest(path, (part) => findNodeAtLocation(root, [...part]));
      const key = isWhole && atKey && found?.parent?.type === "property" ? found.parent : found;
      return toPosition(text, (key ?? root).offset);
    },
  };
}

/** Parses YAML 1.2 with merge keys (`<<`). */
export function parseYAMLText(file: string): ParsedText {
  const text = withoutByteOrderMark(file);
  const lineCounter = new LineCounter();
  // Messages of the parser can contain parts of the file, so only their codes are used.
  const document = parseDocument(text, { lineCounter, merge: true, prettyErrors: false });
  const positionAt = (offset: number) => {
    const { line, col } = lineCounter.linePos(offset);
    return { line, column: col };
  };
  const [error] = [...document.errors, ...document.warnings];
  if (error !== undefined) {
    throw new TextError(`It is not valid YAML: ${toWords(error.code)}.`, positionAt(error.pos[0]));
  }
  let value: unknown;
  try {
    value = document.toJS();
  } catch {
    throw new TextError("It is not valid YAML: too many or unresolved aliases.", undefined);
  }
  const step = (parent: unknown, key: string | number): { key: unknown; value: unknown } | undefined => {
    const node = isAlias(parent) ? parent.resolve(document) : parent;
    if (isSeq(node)) return typeof key === "number" ? { key: node.items[key], value: node.items[key] } : undefined;
    if (!isMap(node)) return undefined;
    const pair = node.items.find((item) => isPair(item) && String(item.key) === String(key));
    return pair === undefined ? undefined : { key: pair.key, value: pair.value };
  };
  return {
    value,
    locate(path, atKey = false) {
      let found: { key: unknown; value: unknown } = { key: document.contents, value: document.contents };
      let isWhole = true;
      for (const key of path) {
        const next = step(found.value, key);
        if (next === undefined) {
          isWhole = false;
          break;
        }
        found = next;
      }
      const node = (isWhole && atKey ? undefined : found.value) ?? found.key;
      const range = isNode(node) ? (node as YAMLNode).range : undefined;
      return range ? positionAt(range[0]) : undefined;
    },
  };
}

/** Parses TOML. */
export function parseTOMLText(file: string): unknown {
  try {
    return parseTOML(withoutByteOrderMark(file));
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    throw new TextError("It is not valid TOML.", { line: error.line, column: error.column });
  }
}

/**
 * Returns the position of a key in the text of a program, as far as the configuration is written as object literals.
 * Values that the program computes have no position.
 */
export function locateInProgram(text: string, path: ConfigPath): TextPosition | undefined {
  const [first, ...rest] = path;
  const start = new RegExp(`(?<![\\w$.])(["'\`]?)${escapePattern(first ?? "")}\\1\\s*[:=]\\s*`).exec(text);
  if (first === undefined || start === null) return undefined;
  let found = start.index;
  let value = found + start[0].length;
  for (const key of rest) {
    const members = [...membersOf(text, value)];
    const name = new RegExp(`(["'\`]?)${escapePattern(key)}\\1\\s*(?::\\s*|(?=[,}(]))`, "y");
    const member = members.find((offset, index) => {
      name.lastIndex = offset;
      return typeof key === "number" ? index === key : name.test(text);
    });
    if (member === undefined) break;
    found = member;
    value = typeof key === "number" ? member : name.lastIndex;
  }
  return toPosition(text, found);
}

/** Matches what cannot be part of the structure of an object literal: strings and comments. */
const opaque = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|\/\/[^\n]*|\/\*[\s\S]*?\*\//y;

/** Returns the offsets of the members of the object or array literal at an offset. */
function* membersOf(text: string, start: number): Iterable<number> {
  let depth = 0;
  let isStart = false;
  for (let offset = start; offset < text.length; offset++) {
    const character = text[offset]!;
    if (depth === 0 && !/[{[]/.test(character)) return;
    opaque.lastIndex = offset;
    const skipped = opaque.exec(text)?.[0] ?? character;
    if (skipped.startsWith("//") || skipped.startsWith("/*") || /\s/.test(character)) {
      offset += skipped.length - 1;
      continue;
    }
    if (isStart && !/[,}\]]/.test(character)) yield offset;
    isStart = false;
    offset += skipped.length - 1;
    if (/[{[(]/.test(character)) isStart = ++depth === 1;
    else if (/[}\])]/.test(character) && --depth === 0) return;
    else if (character === "," && depth === 1) isStart = true;
  }
}

function escapePattern(key: string | number): string {
  return String(key).replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** Finds the longest part of a path that exists. */
function deepest<T>(path: ConfigPath, find: (path: ConfigPath) => T | undefined): { found?: T; isWhole: boolean } {
  for (let length = path.length; length > 0; length--) {
    const found = find(path.slice(0, length));
    if (found !== undefined) return { found, isWhole: length === path.length };
  }
  return { isWhole: false };
}

/** Converts a JSON document to its value. The parser itself accepts two members with the same key. */
function toValue(node: Node, text: string): unknown {
  if (node.type === "array") return (node.children ?? []).map((item) => toValue(item, text));
  if (node.type !== "object") return node.value;
  const object: Record<string, unknown> = {};
  for (const { children: [key, value] = [] } of node.children ?? []) {
    if (key === undefined || value === undefined) continue;
    if (Object.hasOwn(object, key.value)) {
      throw new TextError(
        `It is not valid JSON: the key ${quote(key.value)} exists twice.`,
        toPosition(text, key.offset),
      );
    }
    setOwn(object, key.value, toValue(value, text));
  }
  return object;
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

function withoutByteOrderMark(text: string): string {
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}
