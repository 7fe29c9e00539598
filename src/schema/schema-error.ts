import { escapeToken } from "../internal/json-pointer.ts";

/** A schema that cannot be used. `pointer` says where in it, as a JSON pointer; `""` is the schema itself. */
export class SchemaError extends Error {
  override readonly name = "SchemaError";
  readonly pointer: string;

  constructor(pointer: string, problem: string, options: ErrorOptions & { where?: string } = {}) {
    const { where = "Schema", ...errorOptions } = options;
    super(`${where}${pointer === "" ? "" : `, at "${shorten(pointer)}"`}: ${problem}`, errorOptions);
    this.pointer = pointer;
  }
}

/** Adds one step to a JSON pointer. */
export function joinPointer(pointer: string, key: string | number): string {
  return `${pointer}/${typeof key === "number" ? key : escapeToken(key)}`;
}

/** The pointer to a direct sub-schema: below its keyword, and there by name or index if the keyword holds several. */
export function pointerTo(pointer: string, keyword: string, key?: string | number): string {
  const below = joinPointer(pointer, keyword);
  return key === undefined ? below : joinPointer(below, key);
}

/** Makes a foreign value fit for a message: short, and on one line. */
export function describe(value: unknown): string {
  if (Array.isArray(value)) return "an array";
  if (value === null) return "null";
  if (typeof value === "object") return "an object";
  if (typeof value === "function") return "a function";
  return typeof value === "string" ? JSON.stringify(shorten(value)) : String(value);
}

function shorten(text: string): string {
  return text.length > 100 ? `${text.slice(0, 97)}...` : text;
}
