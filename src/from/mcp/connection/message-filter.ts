import type { JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, Transport } from "@modelcontextprotocol/client";
import { BoundedMap } from "../../../internal/bounded.ts";
import { isObject } from "../../../internal/objects.ts";
import { CallError } from "../../../operation/index.ts";
import { refusalKey } from "./connection.ts";

/** Maximum number of tracked requests. Cancelled HTTP requests never receive a response and must not accumulate. */
const maxPendingRequests = 20_000;

type Id = string | number;

/** Filters messages between a transport and the SDK, so that every response settles only its own request. */
export class MessageFilter {
  /** The method of each pending request by its id. */
  readonly #pending = new BoundedMap<Id, string>(maxPendingRequests);
  readonly #transport: Transport;
  readonly #maxDepth: number;
  readonly #onIgnored: () => void;

  /**
   * Create it before the SDK connects to the transport. `onIgnored` is called for every response whose id has another
   * type than the id of its request.
   */
  constructor(transport: Transport, maxDepth: number, onIgnored: () => void) {
    this.#transport = transport;
    this.#maxDepth = maxDepth;
    this.#onIgnored = onIgnored;
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
      if (!("method" in message)) return send(message, options);
      const id = this.#noteSent(message);
      // A subscription handles the end of its stream itself.
      if (id === undefined || options?.onRequestStreamEnd !== undefined) return send(message, options);
      const onRequestStreamEnd = () => this.fail(id, responseIncomplete());
      return send(message, { ...options, onRequestStreamEnd }).catch((error) => {
        this.#pending.delete(id); // A message that was not sent has no response.
        throw error;
      });
    };
    const previous = transport.onmessage;
    transport.onmessage = (message, extra) => {
      previous?.(message, extra);
      this.#receive(message);
    };
  }

  /** Fails a pending request that can no longer receive a response. Otherwise it would wait for its timeout. */
  fail(id: Id, error: CallError): void {
    if (!this.#pending.has(id)) return;
    this.#transport.onmessage?.({ jsonrpc: "2.0", id, error: { code: -31005, message: error.message, data: error } });
  }

  /** Returns the id of a message that expects a response. */
  #noteSent(message: JSONRPCRequest | JSONRPCNotification): Id | undefined {
    if ("id" in message && message.id !== undefined) {
      this.#pending.set(message.id, message.method);
      return message.id;
    }
    if (message.method === "notifications/cancelled") {
      const id = message.params?.["requestId"];
      if (typeof id === "number" || typeof id === "string") this.#pending.delete(id);
    }
    return undefined;
  }

  /** Changes a response in place before the SDK reads it. */
  #receive(message: JSONRPCMessage): void {
    if ("method" in message || !("id" in message) || message.id === undefined) return;
    const response = message as unknown as Record<string, unknown>;
    const { id } = message;
    const method = this.#pending.get(id);
    if (method === undefined) {
      // The SDK would accept "1" as the response to request 1, which bypasses these checks.
      if (typeof id === "string") this.#ignore(response);
      return;
    }
    this.#pending.delete(id);
    const { error, result } = response;
    if (error !== undefined && error !== null) {
      if (!isRPCError(error)) replaceByError(response, malformedResponse());
      return;
    }
    // Some servers send `error: null` beside the result, as in JSON-RPC 1.0.
    delete response["error"];
    // The SDK would drop a malformed message, and its request would wait for its timeout.
    if (!isObject(result)) return replaceByError(response, malformedResponse());
    if (method === "tools/list") refuseDeepTools(result["tools"], this.#maxDepth - 2);
    if (isDeeperThan(result, this.#maxDepth)) return replaceByError(response, tooDeep(this.#maxDepth));
    if (result["resultType"] === "complete") response["result"] = toPlaceholder(method, result);
  }

  /** Turns a response into an unknown notification, which has no effect. Messages cannot be withheld from the SDK. */
  #ignore(response: Record<string, unknown>): void {
    for (const key of ["id", "result", "error"]) delete response[key];
    response["method"] = "notifications/dev.alkdev/ignored";
    this.#onIgnored();
  }
}

/** Property of `_meta` that contains the original result of a placeholder. */
const originalKey = "dev.alkdev/operations/original";

/**
 * The SDK validates results of 2026-07-28 as a whole, so one malformed tool or content block would discard the rest of
 * a result. It therefore receives one of these valid results, with the original in `_meta`. {@link fromPlaceholder}
 * restores the original.
 */
const placeholders: Readonly<Record<string, Record<string, unknown>>> = {
  "tools/call": { content: [] },
  "tools/list": { tools: [], ttlMs: 0, cacheScope: "private" },
  "resources/list": { resources: [], ttlMs: 0, cacheScope: "private" },
  "resources/templates/list": { resourceTemplates: [], ttlMs: 0, cacheScope: "private" },
  "resources/read": { contents: [], ttlMs: 0, cacheScope: "private" },
  "prompts/list": { prompts: [], ttlMs: 0, cacheScope: "private" },
  "prompts/get": { messages: [] },
};

/** Returns the result to pass to the SDK: a placeholder, or the result itself if the SDK does not validate it. */
function toPlaceholder(method: string, result: Record<string, unknown>): Record<string, unknown> {
  if (!Object.hasOwn(placeholders, method)) return result;
  return { ...placeholders[method], resultType: "complete", _meta: { [originalKey]: result } };
}

/** Returns the original result, unchanged. */
export function fromPlaceholder(result: unknown): unknown {
  const meta = isObject(result) ? result["_meta"] : undefined;
  return isObject(meta) && Object.hasOwn(meta, originalKey) ? meta[originalKey] : result;
}

/** Replaces tools that are nested too deeply, so that the others can be read. */
function refuseDeepTools(tools: unknown, maxDepth: number): void {
  if (!Array.isArray(tools)) return;
  for (const [index, tool] of tools.entries()) {
    if (!isDeeperThan(tool, maxDepth)) continue;
    const name = isObject(tool) ? tool["name"] : undefined;
    tools[index] = { name: typeof name === "string" ? name : "", [refusalKey]: "It is nested too deeply." };
  }
}

function replaceByError(response: Record<string, unknown>, data: CallError): void {
  delete response["result"];
  response["error"] = { code: -31007, message: data.message, data };
}

function isRPCError(error: unknown): boolean {
  return isObject(error) && Number.isInteger(error["code"]) && typeof error["message"] === "string";
}

function responseIncomplete(): CallError {
  return new CallError("UNAVAILABLE", "The response ended before it was complete.", undefined, { retryable: true });
}

function malformedResponse(): CallError {
  return new CallError("BAD_RESPONSE", "The response is neither a result nor an error.");
}

function tooDeep(allowed: number): CallError {
  const message = `The response is nested more than ${allowed} levels deep.`;
  return new CallError("BAD_RESPONSE", message, { limit: "jsonDepth", allowed });
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
