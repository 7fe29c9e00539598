import type { JWTPayload } from "jose";
import { toBase64URL } from "../internal/base64.ts";
import { isObject } from "../internal/objects.ts";
import { CallError, type Identity } from "../operation/index.ts";
import { decode, encode } from "../transport/codec/index.ts";
import type { CallRequested } from "../transport/transport.ts";
import { Refusal } from "./refusal.ts";

/** Maximum length of a token in characters; longer ones are neither created nor read. */
export const maxTokenLength = 16_384;

/** The claims of an identity. Throws `VALIDATION_ERROR` when the identity is malformed. */
export function fromIdentity(identity: Identity): { sub: string; scopes: string[]; resources?: Identity["resources"] } {
  const { id: sub, scopes, resources } = identity;
  if (typeof sub !== "string" || sub === "" || !isStringList(scopes))
    throw invalidIdentity("an id and a list of scopes");
  if (resources === undefined) return { sub, scopes };
  if (!areResources(resources)) throw invalidIdentity('resources from "type:id" to lists of actions');
  return { sub, scopes, resources };
}

/** Reads the identity from claims with a valid signature. Throws a {@link Refusal}. */
export function toIdentity(claims: JWTPayload): Identity {
  const { sub, resources } = claims;
  if (typeof sub !== "string" || sub === "") throw new Refusal("the token has no subject; set sub");
  const identity: Identity = { id: sub, scopes: readScopes(claims) };
  if (resources === undefined) return identity;
  if (!areResources(resources)) {
    throw new Refusal('the resources of the token are malformed; set them to lists of actions by "type:id"');
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

/** Ours is a list; that of OAuth (RFC 8693, section 4.2) is a string with spaces between. */
function readScopes({ scopes, scope }: JWTPayload): string[] {
  if (scopes === undefined && scope === undefined) return [];
  if (isStringList(scopes)) return [...scopes];
  if (scopes === undefined && typeof scope === "string") return scope.split(" ").filter((part) => part !== "");
  throw new Refusal("the scopes of the token are malformed; set scopes to a list of strings, or scope to a string");
}

function areResources(value: unknown): value is Record<string, string[]> {
  return isObject(value) && !Object.hasOwn(value, "__proto__") && Object.values(value).every(isStringList);
}

function copyResources(resources: Record<string, string[]>): Record<string, string[]> {
  return Object.fromEntries(Object.entries(resources).map(([key, actions]) => [key, [...actions]]));
}

function isStringList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function invalidIdentity(needed: string): CallError {
  return new CallError("VALIDATION_ERROR", `An identity that is signed needs ${needed}.`, undefined, {
    mayHaveRun: false,
  });
}

/**
 * What a token is good for: `call` for one call with its id, operation, input and metadata, once; `identity` for any
 * call until it expires, also for a party that reads it on the way.
 */
export type JWTBinding = "call" | "identity";

/** The `typ` of tokens that are good for one call, so that they pass nowhere else. */
export const callTokenType = "operations-call+jwt";

/** What a token for one call claims about it. */
export interface CallClaims {
  /** The id of the request. */
  jti: string;
  /** The id of the operation. */
  op: string;
  /** SHA-256, in base64url, of what the operation receives. */
  digest: string;
}

/** The claims that a token for this request must have. */
export async function toCallClaims(request: Readonly<CallRequested>): Promise<CallClaims> {
  const { requestId, operationId } = request;
  return { jti: requestId, op: operationId, digest: await sha256(toContent(request)) };
}

// Above what transports carry: they decide what is too large.
const limits = { maxMessage: 256 * 1024 * 1024, jsonDepth: 1_000 };

/**
 * What an operation receives, as a string that is the same at both ends. Values that JSON cannot carry are decoded first:
 * class instances and the like are other values when they arrive, and those are the same at both ends.
 */
function toContent({ input, metadata, parentRequestId }: Readonly<CallRequested>): string {
  const text = encode({ type: "link.content", input, metadata, parentRequestId } as { type: string }, limits);
  return text.startsWith("{") ? text : encode(decode(text, limits), limits);
}

async function sha256(text: string): Promise<string> {
  // Node's own function takes a tenth of the time of the web's.
  const node = globalThis.process?.getBuiltinModule?.("node:crypto");
  if (node !== undefined) return node.createHash("sha256").update(text).digest("base64url");
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return toBase64URL(bytes);
}
