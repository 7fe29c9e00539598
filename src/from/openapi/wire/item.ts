import type { EndpointPlan } from "../plan.ts";
import { badResponse } from "./errors.ts";
import { parseJSON, TooDeep } from "./json.ts";

/** Stands for "the server said that this was all". */
export const endOfStream: unique symbol = Symbol("end of stream");

type StreamKind = "sse" | "ndjson" | "json-seq";

/**
 * Compiles what the items of a stream become. Lines and records are JSON or a `BAD_RESPONSE`. The data of an event stays text when the
 * schema says string; it is parsed when the schema says anything else and it is JSON; without a telling schema only objects, arrays and quoted
 * strings are parsed, so that a stream of words does not turn `42` into a number. `[DONE]` ends a stream whose data is not declared as
 * string.
 */
export function compileItem(plan: EndpointPlan, jsonDepth: number): (text: string, kind: StreamKind) => unknown {
  let mode: ReturnType<typeof parsingFor> | undefined;

  return (text, kind) => {
    if (kind !== "sse") return parse(text);
    mode ??= parsingFor(plan.outputSchema);
    if (mode === "never") return text;
    if (text === "[DONE]") return endOfStream;
    if (mode === "structures" && !isStructure(text)) return text;
    try {
      return parseJSON(text, jsonDepth);
    } catch (error) {
      if (error instanceof TooDeep) throw tooDeep();
      return text;
    }
  };

  function parse(text: string): unknown {
    try {
      return parseJSON(text, jsonDepth);
    } catch (error) {
      if (error instanceof TooDeep) throw tooDeep();
      throw badResponse(plan.operationId, "the stream holds a record that is not JSON");
    }
  }

  function tooDeep() {
    return badResponse(plan.operationId, `an event nests deeper than ${jsonDepth} levels`);
  }
}

function isStructure(text: string): boolean {
  // Most texts begin with a letter, which needs no expression.
  return !(text.charCodeAt(0) > 0x60 && text.charCodeAt(0) < 0x7b) && /^\s*[{["]/.test(text);
}

function parsingFor(schema: unknown): "never" | "structures" | "always" {
  const type = typeof schema === "object" && schema !== null ? (schema as { type?: unknown }).type : undefined;
  const types = Array.isArray(type) ? type : [type];
  if (types.length === 1 && types[0] === "string") return "never";
  return type === undefined || types.includes("string") ? "structures" : "always";
}
