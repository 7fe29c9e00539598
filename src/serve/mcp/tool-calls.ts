import { isObject, type JSONObject } from "../../internal/objects.ts";
import { createId } from "../../internal/request-id.ts";
import {
  type CallError,
  type Identity,
  mapError,
  type Progress,
  type ResponseEnvelope,
} from "../../operation/index.ts";
import type { ServedRequest, ServerCalls } from "../calls.ts";
import { toPublicError } from "../outcome.ts";
import { searchToolNames } from "../tool-name.ts";
import type { ToolCatalog } from "./catalog.ts";
import { collectValues } from "./collect-values.ts";
import { type ToolResult, toDataResult, toErrorResult, toToolResult } from "./result.ts";
import { describeOne, readCall, searchOperations } from "./search-tools.ts";
import type { ProtocolEra, ServedTool } from "./tool.ts";

/** The request that calls a tool. */
export interface ToolRequest {
  readonly era: ProtocolEra;
  readonly identity: Identity | undefined;
  /** Metadata of the client that handlers may read. */
  readonly metadata: Record<string, unknown> | undefined;
  /** Fires when the client cancels the call or disconnects. */
  readonly signal: AbortSignal;
  /** Sends progress to the client. */
  onProgress?(progress: Progress): void;
}

/** Calls operations for MCP clients. */
export class ToolCalls {
  readonly #catalog: ToolCatalog;
  readonly #calls: ServerCalls;
  readonly #exposeErrors: boolean;

  constructor(catalog: ToolCatalog, calls: ServerCalls, exposeErrors: boolean) {
    this.#catalog = catalog;
    this.#calls = calls;
    this.#exposeErrors = exposeErrors;
  }

  /**
   * Calls the tool with this name. Resolves with a result for every outcome of the operation. Returns `undefined` for an
   * unknown tool.
   */
  call(name: string, given: unknown, request: ToolRequest): Promise<ToolResult> | undefined {
    const tool = this.#catalog.find(name);
    const values = isObject(given) ? given : {};
    if (tool !== undefined)
      return this.#settle(tool.operation.id, () => this.#run(tool, tool.toInput(values), request));
    switch (name) {
      case searchToolNames.search:
        return this.#settle(name, () => toDataResult(searchOperations(this.#catalog, values, request.identity)));
      case searchToolNames.describe:
        return this.#settle(name, () => toDataResult(describeOne(this.#catalog, values, request.identity)));
      case searchToolNames.call:
        return this.#settle(name, () => this.#callOperation(values, request));
      default:
        return undefined;
    }
  }

  #callOperation(values: JSONObject, request: ToolRequest): Promise<ToolResult> {
    const { tool, input } = readCall(this.#catalog, values, request.identity);
    return this.#run(tool, input, request);
  }

  /** Converts errors of the conversion of arguments and results. */
  async #settle(operationId: string, run: () => ToolResult | Promise<ToolResult>): Promise<ToolResult> {
    try {
      return await run();
    } catch (error) {
      return this.#fail(mapError(error), operationId, createId());
    }
  }

  #run(tool: ServedTool, input: unknown, request: ToolRequest): Promise<ToolResult> {
    const { identity, metadata } = request;
    const served: ServedRequest = {
      operationId: tool.operation.id,
      input,
      requestId: createId(),
      identity,
      metadata,
    };
    return tool.isSubscription ? this.#collect(tool, served, request) : this.#execute(tool, served, request);
  }

  #execute(tool: ServedTool, served: ServedRequest, request: ToolRequest): Promise<ToolResult> {
    return new Promise((resolve) => {
      const onError = (error: CallError) => resolve(this.#fail(error, served.operationId, served.requestId, tool));
      const onResult = (envelope: ResponseEnvelope) => {
        try {
          resolve(toToolResult(envelope, tool, request.era));
        } catch (error) {
          onError(mapError(error));
        }
      };
      this.#calls.execute(served, request, {
        onResult,
        onError,
        onProgress: (progress) => request.onProgress?.(progress),
      });
    });
  }

  #collect(tool: ServedTool, served: ServedRequest, { signal }: ToolRequest): Promise<ToolResult> {
    return collectValues(this.#calls, served, signal).then(toDataResult, (error) =>
      this.#fail(mapError(error), served.operationId, served.requestId, tool),
    );
  }

  #fail(error: CallError, operationId: string, requestId: string, tool?: ServedTool): ToolResult {
    const handler = tool?.operation.handler;
    return toErrorResult(toPublicError(error, { operationId, requestId, handler, exposeErrors: this.#exposeErrors }));
  }
}
