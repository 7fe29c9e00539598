import { readPointer } from "../internal/json-pointer.ts";
import { quote } from "../internal/text.ts";
import { accessDenied } from "./errors.ts";
import { type Identity, isOperator, toIdentity } from "./identity.ts";
import type { AccessControl } from "./spec.ts";

/** `true` when a rule is satisfied, otherwise the reason for the denial. Only `true` grants access. */
export type AccessDecision = true | string;

/**
 * Checks the scopes of an identity: all of `requiredScopes`, one of `requiredScopesAny`. Scopes are compared exactly,
 * and every malformed rule is a denial. The check needs no input, so it runs before the input is validated. Pass an
 * identity that `toIdentity` returned.
 */
export function checkScopes(access: AccessControl, identity: Identity | undefined): AccessDecision {
  if (isOperator(identity)) return true;
  const { requiredScopes, requiredScopesAny } = access ?? {};
  if (!Array.isArray(requiredScopes)) return "its access rule has no list of required scopes";
  if (requiredScopes.length === 0 && requiredScopesAny === undefined) return true;
  if (identity === undefined) return "it requires an identity with an id and scopes";

  // Indexed loops, here and below: they run on every call, and iterators or includes() measured half as fast.
  const { scopes } = identity;
  for (let index = 0; index < requiredScopes.length; index++) {
    if (!includesScope(scopes, requiredScopes[index])) return `scope ${show(requiredScopes[index])} is missing`;
  }
  if (requiredScopesAny === undefined) return true;
  if (!Array.isArray(requiredScopesAny) || requiredScopesAny.length === 0) return "its access rule allows no caller";
  for (let index = 0; index < requiredScopesAny.length; index++) {
    if (includesScope(scopes, requiredScopesAny[index])) return true;
  }
  return `one of the scopes ${requiredScopesAny.slice(0, 10).map(show).join(", ")} is missing`;
}

/**
 * Checks that an identity was granted `resourceAction` on the resource: on the id (or each of the ids) that
 * `resourceId` points at in the validated input, or without `resourceId` on any resource of the type. Pass an identity
 * that `toIdentity` returned.
 */
export function checkResource(access: AccessControl, identity: Identity | undefined, input: unknown): AccessDecision {
  if (isOperator(identity)) return true;
  const { resourceType, resourceAction, resourceId } = access;
  if (resourceType === undefined && resourceAction === undefined && resourceId === undefined) return true;
  if (!isResourceType(resourceType) || typeof resourceAction !== "string") return "its resource rule is incomplete";
  if (identity === undefined) return "it requires an identity with an id and scopes";

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
 * Returns whether the scopes and resources of an identity satisfy an access rule. Pass the validated input for a rule
 * with `resourceId`. Only a registry can evaluate `customAuth`, so a rule with `customAuth` is never satisfied here.
 */
export function checkAccess(access: AccessControl, identity: Identity | undefined, input?: unknown): boolean {
  return decide(access, identity, input) === true;
}

/** Throws `ACCESS_DENIED` with the reason where {@link checkAccess} returns `false`. */
export function enforceAccess(
  access: AccessControl,
  identity: Identity | undefined,
  input?: unknown,
  operationId = "operation",
): void {
  const decision = decide(access, identity, input);
  if (decision !== true) throw accessDenied(operationId, decision);
}

function includesScope(scopes: readonly string[], scope: unknown): boolean {
  for (let index = 0; index < scopes.length; index++) {
    if (scopes[index] === scope) return true;
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
  return access.customAuth === undefined || "only a registry can evaluate the customAuth of its access rule";
}

/** Formats a part of a rule for a message. Never throws, because a malformed rule may hold any value. */
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

/** Returns one id or a list of ids; `undefined` when one is invalid. An empty list is invalid: to many handlers it means "all". */
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
