import { isDeepStrictEqual } from "node:util";
import { applyEdits, modify } from "jsonc-parser";
import { stringify as stringifyTOML } from "smol-toml";
import { parseText } from "../hub/config-text.ts";
import type { Editor } from "../hub/editors.ts";
import { getOwn, isObject, type JSONObject } from "../internal/objects.ts";
import { quote } from "../internal/text.ts";
import { usageError } from "./failures.ts";

/** An MCP server for the configuration file of an editor: a program, or the URL of a running hub. */
export type EditorServer = { command: string; args: readonly string[] } | { url: string };

/** Editors on Windows may write it at the beginning of a file. */
const byteOrderMark = "\uFEFF";

/**
 * Returns the content of a file with the server added, or replaced if it has one of that name. Everything else stays, with
 * comments; only the lines next to the server may be indented again. Throws if the content cannot be edited without losing
 * something, or if the file of the editor cannot contain the server.
 */
export function addServer(editor: Editor, file: string, content: string, name: string, server: EditorServer): string {
  if (content.startsWith(byteOrderMark)) return byteOrderMark + addServer(editor, file, content.slice(1), name, server);
  const { serversKey, title, programFields, toRemote, input } = editor;
  const refuse = (reason: string) => usageError(`${quote(file, 1_000)} of ${title} was not changed: ${reason}.`);
  const entry = "url" in server ? toRemote?.(server.url) : { ...programFields, ...server };
  if (entry === undefined) throw refuse("it cannot contain URLs, only programs");
  const document = content.trim() === "" ? {} : parseText(file, content).value;
  const servers = getOwn(document, serversKey) ?? {};
  const inputs = getOwn(document, "inputs") ?? [];
  if (!isObject(document) || !isObject(servers) || !Array.isArray(inputs)) {
    throw refuse(`its content or ${quote(serversKey)} is not an object`);
  }
  if (file.endsWith(".toml")) {
    const table = stringifyTOML({ [serversKey]: { [name]: entry } });
    const edited = replaceTable(content, table);
    if (isTOML(file, edited, { ...document, [serversKey]: { ...servers, [name]: entry } })) return edited;
    throw refuse(`the table of the server ${quote(name)} is written in a form that cannot be replaced`);
  }
  const added = setJSON(content, [serversKey, name], entry);
  if (input === undefined || "command" in server || inputs.some((it) => getOwn(it, "id") === input["id"])) return added;
  return inputs.length === 0 ? setJSON(added, ["inputs"], [input]) : setJSON(added, ["inputs", inputs.length], input);
}

function setJSON(content: string, path: Array<string | number>, value: unknown): string {
  const indent = /^([ \t]+)\S/m.exec(content)?.[1] ?? "  ";
  const eol = content.includes("\r\n") ? "\r\n" : "\n";
  const formattingOptions = { insertSpaces: !indent.startsWith("\t"), tabSize: indent.length, eol };
  const start = content.trim() === "" ? "{}" : content;
  const edited = applyEdits(start, modify(start, path, value, { formattingOptions }));
  return edited.endsWith("\n") ? edited : `${edited}${eol}`;
}

/**
 * Removes the lines from the header of a table, and of its inner tables, to the next header, except comments. Adds the
 * table at the end.
 */
function replaceTable(content: string, table: string): string {
  const header = table.slice(0, table.indexOf("\n"));
  let isInside = false;
  const kept = content.split("\n").filter((line) => {
    const start = line.trim();
    if (start.startsWith("[")) isInside = start.startsWith(header) || start.startsWith(`${header.slice(0, -1)}.`);
    return !isInside || start.startsWith("#");
  });
  return `${kept.join("\n").trimEnd()}\n\n${table.trimEnd()}\n`.trimStart();
}

/**
 * Returns whether a file has this content. TOML has no editing library, so what was edited is parsed and compared: text that
 * looks like a table but is part of a string is never changed. Both are compared as JSON, because tables have other prototypes.
 */
function isTOML(file: string, content: string, expected: JSONObject): boolean {
  const toJSON = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
  try {
    return isDeepStrictEqual(toJSON(parseText(file, content).value), toJSON(expected));
  } catch {
    return false;
  }
}
