/** Where a text is no JSON. Holds no piece of the text, which may be secret. */
export class JSONCError extends Error {
  override readonly name = "JSONCError";
  /** Both count from 1. Absent where the platform does not tell. */
  readonly line?: number;
  readonly column?: number;

  constructor(position?: { line: number; column: number }) {
    super(
      position === undefined ? "not valid JSON" : `not valid JSON at line ${position.line}, column ${position.column}`,
    );
    this.line = position?.line;
    this.column = position?.column;
  }
}

/** Reads JSON as people write it in configuration files: with comments, commas after the last item, and a byte order mark. */
export function parseJSONC(text: string): unknown {
  const plain = toJSON(text);
  try {
    return JSON.parse(plain);
  } catch (error) {
    throw new JSONCError(positionOf(error, plain));
  }
}

/** Puts blanks in the place of what JSON does not know, so that positions stay the same. */
function toJSON(text: string): string {
  // Strings are taken whole, so that nothing inside of them is touched.
  const token = /"(?:[^"\\\n]|\\.)*"?|\/\/[^\n\r]*|\/\*[\s\S]*?(?:\*\/|$)|\uFEFF/g;
  const plain = text.replace(token, (match) => (match.startsWith('"') ? match : blank(match)));
  return plain.replace(/"(?:[^"\\\n]|\\.)*"?|(?<=["\]}\w]\s*),(?=\s*[}\]])/g, (match) => (match === "," ? " " : match));
}

function blank(text: string): string {
  return text.replace(/[^\n\r]/g, " ");
}

function positionOf(error: unknown, text: string): { line: number; column: number } | undefined {
  const message = error instanceof Error ? error.message : "";
  const found = /position (\d+)/.exec(message)?.[1];
  const offset =
    found === undefined ? (/end of (?:JSON input|data)/i.test(message) ? text.length : undefined) : Number(found);
  if (offset === undefined) return undefined;
  const before = text.slice(0, offset).split(/\r\n|\n|\r/);
  return { line: before.length, column: before.at(-1)!.length + 1 };
}
