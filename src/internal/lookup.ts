/** How a lookup finds what is asked for by name. */
export interface LookupSource<T> {
  /** What it is called in strings and logs, such as `client.task`. */
  readonly label: string;
  /** Called once for a name that is found; the result is kept. */
  find(name: string): T | undefined;
  names(): Iterable<string>;
  /** Whether a result is kept: names may come from outside, and must not fill the memory. @default all */
  keeps?(name: string): boolean;
  /** What `await using` calls in the end. */
  dispose?(): Promise<void>;
}

/**
 * What the language and its tools call, of their own accord, on every object that they turn into a string, JSON or the
 * result of an `await`. Functions with these names are never found, so that none of that runs one.
 */
const reservedNames: ReadonlySet<string> = new Set(["toString", "toLocaleString", "valueOf", "toJSON", "then"]);

const inspectCustom = Symbol.for("nodejs.util.inspect.custom");

/** More names than these are not listed when an object is inspected. */
const maxInspectedNames = 20;

/** Sets what `console.log` and `util.inspect` of Node show for an object, or for all objects of a prototype. */
export function setInspection<T extends object>(target: T, inspect: (object: T) => string): void {
  const value = function (this: T): string {
    return inspect(this);
  };
  Object.defineProperty(target, inspectCustom, { value, configurable: true });
}

/** Writes a label and the first names, as in `[client: "task", "user"]`. */
export function inspectNames(label: string, names: Iterable<string>): string {
  const all = [...new Set(names)];
  const shown = all.slice(0, maxInspectedNames).map((name) => JSON.stringify(name));
  if (all.length > shown.length) shown.push(`and ${all.length - shown.length} more`);
  return shown.length === 0 ? `[${label}]` : `[${label}: ${shown.join(", ")}]`;
}

/**
 * An object that finds its properties when they are read. Has no prototype, so that `constructor` and its like are
 * names as any other, and cannot be written to. It has string and inspection forms of its own, which find nothing.
 */
export function createLookup<T>(source: LookupSource<T>): Record<string, T> {
  const target: Record<string, T> = Object.create(null);
  // On the target, because that is where Node looks, past the proxy.
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
    const value = this.#find(key);
    return reservedNames.has(key) && typeof value !== "object" ? this.#ownForm(key, receiver) : value;
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
    return reservedNames.has(name) && typeof this.#find(name) !== "object";
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
