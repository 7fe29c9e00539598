import type { MCPToolFilter } from "./config.ts";

const longestNamespace = 64;

/** Makes a server's name fit for a namespace: 1 to 64 characters, no dot, no control character. */
export function toNamespace(server: string): string {
  const fitting = Array.from(server.replace(/[.\p{Cc}\p{Cs}]/gu, "_"));
  return fitting.length === 0 ? "mcp" : fitting.slice(0, longestNamespace).join("");
}

/** Decides by tool name; `exclude` wins. */
export function createToolFilter({ include, exclude = [] }: MCPToolFilter = {}): (name: string) => boolean {
  return (name) =>
    (include === undefined || include.some((glob) => matches(glob, name))) &&
    !exclude.some((glob) => matches(glob, name));
}

/** Compares the whole text; `*` stands for any run of characters. Takes time linear in the text for each part. */
function matches(glob: string, text: string): boolean {
  const parts = glob.split("*");
  if (parts.length === 1) return glob === text;
  const [first, last] = [parts[0]!, parts.at(-1)!];
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false;
  let from = first.length;
  const end = text.length - last.length;
  for (const part of parts.slice(1, -1)) {
    const at = text.indexOf(part, from);
    if (at < 0 || at + part.length > end) return false;
    from = at + part.length;
  }
  return true;
}
