import { getOwn, setOwn } from "../internal/objects.ts";

/** A caller and its rights. */
export interface Identity {
  /** Identifies the caller; compared exactly. */
  id: string;
  /** The scopes of the caller; compared exactly with `requiredScopes`. */
  scopes: string[];
  /** From `type:id` (or `type:*`) to the actions granted on it. */
  resources?: Record<string, string[]>;
}

/** The result of `authenticate`: the caller, and when its credential expires. */
export interface AuthenticatedIdentity extends Identity {
  /**
   * When the credential expires, in milliseconds since the epoch. At that time subscriptions end with `ACCESS_DENIED`, WebSocket
   * connections are closed, and later calls are refused. @default never
   */
  expiresAt?: number;
}

/** An identity that was read before. Callers tend to make many calls with the same one. */
interface KnownIdentity {
  readonly copy: Identity;
  /** The scopes that were read, if they may be compared. Not frozen: reading a frozen list is slow (bench `execute`). */
  readonly scopes: readonly string[] | undefined;
}

/** By the object that was given, and by the copy. */
const known = new WeakMap<object, KnownIdentity>();

/** The operators that this process created. Membership cannot be copied, serialised or claimed. */
const operators = new WeakSet<object>();

/**
 * Creates the identity of an operator, who may call every operation whose `customAuth` does not refuse it. Only this object has
 * that right: a copy of it, also one that went through JSON, is an ordinary identity without scopes. Never return it for what a
 * token claims.
 */
export function createOperator(id = "operator"): Identity {
  const operator: Identity = Object.freeze({ id, scopes: Object.freeze([]) as unknown as string[] });
  operators.add(operator);
  known.set(operator, { copy: operator, scopes: undefined }); // It is never copied.
  return operator;
}

/** Returns whether a value is an identity that {@link createOperator} created. */
export function isOperator(identity: unknown): boolean {
  return typeof identity === "object" && identity !== null && operators.has(identity);
}

/**
 * Copies an identity into a frozen object that neither the caller nor a handler can change later. Returns `undefined` unless
 * the value has a string `id` and a list of strings as `scopes`; malformed grants are omitted. Reads only own properties:
 * otherwise, a property of `Object.prototype`, set by code that merges JSON carelessly, could grant `resources` to every
 * identity without any. Returns an operator itself, because a copy of it has no rights.
 */
export function toIdentity(value: unknown): Identity | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const before = known.get(value);
  if (before !== undefined && (before.copy === value || isUnchanged(value as Identity, before))) return before.copy;
  const id = getOwn(value, "id");
  const scopes = toStrings(getOwn(value, "scopes"));
  if (typeof id !== "string" || scopes === undefined) return undefined;
  const resources = toGrants(getOwn(value, "resources"));
  const copy = Object.freeze(resources === undefined ? { id, scopes } : { id, scopes, resources });
  const read = { copy, scopes: resources === undefined ? [...scopes] : undefined };
  known.set(value, read).set(copy, read);
  return copy;
}

/**
 * Returns when the result of `authenticate` expires, in ms since the epoch; `Infinity` if it does not. An `expiresAt` that
 * is not a number counts as expired.
 */
export function expiryOf(identity: unknown): number {
  const { expiresAt = Number.POSITIVE_INFINITY } = (identity ?? {}) as { expiresAt?: unknown };
  return typeof expiresAt === "number" && !Number.isNaN(expiresAt) ? expiresAt : 0;
}

/** Returns whether an identity still has the same id and scopes. Grants are not compared; they are read again. */
function isUnchanged(given: Identity, { copy, scopes }: KnownIdentity): boolean {
  if (scopes === undefined || given.resources !== undefined || given.id !== copy.id) return false;
  const list: unknown = given.scopes;
  if (!Array.isArray(list) || list.length !== scopes.length) return false;
  // An indexed loop: the bench `execute` took twice as long with every().
  for (let index = 0; index < scopes.length; index++) if (list[index] !== scopes[index]) return false;
  return true;
}

function toGrants(value: unknown): Record<string, string[]> | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const grants: Record<string, string[]> = {};
  for (const [key, list] of Object.entries(value)) {
    const actions = toStrings(list);
    if (actions !== undefined) setOwn(grants, key, actions); // the key may be `__proto__`
  }
  return Object.freeze(grants);
}

function toStrings(value: unknown): string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const list: unknown[] = [...value];
  return list.every((item) => typeof item === "string") ? (Object.freeze(list) as string[]) : undefined;
}
