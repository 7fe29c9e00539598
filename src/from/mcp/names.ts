import { createGlobs } from "../../internal/globs.ts";
import type { MCPToolFilter } from "./config.ts";

const longestNamespace = 64;

/** Makes a server's name fit for a namespace: 1 to 64 characters, no dot, no control character. */
export function toNamespace(server: string): string {
  const fitting = Array.from(server.replace(/[.\p{Cc}\p{Cs}]/gu, "_"));
  return fitting.length === 0 ? "mcp" : fitting.slice(0, longestNamespace).join("");
}

/** Decides by tool name; `exclude` wins. */
export function createToolFilter({ include, exclude = [] }: MCPToolFilter = {}): (name: string) => boolean {
  const isIncluded = include === undefined ? () => true : createGlobs(include);
  const isExcluded = createGlobs(exclude);
  return (name) => isIncluded(name) && !isExcluded(name);
}
