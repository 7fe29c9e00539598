import type { JWTPayload } from "jose";
import { isObject } from "../internal/objects.ts";
import { CallError, type Identity, toIdentity } from "../operation/inside.ts";
import { Refusal } from "./refusal.ts";

/** Maximum length of a token in characters; longer ones are neither created nor read. */
export const maxTokenLength = 16_384;

/** Returns the claims of an identity. Throws `VALIDATION_ERROR` when the identity is malformed. */
export function fromIdentity({ id: sub, scopes, resources }: Identity): Omit<Identity, "id"> & { sub: string } {
  if (isText(sub) && isStringList(scopes) && areResources(resources)) {
    return { sub, scopes, ...(resources !== undefined && { resources }) };
  }
  const message =
    'The identity cannot be signed: it must have an id, a list of scopes, and resources from "type:id" to lists of actions.';
  throw new CallError("VALIDATION_ERROR", message, undefined, { mayHaveRun: false });
}

/** Reads the identity from claims with a valid signature. It cannot be changed. Throws a {@link Refusal}. */
export function readIdentity(claims: JWTPayload): Identity {
  const { sub: id, resources } = claims;
  const scopes = readScopes(claims);
  if (!isText(id)) throw new Refusal("the token has no subject; set sub");
  if (!isStringList(scopes)) {
    throw new Refusal("the scopes of the token are malformed; set scopes to a list of strings, or scope to a string");
  }
  if (!areResources(resources)) {
    throw new Refusal('the resources of the token are malformed; set them to lists of actions by "type:id"');
  }
  return toIdentity({ id, scopes, resources })!;
}

/**
 * Reads `scopes`, a list; or `scope` of OAuth (RFC 8693, section 4.2), a string with spaces between; or `scp`, either of
 * them, as some identity providers name it.
 */
function readScopes({ scopes, scope, scp }: JWTPayload): unknown {
  if (scopes !== undefined) return scopes;
  const given = scope === undefined ? scp : scope;
  if (typeof given === "string") return given.split(" ").filter(isText);
  if (given === undefined) return [];
  return scope === undefined ? scp : undefined;
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function areResources(value: unknown): value is Identity["resources"] {
  if (value === undefined) return true;
  return isObject(value) && !Object.hasOwn(value, "__proto__") && Object.values(value).every(isStringList);
}

function isStringList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
