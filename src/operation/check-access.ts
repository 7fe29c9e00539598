import { readPointer } from "../internal/json-pointer.ts";
import { quote } from "../internal/text.ts";
import { accessDenied } from "./errors.ts";
import { type Identity, scopesOf, toIdentity } from "./identity.ts";
import type { AccessControl } from "./spec.ts";

/** `true` when a rule is met, otherwise what is missing. Only `true` allows. */
export type AccessDecision = true | string;

/**
 * Checks the scopes of an identity: all of `requiredScopes`, one of `requiredScopesAny`. Compares exactly, and denies
 * every malformed rule or identity. Needs no input, so it runs before the input is looked at. The identity is one that
 * `toIdentity` has read.
 */
export function checkScopes(access: AccessControl, identity: Identity | undefined): AccessDecision {
  const { requiredScopes, requiredScopesAny } = access ?? {};
  if (!Array.isArray(requiredScopes)) return "its rule has no list of required scopes";
  if (requiredScopes.length === 0 && requiredScopesAny === undefined) return true;
  if (identity === undefined) return "it needs an identity with an id and scopes";

  // Indexed loops, here and below: they run on every call, and iterators or includes() measured half as fast.
  const scopes = scopesOf(identity);
  for (let index = 0; index < requiredScopes.length; index++) {
    if (!holds(scopes, requiredScopes[index])) return `scope ${show(requiredScopes[index])} is missing`;
  }
  if (requiredScopesAny === undefined) return true;
  if (!Array.isArray(requiredScopesAny) || requiredScopesAny.length === 0) return "its rule allows no caller";
  for (let index = 0; index < requiredScopesAny.length; index++) {
    if (holds(scopes, requiredScopesAny[index])) return true;
  }
  return `one of the scopes ${requiredScopesAny.slice(0, 10).map(show).join(", ")} is missing`;
}

/**
 * Checks that an identity was granted `resourceAction` on the resource: on the id (or each of the ids) that
 * `resourceId` points at in the validated input, or without `resourceId` on any resource of the type. The identity is
 * one that `toIdentity` has read.
 */
export function checkResource(access: AccessControl, identity: Identity | undefined, input: unknown): AccessDecision {
  const { resourceType, resourceAction, resourceId } = access;
  if (resourceType === undefined && resourceAction === undefined && resourceId === undefined) return true;
  if (!isResourceType(resourceType) || typeof resourceAction !== "string") return "its resource rule is incomplete";
  if (identity === undefined) return "it needs an identity with an id and scopes";

  const missing = `${quote(resourceAction)} is not granted on`;
  const grants = identity.resources;
  if (grants === undefined) return `${missing} any ${quote(resourceType)}`;
  if (resourceId === undefined) {
    const prefix = `${resourceType}:`;
    const granted = Object.keys(grants).some((key) => key.startsWith(prefix) && isGranted(grants, key, resourceAction));
    return granted || `${missing} any ${quote(resourceType)}`;
  }

  const ids = typeof resourceId === "string" ? toResourceIds(readPointer(input, resourceId)) : undefined;
  if (ids === undefined) return `the input has no id of a ${quote(resourceType)} at ${show(resourceId)}`;
  if (isGranted(grants, `${resourceType}:*`, resourceAction)) return true;
  return (
    ids.every((id) => isGranted(grants, `${resourceType}:${id}`, resourceAction)) ||
    `${missing} this ${quote(resourceType)}`
  );
}

/**
 * Whether an identity may call, by scopes and resource rule. Pass the validated input where there is a
 * `resourceId`. Only a registry can decide a rule with `customAuth`, so here such a rule is never met.
 */
export function checkAccess(access: AccessControl, identity: Identity | undefined, input?: unknown): boolean {
  return decide(access, identity, input) === true;
}

/** Throws `ACCESS_DENIED` with the reason where {@link checkAccess} says no. */
export function enforceAccess(
  access: AccessControl,
  identity: Identity | undefined,
  input?: unknown,
  operationId = "operation",
): void {
  const decision = decide(access, identity, input);
  if (decision !== true) throw accessDenied(operationId, decision);
}

function holds(scopes: readonly string[], wanted: unknown): boolean {
  for (let index = 0; index < scopes.length; index++) {
    if (scopes[index] === wanted) return true;
  }
  return false;
}

function decide(access: AccessControl, given: Identity | undefined, input: unknown): AccessDecision {
  if (typeof access !== "object" || access === null) return "it has no access rule";
  const identity = toIdentity(given);
  const scopes = checkScopes(access, identity);
  if (scopes !== true) return scopes;
  const resource = checkResource(access, identity, input);
  if (resource !== true) return resource;
  return access.customAuth === undefined || "its rule has a customAuth, which only a registry can decide";
}

/** For messages. Text of a rule may be anything, and turning it into a string must not throw. */
function show(value: unknown): string {
  return typeof value === "string" ? quote(value) : "(not a string)";
}

/** A colon would make `a:b` + `c` and `a` + `b:c` the same grant. */
function isResourceType(value: unknown): value is string {
  return typeof value === "string" && value !== "" && !value.includes(":");
}

function isGranted(grants: Record<string, string[]>, key: string, action: string): boolean {
  return Object.hasOwn(grants, key) && grants[key]!.includes(action);
}

/** One id or a list of them; `undefined` when one is missing or invalid. An empty list often means "all": no id. */
function toResourceIds(value: unknown): string[] | undefined {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (list.length === 0) return undefined;
  const ids: string[] = [];
  for (const id of list) {
    if (typeof id === "string" && id !== "") ids.push(id);
    else if (Number.isSafeInteger(id)) ids.push(String(id));
    else return undefined;
  }
  return ids;
}
