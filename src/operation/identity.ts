import { array, type ObjectOf, optional, record, string } from "../internal/shape.ts";

/** Every field of an {@link Identity}. */
export const identityFields = {
  /** Who it is; compared exactly. */
  id: string(),
  /** What the caller may do; compared exactly with `requiredScopes`. */
  scopes: array(string()),
  /** From `type:id` (or `type:*`) to the actions granted on it. */
  resources: optional(record(array(string()))),
};

/** Who calls. */
export interface Identity extends ObjectOf<typeof identityFields> {}

/** What `authenticate` returns: who calls, and until when that is known. */
export interface AuthenticatedIdentity extends Identity {
  /**
   * When the credential expires, in milliseconds since the epoch. Subscriptions end with `ACCESS_DENIED` then, WebSocket
   * connections are closed, and calls that arrive later are refused. @default never
   */
  expiresAt?: number;
}

/** Snapshots that {@link toIdentity} made, which need no second one. */
const snapshots = new WeakSet<object>();

/** What was read last. One caller tends to make many calls, and reading an identity costs more than running a small call. */
let lastGiven: unknown;
let lastSnapshot: Identity | undefined;
/** The scopes of that snapshot once more, for {@link scopesOf}. Never leaves this file's callers. */
let lastScopes: readonly string[] = [];

/**
 * Reads who calls, once: a frozen copy that neither the caller nor a handler can change later. Only own data properties
 * count, because inherited ones can be put there for every object, and a getter can return something else each time.
 * `undefined` when the value is not an identity, that is a string `id` and a list of strings as `scopes`. Does not throw.
 */
export function toIdentity(value: unknown): Identity | undefined {
  if (value === undefined) return undefined;
  if (value === lastGiven && lastSnapshot !== undefined && isUnchanged(value as Identity, lastSnapshot, lastScopes)) {
    return lastSnapshot;
  }
  if (typeof value !== "object" || value === null) return undefined;
  if (snapshots.has(value)) return value as Identity;
  const snapshot = read(value);
  lastGiven = value;
  lastSnapshot = snapshot;
  lastScopes = snapshot === undefined ? [] : snapshot.scopes.slice();
  return snapshot;
}

/** The scopes of a snapshot, to look at only. Those of the last one are not frozen, because frozen lists are slow to read. */
export function scopesOf(identity: Identity): readonly string[] {
  return identity === lastSnapshot ? lastScopes : identity.scopes;
}

/**
 * When what `authenticate` returned expires, in ms since the epoch, and `Infinity` when it does not. A time that is not a
 * number has passed. Does not throw.
 */
export function expiryOf(identity: unknown): number {
  if (typeof identity !== "object" || identity === null) return Number.POSITIVE_INFINITY;
  try {
    const expiresAt = (identity as { expiresAt?: unknown }).expiresAt;
    if (expiresAt === undefined) return Number.POSITIVE_INFINITY;
    return typeof expiresAt === "number" && !Number.isNaN(expiresAt) ? expiresAt : 0;
  } catch {
    return 0;
  }
}

/** Whether an object that was read before still says the same. Grants are not compared, but read again. */
function isUnchanged(given: Identity, { id, resources }: Identity, scopes: readonly string[]): boolean {
  if (resources !== undefined) return false;
  try {
    if (given.id !== id || given.resources !== undefined) return false;
    const list = given.scopes;
    if (!Array.isArray(list) || list.length !== scopes.length) return false;
    for (let index = 0; index < scopes.length; index++) if (list[index] !== scopes[index]) return false;
    return true;
  } catch {
    return false;
  }
}

function read(value: object): Identity | undefined {
  try {
    const id = ownValue(value, "id");
    const scopes = readStrings(ownValue(value, "scopes"));
    if (typeof id !== "string" || scopes === undefined) return undefined;
    const resources = readGrants(ownValue(value, "resources"));
    const snapshot: Identity = resources === undefined ? { id, scopes } : { id, scopes, resources };
    snapshots.add(snapshot);
    return Object.freeze(snapshot);
  } catch {
    return undefined; // a proxy may throw whatever is asked of it
  }
}

/** Grants that are malformed grant nothing and are left out. */
function readGrants(value: unknown): Record<string, string[]> | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const grants: Record<string, string[]> = {};
  for (const key of Object.keys(value)) {
    const actions = readStrings(ownValue(value, key));
    // Not by assignment: the key may be `__proto__`.
    if (actions !== undefined) Object.defineProperty(grants, key, { value: actions, enumerable: true });
  }
  return Object.freeze(grants);
}

function readStrings(value: unknown): string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const strings: string[] = [];
  const { length } = value;
  for (let index = 0; index < length; index++) {
    const item = ownValue(value, index);
    if (typeof item !== "string") return undefined;
    strings.push(item);
  }
  return Object.freeze(strings) as string[];
}

/** The value of an own data property; `undefined` for one that is inherited or computed. */
function ownValue(object: object, key: PropertyKey): unknown {
  return Object.getOwnPropertyDescriptor(object, key)?.value;
}
