import type { ServerContext } from "@modelcontextprotocol/server";
import type { JSONObject } from "../../internal/objects.ts";
import { createId } from "../../internal/request-id.ts";
import { startTimer } from "../../internal/timers.ts";
import { aborted, type Identity, type Progress, type ResponseEnvelope } from "../../operation/inside.ts";
import { toJSONText } from "../../transport/http-form.ts";
import { onceAborted, type ServedCall } from "../calls.ts";
import type { FailedCall } from "../outcome.ts";
import type { ServedOperation } from "../visible.ts";
import type { MCPHost, ServerSDK } from "./mcp-host.ts";
import { type ToolResult, toDataResult, toMatchingResult, toToolResult } from "./result.ts";
import { useSearchTool } from "./search-tools.ts";
import { type ProtocolEra, toInput } from "./tool.ts";

/** Maximum number of values that a subscription returns as a tool. */
const maxValues = 100;
/** Maximum duration of a subscription as a tool, in ms. */
const maxDurationMs = 20_000;

/** A call of a tool. */
export class ToolCall implements Omit<ServedCall, "onResult" | "onError">, FailedCall {
  readonly type = "call.requested";
  readonly requestId = createId();
  readonly identity: Identity | undefined;
  readonly metadata: JSONObject | undefined;
  readonly exposeErrors: boolean;
  operationId = "";
  input: unknown = undefined;
  handler: FailedCall["handler"];
  readonly #host: MCPHost;
  readonly #sdk: ServerSDK;
  readonly #context: ServerContext;
  readonly #era: ProtocolEra;
  /** Whether the data matches the output schema. Otherwise it may still match as JSON. */
  #isExact = true;
  #lastProgress = Number.NEGATIVE_INFINITY;
  /** Called when the call has ended. */
  readonly #ending: Array<() => void> = [];

  constructor(host: MCPHost, sdk: ServerSDK, context: ServerContext, era: ProtocolEra, identity: Identity | undefined) {
    this.#host = host;
    this.#sdk = sdk;
    this.#context = context;
    this.#era = era;
    this.identity = identity;
    this.metadata = readTrace(context.mcpReq._meta);
    this.exposeErrors = host.options.exposeErrors === true;
  }

  /** Calls a tool by its name. Resolves with `undefined` for an unknown tool. Rejects if the operation fails. */
  async run(name: string, given: JSONObject): Promise<ToolResult | undefined> {
    const { catalog } = this.#host;
    const target = catalog.find(name);
    if (target !== undefined) {
      const result = await this.#call(target, toInput(target, given));
      return this.#isExact && "structuredContent" in result ? result : toMatchingResult(result, target, this.#era);
    }
    const outcome = useSearchTool(name, given, catalog, this.identity);
    if (outcome === undefined) return undefined;
    return "data" in outcome ? toDataResult(outcome.data) : this.#call(outcome.target, outcome.input);
  }

  /** Calls the listener when the client cancels the call or disconnects. */
  onClose(listener: (reason: unknown) => void): void {
    const { mcpReq, http } = this.#context;
    onceAborted(mcpReq.signal, listener);
    // The SDK aborts calls of an older session only if the client cancels them, and not when it disconnects.
    if (this.#era === "legacy" && http?.req !== undefined) onceAborted(http.req.signal, listener);
  }

  onProgress(reported: Progress): void {
    const { _meta, notify, signal } = this.#context.mcpReq;
    const progressToken = _meta?.progressToken;
    // The protocol requires progress that increases, and none after the client has cancelled the call.
    if (progressToken === undefined || signal.aborted || !(reported.progress > this.#lastProgress)) return;
    this.#lastProgress = reported.progress;
    const params = { ...reported, progressToken };
    notify({ method: "notifications/progress", params }).catch(() => {}); // The client has disconnected.
  }

  async #call(operation: ServedOperation, input: unknown): Promise<ToolResult> {
    this.operationId = operation.id;
    this.handler = operation.handler;
    this.input = input;
    try {
      if (operation.isSubscription) return toDataResult(await this.#collect());
      const envelope = await this.#execute();
      this.#isExact = envelope.meta.drift === undefined;
      return toToolResult(envelope, operation, this.#era, this.#sdk.isSpecType.ContentBlock);
    } finally {
      for (const end of this.#ending) end();
    }
  }

  #execute(): Promise<ResponseEnvelope> {
    return new Promise((onResult, onError) => {
      this.#host.calls.execute(Object.assign(this, { onResult, onError }));
    });
  }

  /** Subscribes until the subscription ends, has yielded enough values, or has taken long enough. Then it ends it. */
  async #collect(): Promise<JSONObject> {
    const values: unknown[] = [];
    const complete = await new Promise<boolean>((resolve, reject) => {
      const timer = startTimer(() => resolve(false), maxDurationMs);
      const subscription = this.#host.calls.subscribe(this, {
        onValue: ({ data, meta }) => {
          this.#isExact &&= meta.drift === undefined;
          if (values.push(toJSONValue(data)) < maxValues) subscription?.credit(1);
          else resolve(false);
        },
        onEnd: () => resolve(true),
        onError: reject,
      });
      this.onClose((reason) => reject(aborted(this.operationId, reason, true)));
      this.#ending.push(() => timer.stop());
      this.#ending.push(() => subscription?.cancel());
    });
    return { values: values.slice(0, maxValues), complete };
  }
}

/** Returns the trace of the caller. It is the only metadata of clients that handlers receive. */
function readTrace({ traceparent, tracestate }: JSONObject = {}): JSONObject | undefined {
  if (typeof traceparent !== "string") return undefined;
  return typeof tracestate === "string" ? { traceparent, tracestate } : { traceparent };
}

/** Returns the value that JSON carries. Values are kept, and a handler may change its objects later. */
function toJSONValue(data: unknown): unknown {
  const text = toJSONText(data);
  return text === undefined ? null : JSON.parse(text);
}
