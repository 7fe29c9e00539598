import type { JWTPayload } from "jose";
import { toBase64URL } from "../internal/base64.ts";
import { isObject } from "../internal/objects.ts";
import { CallError, type Identity, toIdentity } from "../operation/inside.ts";
import { decode, encode } from "../transport/codec/index.ts";
import type { CallRequested } from "../transport/transport.ts";
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

/**
 * The calls that a token allows: `call` allows one call with its id, operation, input and metadata, once; `identity` allows
 * any call until it expires, also to a third party that intercepts it.
 */
export type JWTBinding = "call" | "identity";

/** The `typ` of tokens for one call, so that they are not accepted elsewhere. */
export const callTokenType = "operations-call+jwt";

/** The claims about the call in a token for one call. */
export interface CallClaims {
  /** The id of the request. */
  jti: string;
  /** The id of the operation. */
  op: string;
  /** SHA-256 of the input and metadata, in base64url. */
  digest: string;
}

/** Returns the claims that a token for this request must have. */
export async function toCallClaims(request: Readonly<CallRequested>): Promise<CallClaims> {
  const { requestId, operationId } = request;
  return { jti: requestId, op: operationId, digest: await sha256(toContent(request)) };
}

// Larger than the limits of transports, which refuse messages that are too large.
const limits = { maxMessage: 256 * 1024 * 1024, jsonDepth: 1_000 };

/**
 * Returns the content of a request as a string that is equal at both peers. Values that JSON cannot represent are encoded
 * and decoded first, because class instances, for example, arrive as other values.
 */
function toContent({ input, metadata, parentRequestId }: Readonly<CallRequested>): string {
  const text = encode({ type: "link.content", input, metadata, parentRequestId } as { type: string }, limits);
  return text.startsWith("{") ? text : encode(decode(text, limits), limits);
}

async function sha256(text: string): Promise<string> {
  // The function of Node takes a tenth of the time of Web Crypto.
  const node = globalThis.process?.getBuiltinModule?.("node:crypto");
  if (node !== undefined) return node.createHash("sha256").update(text).digest("base64url");
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return toBase64URL(bytes);
}
