import type { ServerContext } from "@modelcontextprotocol/server";
import { roughSize } from "../../call/rough-size.ts";
import type { JSONObject } from "../../internal/objects.ts";
import { startTimer } from "../../internal/timers.ts";
import { mapError, type Progress, type ResponseEnvelope } from "../../operation/inside.ts";
import { toJSONText } from "../../transport/http-form.ts";
import { toPublicError } from "../outcome.ts";
import type { ServedCall } from "../run.ts";
import type { ServedOperation } from "../visible.ts";
import { createOutbox, type Outbox } from "./pace.ts";
import { type ToolResult, toDataResult, toErrorResult, toMatchingResult, toMeta, toToolResult } from "./result.ts";
import { useSearchTool } from "./search-tools.ts";
import { type ProtocolEra, toInput } from "./tool.ts";
import type { ServerSDK, ToolRequest, ToolServer } from "./tool-server.ts";

/** Maximum number of values that a subscription returns as a tool. */
const maxValues = 100;
/** Number of characters of JSON after which a subscription as a tool ends. */
const maxCollected = 4 * 1024 * 1024;
/** Maximum duration of a subscription as a tool, in ms. */
const maxDurationMs = 20_000;
/** Maximum number of characters of a progress token: every message repeats what the client has chosen. */
const maxTokenLength = 1_024;
/** Results that are smaller do not count: there are as many as running calls. */
const minHeldBytes = 64 * 1024;
/** Number of bytes at which measuring a result ends. It is more than any result may have. */
const maxMeasured = 2 ** 30;
/** The first version in which invalid arguments are a result, so that models can correct them. */
const firstWithInputErrors = "2025-11-25";

/** A request of a client to call a tool. */
interface ToolCallRequest {
  readonly sdk: ServerSDK;
  readonly era: ProtocolEra;
  /** The version that the client has negotiated. */
  readonly version: string | undefined;
  readonly params: { readonly name: string; readonly arguments?: JSONObject | undefined };
  readonly context: ServerContext;
  readonly request: ToolRequest;
}

/**
 * Calls the operation of a tool. The result of a call that fails is an error. Rejects with an error of JSON-RPC for an
 * unknown tool and, as older versions require, for invalid arguments.
 */
export async function callTool(server: ToolServer, toolCall: ToolCallRequest): Promise<ToolResult> {
  const { sdk, era, version = firstWithInputErrors, params, context, request } = toolCall;
  const { catalog, options } = server;
  const { identity } = request.caller;
  const { name, arguments: given = {} } = params;
  const invalidParams = (message: string, data?: unknown) => new sdk.ProtocolError(-32_602, message, data);
  if (`${context.mcpReq._meta?.progressToken}`.length > maxTokenLength) {
    throw invalidParams(`The progress token is longer than ${maxTokenLength} characters.`);
  }
  const tool = catalog.find(name);
  const requestId = crypto.randomUUID();
  let operation = tool;
  let result: ToolResult;
  let isForeign = false;
  try {
    const found = tool ? { target: tool, input: toInput(tool, given) } : useSearchTool(name, given, catalog, identity);
    if (found === undefined) throw invalidParams(catalog.describeUnknown(name, identity));
    if ("data" in found) {
      result = toDataResult(found.data);
    } else {
      operation = found.target;
      const outcome = await run(server, toolCall, { operation, input: found.input, requestId });
      isForeign = outcome.isForeign;
      const matches = tool === undefined || (outcome.isExact && "structuredContent" in outcome.result);
      result = matches ? outcome.result : toMatchingResult(outcome.result, tool, era);
    }
  } catch (thrown) {
    if (thrown instanceof sdk.ProtocolError) throw thrown;
    const { id: operationId = "", handler } = operation ?? {};
    const exposeErrors = options.exposeErrors === true;
    const error = toPublicError(mapError(thrown), { operationId, requestId, handler, exposeErrors }).toJSON();
    if (error.code === "VALIDATION_ERROR" && version < firstWithInputErrors) {
      throw invalidParams(error.message, toMeta({ error }));
    }
    result = toErrorResult(error);
  }
  try {
    // Structured content of an own result has about the size of its text.
    const [block] = result.content;
    const size = !isForeign && block?.type === "text" ? block.text.length : roughSize(result, maxMeasured);
    if (size >= minHeldBytes) request.hold(size);
    return result;
  } catch (error) {
    return toErrorResult(mapError(error).toJSON());
  }
}

/**
 * Runs an operation for a client, which receives its progress and may cancel it. The result is exact if its data matches the
 * output schema. Otherwise it may still match as JSON.
 */
async function run(
  { calls }: ToolServer,
  { sdk, era, context, request }: ToolCallRequest,
  { operation, input, requestId }: { operation: ServedOperation; input: unknown; requestId: string },
) {
  const { _meta, signal } = context.mcpReq;
  const progress = _meta?.progressToken === undefined ? undefined : createProgress(context, request);
  const call: ServedCall = {
    requestId,
    operationId: operation.id,
    input,
    caller: request.caller,
    metadata: _meta?.["traceparent"] === undefined ? undefined : readTrace(_meta),
    ...(progress !== undefined && { onProgress: progress.add }),
    onClose: (listener) => {
      signal.addEventListener("abort", () => listener(signal.reason), { once: true });
      request.exchange?.onClose(listener);
    },
  };
  if (operation.isSubscription) return collect(calls.values(call), request);
  try {
    const envelope = await calls.call(call);
    const result = toToolResult(envelope, operation, era, sdk.isSpecType.ContentBlock);
    return { result, isExact: envelope.meta.drift === undefined, isForeign: envelope.meta.source === "mcp" };
  } finally {
    progress?.flush();
  }
}

/** Collects values until the subscription ends, has yielded enough of them, or has taken long enough. Then it ends it. */
async function collect(subscription: AsyncIterableIterator<ResponseEnvelope>, request: ToolRequest) {
  const values: unknown[] = [];
  let complete = true;
  let isExact = true;
  let size = 0;
  let heldSize = 0;
  const stop = () => {
    complete = false;
    void subscription.return!();
  };
  const timer = startTimer(stop, maxDurationMs);
  try {
    for await (const { data, meta } of subscription) {
      const text = toJSONText(data) ?? "null";
      // The first value alone may be too large, which is an error.
      if (values.length > 0 && size + text.length > maxCollected) stop();
      else {
        values.push(JSON.parse(text)); // A handler may change its objects later.
        size += text.length;
        if (size - heldSize >= minHeldBytes) {
          request.hold(size - heldSize);
          heldSize = size;
        }
        isExact &&= meta.drift === undefined;
        if (values.length === maxValues) stop();
      }
    }
  } finally {
    timer.stop();
  }
  return { result: toDataResult({ values, complete }), isExact, isForeign: false };
}

/** Sends progress to a client that asked for it. */
function createProgress({ mcpReq }: ServerContext, { whenRead }: ToolRequest): Outbox<Progress> {
  const { _meta, notify, signal } = mcpReq;
  let last = Number.NEGATIVE_INFINITY;
  const send = async (reported: Progress) => {
    // The protocol requires progress that increases, and none after the client has cancelled the call.
    if (signal.aborted || !(reported.progress > last)) return;
    last = reported.progress;
    await notify({ method: "notifications/progress", params: { ...reported, progressToken: _meta!.progressToken! } });
    await whenRead?.();
  };
  return createOutbox(send, ({ message = "" }) => message.length + 100);
}

/** Returns the trace of the caller. It is the only metadata of clients that handlers receive. */
function readTrace({ traceparent, tracestate }: JSONObject): JSONObject | undefined {
  if (typeof traceparent !== "string") return undefined;
  return typeof tracestate === "string" ? { traceparent, tracestate } : { traceparent };
}
