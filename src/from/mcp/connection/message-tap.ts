import type { JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, Transport } from "@modelcontextprotocol/client";
import { CallError } from "../../../operation/index.ts";
import { isObject } from "../values.ts";
import { refusalKey } from "./connection.ts";

/** Where a result that was set aside is found in the stand-in. */
const rawKey = "dev.alkdev/operations/raw";

/**
 * What the SDK checks in results of 2026-07-28 before anybody sees them, all or nothing: one odd tool or block would
 * lose the rest. These pass in the place of the real ones.
 */
const standIns: Readonly<Record<string, Record<string, unknown>>> = {
  "tools/call": { content: [] },
  "tools/list": { tools: [], ttlMs: 0, cacheScope: "private" },
  "resources/list": { resources: [], ttlMs: 0, cacheScope: "private" },
  "resources/templates/list": { resourceTemplates: [], ttlMs: 0, cacheScope: "private" },
  "resources/read": { contents: [], ttlMs: 0, cacheScope: "private" },
  "prompts/list": { prompts: [], ttlMs: 0, cacheScope: "private" },
  "prompts/get": { messages: [] },
};

/** Requests that were given up over HTTP are never answered, and must not fill the memory. */
const mostPending = 20_000;

type Id = string | number;

/** Sits between a transport and the SDK: knows which requests are open, and keeps their results as they came. */
export class MessageTap {
  readonly #pending = new Map<Id, string>();
  readonly #transport: Transport;
  readonly #maxDepth: number;
  readonly #onIgnored: () => void;

  /**
   * Must be made before the SDK connects to the transport. `onIgnored` is called for every response whose id is not of
   * the type that its request had.
   */
  constructor(transport: Transport, maxDepth: number, onIgnored: () => void) {
    this.#transport = transport;
    this.#maxDepth = maxDepth;
    this.#onIgnored = onIgnored;
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
      if (!("method" in message)) return send(message, options);
      const id = this.#sent(message);
      // A subscription has its own ear for this.
      if (id === undefined || options?.onRequestStreamEnd !== undefined) return send(message, options);
      return send(message, { ...options, onRequestStreamEnd: () => this.fail(id, brokenOff()) }).catch((error) => {
        this.#pending.delete(id); // what was not sent has no response
        throw error;
      });
    };
    const previous = transport.onmessage;
    transport.onmessage = (message, extra) => {
      previous?.(message, extra);
      this.#receive(message);
    };
  }

  /** Ends a request that can get no answer any more, unless it has one. It would wait until its time is up. */
  fail(id: Id, error: CallError): void {
    if (!this.#pending.has(id)) return;
    this.#transport.onmessage?.({ jsonrpc: "2.0", id, error: { code: -31005, message: error.message, data: error } });
  }

  /** Nothing can be kept from the SDK, but a notification that it does not know has no effect. */
  #ignore(message: JSONRPCMessage): void {
    const ignored = message as unknown as Record<string, unknown>;
    for (const key of ["id", "result", "error"]) delete ignored[key];
    ignored["method"] = "notifications/dev.alkdev/ignored";
    this.#onIgnored();
  }

  /** Gives the id where there will be an answer. */
  #sent(message: JSONRPCRequest | JSONRPCNotification): Id | undefined {
    if ("id" in message && message.id !== undefined) {
      this.#pending.set(message.id, message.method);
      if (this.#pending.size > mostPending) this.#pending.delete(this.#pending.keys().next().value!);
      return message.id;
    }
    if (message.method === "notifications/cancelled") {
      const id = message.params?.["requestId"];
      if (typeof id === "number" || typeof id === "string") this.#pending.delete(id);
    }
    return undefined;
  }

  #receive(message: JSONRPCMessage): void {
    if ("method" in message || !("id" in message) || message.id === undefined) return;
    const { id } = message;
    const method = this.#pending.get(id);
    if (method === undefined) {
      // The SDK would take "1" for the response to request 1, past everything that is checked here.
      if (typeof id === "string") this.#ignore(message);
      return;
    }
    this.#pending.delete(id);
    if ("error" in message && message.error != null) {
      if (!isRPCError(message.error)) refuse(message, noAnswer());
      return;
    }
    // Some say both, as JSON-RPC 1.0 did.
    if ("error" in message) delete (message as { error?: unknown }).error;
    const { result } = message as { result?: unknown };
    // The SDK drops what is no message, and its caller would wait until the time is up.
    if (!isObject(result)) return refuse(message, noAnswer());
    if (method === "tools/list") dropDeep(result["tools"], this.#maxDepth - 2);
    if (isDeeperThan(result, this.#maxDepth)) return refuse(message, tooDeep(this.#maxDepth));
    if (result["resultType"] !== "complete" || !Object.hasOwn(standIns, method)) return;
    (message as { result?: unknown }).result = {
      ...standIns[method],
      resultType: "complete",
      _meta: { [rawKey]: result },
    };
  }
}

/** One tool that cannot be read must not hide the others. */
function dropDeep(tools: unknown, maxDepth: number): void {
  if (!Array.isArray(tools)) return;
  for (const [index, tool] of tools.entries()) {
    if (!isDeeperThan(tool, maxDepth)) continue;
    const name = isObject(tool) ? tool["name"] : undefined;
    tools[index] = { name: typeof name === "string" ? name : "", [refusalKey]: "it is nested too deeply." };
  }
}

/** Makes the answer to a request an error that carries ours. */
function refuse(message: JSONRPCMessage, data: CallError): void {
  const answer = message as unknown as Record<string, unknown>;
  delete answer["result"];
  answer["error"] = { code: -31007, message: data.message, data };
}

function isRPCError(error: unknown): boolean {
  return isObject(error) && Number.isInteger(error["code"]) && typeof error["message"] === "string";
}

function brokenOff(): CallError {
  return new CallError("UNAVAILABLE", "The answer broke off before it was complete.", undefined, { retryable: true });
}

function noAnswer(): CallError {
  return new CallError("BAD_RESPONSE", "The answer is neither a result nor an error.");
}

function tooDeep(allowed: number): CallError {
  return new CallError("BAD_RESPONSE", `The answer is nested more than ${allowed} deep.`, {
    limit: "jsonDepth",
    allowed,
  });
}

/** The result as the server sent it, out of what the SDK made of it. */
export function rawResultOf(result: unknown): unknown {
  const meta = isObject(result) ? result["_meta"] : undefined;
  return isObject(meta) && Object.hasOwn(meta, rawKey) ? meta[rawKey] : result;
}

function isDeeperThan(value: unknown, limit: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (limit <= 0) return true;
  if (Array.isArray(value)) {
    for (const item of value) if (isDeeperThan(item, limit - 1)) return true;
    return false;
  }
  for (const key in value) {
    if (isDeeperThan((value as Record<string, unknown>)[key], limit - 1)) return true;
  }
  return false;
}
