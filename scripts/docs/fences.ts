/** A fenced code block in Markdown, or in a comment that contains Markdown. */
export interface Fence {
  /** Line of the opening fence, from 1. */
  line: number;
  /** The first word after the backticks, such as `ts`. */
  language: string;
  /** The words after it, such as `{ program: "", source: "examples/tour/main.ts#call" }` of `program source="…"`. */
  attributes: Record<string, string>;
  /** The lines inside, without the prefix of the comment. */
  content: string;
}

const opening = /^(\s*(?:\* ?)?\s*)(`{3,}|~{3,})\s*([^\s`]*)([^`]*)$/;

/**
 * Replaces the content of each fenced block with the result of `fill`; `undefined` leaves a block unchanged. The prefix
 * of the opening line (indentation, ` * ` in a comment) is added to every line. Throws if a block has no end.
 */
export function mapFences(text: string, fill: (fence: Fence) => string | undefined): string {
  const lines = text.split("\n");
  const result: string[] = [];
  for (let index = 0; index < lines.length; index++) {
    const first = lines[index]!;
    result.push(first);
    const [, prefix, ticks, language, rest] = opening.exec(first) ?? [];
    if (prefix === undefined || ticks === undefined || language === undefined) continue;
    const end = findEnd(lines, index + 1, ticks);
    const body = lines.slice(index + 1, end);
    const content = body.map((line) => stripPrefix(line, prefix)).join("\n");
    const filled = fill({ line: index + 1, language, attributes: parseAttributes(rest ?? ""), content });
    if (filled === undefined) result.push(...body);
    else result.push(...filled.split("\n").map((line) => (prefix + line).trimEnd()));
    result.push(lines[end]!);
    index = end;
  }
  return result.join("\n");
}

/** Empties the lines of fenced blocks. Line numbers do not change. */
export function blankFences(text: string): string {
  return mapFences(text, ({ content }) => content.replace(/[^\n]/g, ""));
}

function findEnd(lines: string[], from: number, ticks: string): number {
  const closing = new RegExp(`^\\s*(?:\\* ?)?\\s*${ticks[0]}{${ticks.length},}\\s*$`);
  const end = lines.findIndex((line, index) => index >= from && closing.test(line));
  if (end === -1) throw new Error(`${from}: the code block that begins here has no end`);
  return end;
}

function stripPrefix(line: string, prefix: string): string {
  return line.startsWith(prefix) ? line.slice(prefix.length) : line.slice(prefix.trimEnd().length);
}

function parseAttributes(text: string): Record<string, string> {
  return Object.fromEntries(
    Array.from(text.matchAll(/([a-z]+)(?:="([^"]*)")?/g), ([, key, value = ""]) => [key, value]),
  );
}
