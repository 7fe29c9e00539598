import type { TSchema } from "typebox";
import { isUnsafe, noteInexact, noteUnsafeIntegers } from "../../internal/exact-json.ts";
import { isObject } from "../../internal/objects.ts";
import { CallError, type MCPContentBlock, mcpEnvelope, type ResponseEnvelope } from "../../operation/index.ts";
import { compileSchema } from "../../schema/index.ts";
import { inputRequired } from "./call-errors.ts";
import type { MCPToolResult } from "./connection/index.ts";
import { mapMCPContentBlocks } from "./content.ts";

/** How results of one tool become envelopes. */
export interface ResultRules {
  /** The full id, for messages. */
  readonly operationId: string;
  /** Schema of the data; absent if the tool declares none. */
  readonly outputSchema?: TSchema;
  /** Whether the server wraps structured content as `{ result }`. */
  readonly isWrapped: boolean;
}

/**
 * Converts a result of a tool into an envelope; a result with `isError` too. Without structured content, `data` is the
 * same array as `meta.content`, by which the registry knows not to normalise it.
 */
export function toMCPEnvelope(result: MCPToolResult, rules: ResultRules): ResponseEnvelope {
  assertIsResult(result, rules.operationId);
  const isError = result.isError === true;
  const content = mapMCPContentBlocks(result.content);
  const { structuredContent } = result;
  const meta = {
    isError,
    content,
    ...(structuredContent !== undefined && { structuredContent }),
    ...(isObject(result._meta) && { _meta: result._meta }),
  };
  const envelope = mcpEnvelope(chooseData(content, structuredContent, isError, rules), meta);
  if (!isError) noteLostDigits(envelope);
  return envelope;
}

function chooseData(
  content: MCPContentBlock[],
  structuredContent: unknown,
  isError: boolean,
  rules: ResultRules,
): unknown {
  if (structuredContent !== undefined) {
    return rules.isWrapped && !isError ? unwrapped(structuredContent) : structuredContent;
  }
  if (isError || rules.outputSchema === undefined) return content;
  const parsed = parseOnlyText(content, rules.outputSchema, rules.isWrapped);
  return parsed === undefined ? content : parsed.value;
}

/** Any integer beyond 2^53 may have lost digits; the JSON of the message is not available any more. */
function noteLostDigits(envelope: ResponseEnvelope): void {
  const { data } = envelope;
  if (typeof data === "number" && isUnsafe(data)) noteInexact(envelope, "data", undefined);
  else noteUnsafeIntegers(data);
}

function assertIsResult(result: unknown, id: string): asserts result is MCPToolResult {
  if (!isObject(result)) throw new CallError("BAD_RESPONSE", `"${id}" returned no result.`);
  if (result["resultType"] === "input_required") throw inputRequired(id);
}

function unwrapped(structured: unknown): unknown {
  return isObject(structured) && Object.hasOwn(structured, "result") ? structured["result"] : structured;
}

/** Older servers return JSON in a text block. It is used only if it passes the schema. */
function parseOnlyText(
  content: readonly MCPContentBlock[],
  schema: TSchema,
  isWrapped: boolean,
): { value: unknown } | undefined {
  const [block] = content;
  const compiled = compileSchema(schema);
  if (content.length !== 1 || block?.type !== "text" || compiled.isUnknown) return undefined;
  const parsed = tryParse(block.text);
  if (parsed === undefined || compiled.check(parsed.value)) return parsed;
  const value = isWrapped ? unwrapped(parsed.value) : parsed.value;
  return value !== parsed.value && compiled.check(value) ? { value } : undefined;
}

function tryParse(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}
