/** The source of the properties of a lookup. */
export interface LookupSource<T> {
  /** Label in strings and logs, such as `client.task`. */
  readonly label: string;
  /** Returns the property with this name. Called once for an existing name; the result is cached. */
  find(name: string): T | undefined;
  names(): Iterable<string>;
  /** Returns whether a result is cached. Names of remote callers must not fill the memory. @default all */
  keeps?(name: string): boolean;
  /** Returns whether a function may be read under a reserved name. @default never */
  allowsReserved?(name: string): boolean;
  /** Called at the end of `await using`. */
  dispose?(): Promise<void>;
}

/**
 * Methods that JavaScript calls implicitly when it converts an object to a string or JSON, or awaits it. Unless the source
 * allows it, they never resolve to a function, so that a conversion does not call an operation.
 */
const reservedNames: ReadonlySet<string> = new Set(["toString", "toLocaleString", "valueOf", "toJSON", "then"]);

const inspectCustom = Symbol.for("nodejs.util.inspect.custom");

/** Maximum number of names that are listed when an object is inspected. */
const maxInspectedNames = 20;

/** Formats a value, as `util.inspect` does. */
type Format = (value: unknown, options: object) => string;

/** Sets the output of `console.log` and `util.inspect` of Node for an object, or for all objects of a prototype. */
export function setInspection<T extends object>(
  target: T,
  inspect: (object: T, options: object, format: Format) => string,
): void {
  const value = function (this: T, _depth: number, options: object, format: Format): string {
    return inspect(this, options, format);
  };
  Object.defineProperty(target, inspectCustom, { value, configurable: true });
}

/** Formats a label and the first names, as in `[client: "task", "user"]`. */
export function inspectNames(label: string, names: Iterable<string>): string {
  const all = [...new Set(names)];
  const shown = all.slice(0, maxInspectedNames).map((name) => JSON.stringify(name));
  if (all.length > shown.length) shown.push(`and ${all.length - shown.length} more`);
  return shown.length === 0 ? `[${label}]` : `[${label}: ${shown.join(", ")}]`;
}

/**
 * Creates a read-only object that resolves its properties when they are read. It has no prototype, so that `constructor`
 * and similar names are ordinary names. Converting it to a string or inspecting it does not resolve a property.
 */
export function createLookup<T>(source: LookupSource<T>): Record<string, T> {
  const target: Record<string, T> = Object.create(null);
  // Set on the target, because Node inspects the target of a proxy.
  setInspection(target, () => inspectNames(source.label, source.names()));
  return new Proxy<Record<string, T>>(target, new LookupHandler(source));
}

class LookupHandler<T> implements ProxyHandler<Record<string, T>> {
  readonly #source: LookupSource<T>;
  readonly #found = new Map<string, T>();

  constructor(source: LookupSource<T>) {
    this.#source = source;
  }

  get(_target: object, key: string | symbol, receiver: unknown): unknown {
    if (typeof key !== "string") return this.#ownSymbol(key);
    return this.#isHidden(key) ? this.#ownForm(key, receiver) : this.#find(key);
  }

  #ownSymbol(key: symbol): unknown {
    const { label } = this.#source;
    if (key === Symbol.toPrimitive) return (hint: string) => (hint === "number" ? Number.NaN : `[${label}]`);
    if (key === Symbol.toStringTag) return label;
    if (key === Symbol.asyncDispose) return this.#source.dispose;
    return key === inspectCustom ? () => inspectNames(label, this.#source.names()) : undefined;
  }

  #ownForm(key: string, receiver: unknown): unknown {
    if (key === "valueOf") return () => receiver;
    return key === "toString" || key === "toLocaleString" ? () => `[${this.#source.label}]` : undefined;
  }

  #find(key: string): T | undefined {
    let value = this.#found.get(key);
    if (value === undefined) {
      value = this.#source.find(key);
      if (value !== undefined && this.#source.keeps?.(key) !== false) this.#found.set(key, value);
    }
    return value;
  }

  has(_target: object, key: string | symbol): boolean {
    return typeof key === "string" && this.ownKeys().includes(key);
  }

  ownKeys(): string[] {
    return [...new Set(this.#source.names())].filter((name) => !this.#isHidden(name));
  }

  #isHidden(name: string): boolean {
    return (
      reservedNames.has(name) && typeof this.#find(name) !== "object" && this.#source.allowsReserved?.(name) !== true
    );
  }

  getOwnPropertyDescriptor(target: object, key: string | symbol): PropertyDescriptor | undefined {
    if (!this.has(target, key)) return undefined;
    return { value: this.get(target, key, undefined), enumerable: true, configurable: true, writable: false };
  }

  set(): boolean {
    return false;
  }

  defineProperty(): boolean {
    return false;
  }

  deleteProperty(): boolean {
    return false;
  }

  setPrototypeOf(): boolean {
    return false;
  }

  preventExtensions(): boolean {
    return false;
  }
}
