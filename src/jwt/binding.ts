import { decode, encode } from "../transport/codec/index.ts";
import type { CallRequested } from "../transport/transport.ts";

/**
 * What a token is good for: `call` for one call with its id, operation, input and metadata, once; `identity` for any
 * call until it expires, also in the hands of whoever reads it on the way.
 */
export type JWTBinding = "call" | "identity";

/** The `typ` of tokens that are good for one call, so that they pass nowhere else. */
export const callTokenType = "operations-call+jwt";

/** What a token for one call says about it. */
export interface CallClaims {
  /** The id of the request. */
  jti: string;
  /** The id of the operation. */
  op: string;
  /** SHA-256, in base64url, of what the operation is given. */
  digest: string;
}

/** What a token for this request has to say. */
export async function toCallClaims(request: Readonly<CallRequested>): Promise<CallClaims> {
  const { requestId, operationId } = request;
  return { jti: requestId, op: operationId, digest: await sha256(toContent(request)) };
}

// Above what transports carry: they are the ones to say what is too large.
const limits = { maxMessage: 256 * 1024 * 1024, jsonDepth: 1_000 };

/**
 * What an operation is given, as text that is the same at both ends. What is no plain JSON is read back first: class
 * instances and the like are other values when they arrive, and those are the same at both ends.
 */
function toContent({ input, metadata, parentRequestId }: Readonly<CallRequested>): string {
  const text = encode({ type: "link.content", input, metadata, parentRequestId } as { type: string }, limits);
  return text.startsWith("{") ? text : encode(decode(text, limits), limits);
}

async function sha256(text: string): Promise<string> {
  // Node's own takes a tenth of the time that the web's takes to come back.
  const node = globalThis.process?.getBuiltinModule?.("node:crypto");
  if (node !== undefined) return node.createHash("sha256").update(text).digest("base64url");
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  const base64 = btoa(String.fromCharCode(...bytes));
  return base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
