/** The source of the properties of a lookup. */
export interface LookupSource<T> {
  /** Label in strings and logs, such as `client.task`. */
  readonly label: string;
  /** Returns the property with this name. The results for the first thousand names are cached. */
  find(name: string): T | undefined;
  /** The names that are known to exist. */
  names(): Iterable<string>;
  /** Called at the end of `await using`. */
  dispose?: (() => Promise<void>) | undefined;
}

/**
 * Methods that JavaScript calls when it converts an object to a string or JSON, or awaits it. They never resolve, so that
 * a conversion does not call an operation.
 */
const conversions: ReadonlySet<string> = new Set(["toString", "toLocaleString", "valueOf", "toJSON", "then"]);

/** Names that JavaScript or a test tool reads from every object. They resolve only to what is known to exist. */
const probedNames: ReadonlySet<string> = new Set([
  ...["asymmetricMatch", "$$typeof", "nodeType", "tagName", "hasAttribute"],
  ...Object.getOwnPropertyNames(Object.prototype),
]);

/** Maximum number of cached names, because names may come from untrusted input. */
const maxCachedNames = 1_000;

/**
 * Creates a read-only object that resolves its properties when they are read. It has no prototype, so that `constructor`
 * and similar names are ordinary names. Converting it to a string or inspecting it does not resolve a property.
 */
export function createLookup<T>({ label, find, names, dispose }: LookupSource<T>): Record<string, T> {
  const cache = new Map<string, T>();
  const read = (name: string): T | undefined => {
    const known = cache.get(name);
    if (known !== undefined || conversions.has(name)) return known;
    if (probedNames.has(name) && ![...names()].includes(name)) return undefined;
    const value = find(name);
    if (value !== undefined && cache.size < maxCachedNames) cache.set(name, value);
    return value;
  };
  const list = () => [...names()].filter((name) => !conversions.has(name));
  const target: Record<string | symbol, unknown> = {
    __proto__: null,
    toString: () => `[${label}]`,
    [Symbol.toStringTag]: label,
    [Symbol.asyncDispose]: dispose,
  };
  setInspection(target, () => `[${label}]`); // Node inspects the target of a proxy.
  return new Proxy(target as Record<string, T>, {
    get: (own, key) => (typeof key === "string" ? read(key) : undefined) ?? own[key as string],
    has: (_, key) => list().includes(key as string),
    ownKeys: list,
    getOwnPropertyDescriptor: (_, key) =>
      list().includes(key as string) ? { value: read(key as string), enumerable: true, configurable: true } : undefined,
    set: () => false,
  });
}

const inspectCustom = Symbol.for("nodejs.util.inspect.custom");

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
