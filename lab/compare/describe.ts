/** Properties whose values depend on the clock, or are hashes of what is compared anyway. */
const masked = new Set(["duration", "etag", "date", "retryAfter"]);

/** Texts that differ between two runs of the same program, and what replaces them. */
const masks: Array<[RegExp, string]> = [
  [/\b(127\.0\.0\.1|localhost|\[::1\]):\d{2,5}\b/g, "$1:<port>"],
  [/\b\d+(\.\d+)? ?ms\b/g, "<duration>"],
  [/\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z\b/g, "<date>"],
];

/** Numbers and dates of the present are times. Generated ones are years away. */
const nearbyMs = 24 * 60 * 60 * 1_000;

/**
 * Describes any value as JSON, with sorted keys. Values that JSON does not have become objects with the key `$`. Random ids
 * are numbered in the order in which they appear, so that two equal ones stay equal; times are masked.
 */
export function describe(value: unknown, folders: Readonly<Record<string, string>> = {}): unknown {
  return new Description(folders).of(value);
}

class Description {
  readonly #folders: Array<[path: string, name: string]>;
  readonly #ids = new Map<string, number>();
  readonly #open = new Set<object>();
  readonly #now = Date.now();

  constructor(folders: Readonly<Record<string, string>>) {
    // Longer paths first: one folder may contain another.
    this.#folders = Object.entries(folders)
      .map(([name, path]): [string, string] => [path, `<${name}>`])
      .sort((one, other) => other[0].length - one[0].length);
  }

  of(value: unknown): unknown {
    switch (typeof value) {
      case "string":
        return this.#text(value);
      case "number":
        return this.#number(value);
      case "boolean":
        return value;
      case "object":
        return value === null ? null : this.#once(value);
      case "undefined":
        return { $: "undefined" };
      default:
        return { $: typeof value, ...(typeof value !== "function" && { value: String(value) }) };
    }
  }

  #text(text: string): string {
    let result = text;
    for (const [path, name] of this.#folders) result = result.replaceAll(path, name);
    for (const [pattern, name] of masks) {
      result = result.replace(pattern, (match, ...groups) =>
        name === "<date>" && !this.#isNow(Date.parse(match)) ? match : name.replace("$1", String(groups[0])),
      );
    }
    return result.replace(/\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}(?:-\d+)?\b/gi, (id) => this.#id(id));
  }

  #id(id: string): string {
    const number = this.#ids.get(id) ?? this.#ids.size + 1;
    this.#ids.set(id, number);
    return `<id ${number}>`;
  }

  #number(value: number): unknown {
    if (this.#isNow(value)) return "<time>";
    if (Object.is(value, -0)) return { $: "number", value: "-0" };
    return Number.isFinite(value) ? value : { $: "number", value: String(value) };
  }

  #isNow(time: number): boolean {
    return Math.abs(time - this.#now) < nearbyMs;
  }

  #once(value: object): unknown {
    if (this.#open.has(value)) return { $: "cycle" };
    this.#open.add(value);
    try {
      return this.#object(value);
    } finally {
      this.#open.delete(value);
    }
  }

  #object(value: object): unknown {
    if (Array.isArray(value)) return value.map((item) => this.of(item));
    if (value instanceof Error) return this.#error(value);
    if (value instanceof Date) {
      const text = Number.isNaN(value.getTime()) ? "invalid" : value.toISOString();
      return { $: "Date", value: this.#isNow(value.getTime()) ? "<date>" : text };
    }
    if (value instanceof Map) return { $: "Map", entries: this.of([...value]) };
    if (value instanceof Set) return { $: "Set", values: this.of([...value]) };
    if (value instanceof ArrayBuffer) return { $: "ArrayBuffer", bytes: [...new Uint8Array(value)] };
    if (ArrayBuffer.isView(value)) {
      const { buffer, byteOffset, byteLength } = value;
      return { $: value.constructor.name, bytes: [...new Uint8Array(buffer, byteOffset, byteLength)] };
    }
    if (Symbol.asyncIterator in value) return { $: "async iterable" };
    return this.#properties(value);
  }

  #properties(value: object): Record<string, unknown> {
    const name: unknown = Object.getPrototypeOf(value)?.constructor?.name;
    const described: Record<string, unknown> = {};
    if (typeof name === "string" && name !== "Object") described["$"] = name;
    for (const key of Object.keys(value).sort()) {
      const text = masked.has(key) ? `<${key}>` : this.of((value as Record<string, unknown>)[key]);
      Object.defineProperty(described, this.#text(key), { value: text, enumerable: true, configurable: true });
    }
    return described;
  }

  #error(error: Error & { code?: unknown; details?: unknown; retryable?: unknown; mayHaveRun?: unknown }): unknown {
    const { name, message, code, details, retryable, mayHaveRun, cause } = error;
    return {
      $: name,
      message: this.#text(message),
      ...(code !== undefined && { code: this.of(code) }),
      ...(details !== undefined && { details: this.of(details) }),
      ...(retryable !== undefined && { retryable }),
      ...(mayHaveRun !== undefined && { mayHaveRun }),
      ...(cause !== undefined && { cause: this.of(cause) }),
    };
  }
}
