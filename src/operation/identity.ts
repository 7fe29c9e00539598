import { array, type ObjectOf, optional, record, string } from "../internal/shape.ts";

/** Every field of an {@link Identity}. */
export const identityFields = {
  /** Identifies the caller; compared exactly. */
  id: string(),
  /** The scopes of the caller; compared exactly with `requiredScopes`. */
  scopes: array(string()),
  /** From `type:id` (or `type:*`) to the actions granted on it. */
  resources: optional(record(array(string()))),
};

/** A caller and its rights. */
export interface Identity extends ObjectOf<typeof identityFields> {}

/** The result of `authenticate`: the caller, and when its credential expires. */
export interface AuthenticatedIdentity extends Identity {
  /**
   * When the credential expires, in milliseconds since the epoch. At that time subscriptions end with `ACCESS_DENIED`, WebSocket
   * connections are closed, and later calls are refused. @default never
   */
  expiresAt?: number;
}

/** Snapshots that {@link toIdentity} created. They do not need to be copied again. */
const snapshots = new WeakSet<object>();

/** The last identity that was read. Callers tend to make many calls, and reading an identity costs more than a small call. */
let lastGiven: unknown;
let lastSnapshot: Identity | undefined;
/** An unfrozen copy of the scopes of that snapshot, for {@link scopesOf}. Must not be exposed to users. */
let lastScopes: readonly string[] = [];

/**
 * Copies an identity into a frozen snapshot that neither the caller nor a handler can change later. Reads only own data
 * properties: inherited ones could be set for every object, and a getter could return a different value each time.
 * Returns `undefined` unless the value has a string `id` and a list of strings as `scopes`. Never throws.
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

/** Returns the scopes of a snapshot. Do not change them: those of the last one are not frozen, because frozen lists are slow. */
export function scopesOf(identity: Identity): readonly string[] {
  return identity === lastSnapshot ? lastScopes : identity.scopes;
}

/**
 * Returns when the result of `authenticate` expires, in ms since the epoch; `Infinity` if it does not. An `expiresAt` that
 * is not a number counts as expired. Never throws.
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

/** Returns whether the last identity still has the same id and scopes. Grants are not compared; they are read again. */
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
    return undefined; // A proxy may throw on every access.
  }
}

/** Malformed grants are omitted. */
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

/** Returns the value of an own data property; `undefined` for an inherited or computed one. */
function ownValue(object: object, key: PropertyKey): unknown {
  return Object.getOwnPropertyDescriptor(object, key)?.value;
}
