import type { JWTPayload } from "jose";
import { CallError, type Identity } from "../operation/index.ts";
import { Refusal } from "./refusal.ts";

/** Tokens above this, in characters, are neither made nor looked at. */
export const maxTokenLength = 16_384;

/** Says an identity in claims. Throws `VALIDATION_ERROR` when it has an odd shape. */
export function fromIdentity(identity: Identity): { sub: string; scopes: string[]; resources?: Identity["resources"] } {
  const { id: sub, scopes, resources } = identity;
  if (typeof sub !== "string" || sub === "" || !isTextList(scopes)) throw invalidIdentity("an id and a list of scopes");
  if (resources === undefined) return { sub, scopes };
  if (!areResources(resources)) throw invalidIdentity('resources from "type:id" to lists of actions');
  return { sub, scopes, resources };
}

/** Reads the identity out of claims whose signature is right. Throws a {@link Refusal}. */
export function toIdentity(claims: JWTPayload): Identity {
  const { sub, resources } = claims;
  if (typeof sub !== "string" || sub === "") throw new Refusal("the token names nobody; give it a sub");
  const identity: Identity = { id: sub, scopes: readScopes(claims) };
  if (resources === undefined) return identity;
  if (!areResources(resources)) {
    throw new Refusal('the resources of the token are odd; they are lists of actions by "type:id"');
  }
  identity.resources = copyResources(resources);
  return identity;
}

/** A copy that its holder may change. */
export function copyIdentity({ id, scopes, resources }: Identity): Identity {
  const copy: Identity = { id, scopes: [...scopes] };
  if (resources !== undefined) copy.resources = copyResources(resources);
  return copy;
}

/** Ours is a list; that of OAuth (RFC 8693, section 4.2) is a text with blanks between. */
function readScopes({ scopes, scope }: JWTPayload): string[] {
  if (scopes === undefined && scope === undefined) return [];
  if (isTextList(scopes)) return [...scopes];
  if (scopes === undefined && typeof scope === "string") return scope.split(" ").filter((part) => part !== "");
  throw new Refusal("the scopes of the token are odd; give it a list of texts as scopes, or a text as scope");
}

function areResources(value: unknown): value is Record<string, string[]> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return !Object.hasOwn(value, "__proto__") && Object.values(value).every(isTextList);
}

function copyResources(resources: Record<string, string[]>): Record<string, string[]> {
  return Object.fromEntries(Object.entries(resources).map(([key, actions]) => [key, [...actions]]));
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function invalidIdentity(needed: string): CallError {
  return new CallError("VALIDATION_ERROR", `An identity that is signed needs ${needed}.`, undefined, {
    mayHaveRun: false,
  });
}
