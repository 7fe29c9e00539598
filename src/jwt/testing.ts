import { CompactSign } from "jose";
import type { CallRequested } from "../transport/transport.ts";

/** A secret that signer and authenticator of a test share. */
export const secret = new Uint8Array(32).fill(7);

/** A request as it reaches a worker. */
export function requested(change: Partial<CallRequested> = {}): CallRequested {
  return {
    type: "call.requested",
    requestId: "0123456789abcdef-1",
    operationId: "task.create",
    input: { title: "Ship it" },
    ...change,
  };
}

/** Returns the time in this many seconds, as seconds since the epoch. */
export function inSeconds(seconds: number): number {
  return Math.floor(Date.now() / 1_000) + seconds;
}

/** Signs arbitrary claims. */
export async function forge(
  claims: unknown,
  header: Record<string, unknown> = {},
  key: Parameters<CompactSign["sign"]>[0] = secret,
): Promise<string> {
  const text = typeof claims === "string" ? claims : JSON.stringify(claims);
  return new CompactSign(new TextEncoder().encode(text)).setProtectedHeader({ alg: "HS256", ...header }).sign(key);
}

/** Creates a token without signing it. */
export function write(header: unknown, claims: unknown, signature = ""): string {
  const [first, second] = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"));
  return `${first}.${second}.${signature}`;
}
