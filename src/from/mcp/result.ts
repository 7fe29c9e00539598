import type { TSchema } from "typebox";
import { isObject } from "../../internal/objects.ts";
import { CallError, type MCPContentBlock, mcpEnvelope, type ResponseEnvelope } from "../../operation/index.ts";
import { compileSchema } from "../../schema/index.ts";
import { inputRequired } from "./call-errors.ts";
import type { MCPToolResult } from "./connection/index.ts";
import { mapMCPContentBlocks } from "./content.ts";

/** Rules that convert the results of one tool into envelopes. */
export interface ResultRules {
  /** The full id, for messages. */
  readonly operationId: string;
  /** Schema of the data. Absent if the tool does not declare one. */
  readonly outputSchema?: TSchema;
  /** Whether the server wraps structured content as `{ result }`. */
  readonly isWrapped: boolean;
}

/**
 * Converts a tool result into an envelope, including a result with `isError`. Without structured content, `data` is the
 * same array as `meta.content`. The registry does not normalise such data.
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
  return mcpEnvelope(chooseData(content, structuredContent, isError, rules), meta);
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

function assertIsResult(result: unknown, id: string): asserts result is MCPToolResult {
  if (!isObject(result)) throw new CallError("BAD_RESPONSE", `"${id}" returned a response without a result.`);
  if (result["resultType"] === "input_required") throw inputRequired(id);
}

function unwrapped(structured: unknown): unknown {
  return isObject(structured) && Object.hasOwn(structured, "result") ? structured["result"] : structured;
}

/** Parses the JSON that older servers return in a text block. It is used only if it matches the schema. */
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
