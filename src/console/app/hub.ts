import { signal } from "@preact/signals";
import { type CallError, connect, isCallError } from "../../client/index.ts";
import type { ResponseEnvelope } from "../../operation/index.ts";
import type { HubStatus } from "./api.ts";
import { currentSession, end } from "./session.ts";

/** What the hub says about itself and the caller; `undefined` until it has answered. */
export const status = signal<HubStatus | undefined>(undefined);

/** The clock of the hub minus the clock of this page, in ms. */
export const clockOffset = signal(0);

/** The operations are served above the page. */
const hubURL = new URL("../", document.baseURI);

/** Options of {@link callOperation} and {@link subscribe}. */
export interface CallOptions {
  signal?: AbortSignal;
  /** In ms. */
  timeout?: number;
  /** Identifies the call in the history of the hub, also while it runs. */
  requestId?: string;
}

/** A session that the hub does not know any more ends here, whatever the call was for. */
async function fetchInSession(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, init);
  if (response.status === 401) end((currentSession()?.expiresAt ?? 0) < Date.now() ? "expired" : "removed");
  return response;
}

const client = connect(hubURL, { token: () => currentSession()?.token, fetch: fetchInSession });

function operation(id: string) {
  const dot = id.indexOf(".");
  return client[id.slice(0, dot)]![id.slice(dot + 1)]!;
}

/** Calls an operation of the hub itself, and returns its data. */
export async function ask<T>(name: string, input: unknown = {}, signal?: AbortSignal): Promise<T> {
  return (await operation(`hub.${name}`)(input, { signal })) as T;
}

/** Calls any operation, and returns the envelope of its result. */
export async function callOperation(id: string, input: unknown, options: CallOptions): Promise<ResponseEnvelope> {
  return operation(id).envelope(input, options);
}

/** Subscribes to any operation. Leaving the loop ends the subscription. */
export function subscribe<T>(id: string, input: unknown, options: CallOptions): AsyncIterable<T> {
  return operation(id)(input, options) as AsyncIterable<T>;
}

/** Asks the hub who the caller is, and measures its clock. */
export async function loadStatus(): Promise<void> {
  const before = Date.now();
  status.value = await ask<HubStatus>("status");
  clockOffset.value = status.value.now - (before + Date.now()) / 2;
}

/** The time of the hub. */
export function hubTime(): number {
  return Date.now() + clockOffset.peek();
}

/** Returns whether the caller has a scope; the operator has all of them. */
export function hasScope(scope: "hub:read" | "hub:admin"): boolean {
  const identity = status.value?.identity;
  return identity !== undefined && (identity.isOperator === true || identity.scopes.includes(scope));
}

/** Returns whether the caller may read calls: its own ones, or all of them. */
export function mayReadCalls(): boolean {
  return hasScope("hub:read") || hasScope("hub:admin");
}

/** Any failure as an error of a call. */
export function toCallError(
  error: unknown,
): Pick<CallError, "code" | "message" | "details" | "mayHaveRun" | "retryable"> {
  if (isCallError(error)) return error;
  const message = error instanceof Error ? error.message : String(error);
  return { code: "UNAVAILABLE", message, details: undefined, mayHaveRun: false, retryable: true };
}
