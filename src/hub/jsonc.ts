/** Reports where a document is not valid JSON. Contains no part of the document, which may be secret. */
export class JSONCError extends Error {
  override readonly name = "JSONCError";
  /** Counts from 1. Absent where the platform does not report a position. */
  readonly line?: number;
  /** Counts from 1. Absent where the platform does not report a position. */
  readonly column?: number;

  constructor(position?: { line: number; column: number }) {
    super(
      position === undefined ? "not valid JSON" : `not valid JSON at line ${position.line}, column ${position.column}`,
    );
    this.line = position?.line;
    this.column = position?.column;
  }
}

/** Parses JSON as written in configuration files: with comments, trailing commas and a byte order mark. */
export function parseJSONC(text: string): unknown {
  const json = toJSON(text);
  try {
    return JSON.parse(json);
  } catch (error) {
    throw new JSONCError(positionOf(error, json));
  }
}

/** Replaces everything that is not JSON with blanks, so that positions stay the same. */
function toJSON(text: string): string {
  // Strings are matched whole, so that their content is not changed.
  const token = /"(?:[^"\\\n]|\\.)*"?|\/\/[^\n\r]*|\/\*[\s\S]*?(?:\*\/|$)|\uFEFF/g;
  const withoutComments = text.replace(token, (match) => (match.startsWith('"') ? match : blank(match)));
  return withoutComments.replace(/"(?:[^"\\\n]|\\.)*"?|(?<=["\]}\w]\s*),(?=\s*[}\]])/g, (match) =>
    match === "," ? " " : match,
  );
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
