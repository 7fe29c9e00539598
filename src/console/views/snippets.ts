import type { OperationType } from "../app/api.ts";

/** One call, and where it goes. */
export interface SnippetCall {
  /** Address of the hub, without a slash at its end. */
  url: string;
  id: string;
  type: OperationType;
  /** `undefined` for an operation that takes no input. */
  input: unknown;
  /** The name of its tool for models. */
  tool?: string;
}

/** A form in which a call can be copied. */
export type SnippetKind = "typescript" | "curl" | "command" | "mcp";

/** The forms, in the order of the menu. */
export const snippetNames: readonly (readonly [kind: SnippetKind, name: string])[] = [
  ["typescript", "TypeScript"],
  ["curl", "curl"],
  ["command", "command"],
  ["mcp", "MCP request"],
];

/** Characters that must not reach a terminal or an editor as they are. */
const invisible = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/gu;
const identifier = /^[A-Za-z_$][\w$]*$/;

/** Returns a program or a line that makes the same call. The token is always read from `OPERATIONS_TOKEN`. */
export function toSnippet(kind: SnippetKind, call: SnippetCall): string {
  return { typescript: toTypeScript, curl: toCurl, command: toCommand, mcp: toMCP }[kind](call);
}

function toTypeScript({ url, id, type, input }: SnippetCall): string {
  const [namespace, name] = split(id);
  const call = `client${member(namespace)}${member(name)}(${input === undefined ? "" : safeJSON(input, 2)})`;
  const run =
    type === "subscription" ? `for await (const value of ${call}) console.log(value);` : `console.log(await ${call});`;
  return [
    'import { connect } from "@alkdev/operations/client";',
    "",
    `const client = connect(${safeJSON(url)}, { token: process.env.OPERATIONS_TOKEN });`,
    "",
    run,
    "await client.close();",
    "",
  ].join("\n");
}

function toCurl({ url, id, type, input }: SnippetCall): string {
  const [namespace, name] = split(id);
  const path = [namespace, ...name.split("/")].map(encodeURIComponent).join("/");
  return [
    `curl -sS${type === "subscription" ? "N" : ""} ${quote(`${url}/${path}`)}`,
    `-H "Authorization: Bearer $OPERATIONS_TOKEN"`,
    "-H 'Content-Type: application/json'",
    `-d ${quote(safeJSON(input ?? {}))}`,
  ].join(" \\\n  ");
}

function toCommand({ url, id, type, input }: SnippetCall): string {
  const verb = type === "subscription" ? "subscribe" : "call";
  const given = input === undefined ? "" : ` --input ${quote(safeJSON(input))}`;
  return `npx @alkdev/operations ${verb} ${quote(id)} --hub ${quote(url)}${given}`;
}

/** A request of MCP as curl sends it, in the revision that needs no session. */
function toMCP({ url, id, input, tool = id.replace(".", "_") }: SnippetCall): string {
  const isObject = typeof input === "object" && input !== null && !Array.isArray(input);
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "curl", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const params = { name: tool, arguments: input === undefined ? {} : isObject ? input : { input }, _meta: meta };
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
  return [
    `curl -sS ${quote(`${url}/mcp`)}`,
    `-H "Authorization: Bearer $OPERATIONS_TOKEN"`,
    "-H 'Content-Type: application/json'",
    "-H 'Accept: application/json, text/event-stream'",
    "-H 'MCP-Protocol-Version: 2026-07-28'",
    "-H 'Mcp-Method: tools/call'",
    `-H ${quote(`Mcp-Name: ${tool}`)}`,
    `-d ${quote(safeJSON(body))}`,
  ].join(" \\\n  ");
}

function split(id: string): [namespace: string, name: string] {
  const dot = id.indexOf(".");
  return [id.slice(0, dot), id.slice(dot + 1)];
}

function member(name: string): string {
  return identifier.test(name) ? `.${name}` : `[${safeJSON(name)}]`;
}

/** JSON in which every invisible character is an escape. */
function safeJSON(value: unknown, indent?: number): string {
  return JSON.stringify(value, undefined, indent).replace(invisible, (character) =>
    character === "\n"
      ? character
      : Array.from(
          { length: character.length },
          (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`,
        ).join(""),
  );
}

/** A word of a POSIX shell. */
function quote(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replace(invisible, "").replaceAll("'", `'\\''`)}'`;
}
