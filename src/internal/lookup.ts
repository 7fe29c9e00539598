/** How a lookup finds what is asked for by name. */
export interface LookupSource<T> {
  /** Called once for a name that gave something; the answer is kept. */
  find(name: string): T | undefined;
  names(): Iterable<string>;
  /** Tells which answers are kept: names may come from outside, and must not fill the memory. @default all */
  keeps?(name: string): boolean;
}

/**
 * An object that finds its properties when they are read. Has no prototype, so that `constructor` and its like are
 * names as any other, and cannot be written to.
 */
export function createLookup<T>(source: LookupSource<T>): Record<string, T> {
  return new Proxy<Record<string, T>>(Object.create(null), new LookupHandler(source));
}

class LookupHandler<T> implements ProxyHandler<Record<string, T>> {
  readonly #source: LookupSource<T>;
  readonly #found = new Map<string, T>();

  constructor(source: LookupSource<T>) {
    this.#source = source;
  }

  get(_target: object, key: string | symbol): T | undefined {
    if (typeof key !== "string") return undefined;
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
    return [...new Set(this.#source.names())];
  }

  getOwnPropertyDescriptor(target: object, key: string | symbol): PropertyDescriptor | undefined {
    if (!this.has(target, key)) return undefined;
    return { value: this.get(target, key), enumerable: true, configurable: true, writable: false };
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
