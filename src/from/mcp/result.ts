import type { TSchema } from "typebox";
import { isUnsafe, noteInexact, noteUnsafeIntegers } from "../../internal/exact-json.ts";
import { CallError, type MCPContentBlock, mcpEnvelope, type ResponseEnvelope } from "../../operation/index.ts";
import { compileSchema } from "../../schema/index.ts";
import type { RawResult } from "./connection/index.ts";
import { mapMCPContentBlocks } from "./content.ts";
import { inputRequired } from "./input-required.ts";
import { isObject } from "./values.ts";

/** How the results of one tool are read. */
export interface ResultRules {
  /** The full id, for messages. */
  readonly operationId: string;
  /** Shape of the data; absent when the tool declares none. */
  readonly outputSchema?: TSchema;
  /** Whether the server wraps structured content as `{ result }`. */
  readonly isWrapped: boolean;
}

/**
 * Turns what a tool answered into an envelope. Errors that the tool reports are results like any other. Where there is
 * no structured content, the data is the very array of `meta.content`, by which a registry knows to leave it alone.
 */
export function toMCPEnvelope(result: RawResult, rules: ResultRules): ResponseEnvelope {
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

/** The text of a message is gone by now, so that any integer beyond 2^53 may have lost digits. */
function noteLostDigits(envelope: ResponseEnvelope): void {
  const { data } = envelope;
  if (typeof data === "number" && isUnsafe(data)) noteInexact(envelope, "data", undefined);
  else noteUnsafeIntegers(data);
}

/** Whatever else a result says, it is an object, and it is not a question. */
function assertIsResult(result: unknown, id: string): asserts result is RawResult {
  if (!isObject(result)) throw new CallError("BAD_RESPONSE", `"${id}" answered without a result.`);
  if (result["resultType"] === "input_required") throw inputRequired(id);
}

function unwrapped(structured: unknown): unknown {
  return isObject(structured) && Object.hasOwn(structured, "result") ? structured["result"] : structured;
}

/** Servers of before structured content put JSON into a text. It counts only when it is what the schema says. */
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
