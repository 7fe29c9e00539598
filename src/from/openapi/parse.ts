import { truncate } from "../../internal/text.ts";
import { type Limits, resolveLimits } from "../../operation/index.ts";
import { documentLimitExceeded, documentTooLarge, unreadableDocument } from "./document-error.ts";
import type { OpenAPISpec } from "./spec.ts";
import { isObject } from "./values.ts";
import { assertConvertible, toJSONTags } from "./yaml-cost.ts";

// Enough for any document written by people; a bomb multiplies its aliases far beyond.
const maxAliasCount = 10_000;
// Deeper YAML brings the `yaml` package to the end of the stack, where V8 may end the process.
const composableDepth = 400;

/**
 * Reads the text of a document, JSON or YAML. @throws CallError `VALIDATION_ERROR`, or `LIMIT_EXCEEDED` when it is too
 * long, or YAML too deep or with aliases that would blow it up
 */
export async function parseOpenAPI(text: string, limits: Limits = {}): Promise<OpenAPISpec> {
  const { documentBytes, jsonDepth } = resolveLimits(limits);
  if (isLonger(text, documentBytes)) throw documentTooLarge(documentBytes);
  const source = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  const document = isLikeJSON.test(source) ? parseJSON(source) : await parseYAML(source, jsonDepth);
  if (!isObject(document)) throw unreadableDocument("it is no object");
  return document;
}

/** UTF-8 takes one to three bytes for each UTF-16 unit, so bytes are counted only where that leaves a doubt. */
function isLonger(text: string, bytes: number): boolean {
  if (text.length > bytes) return true;
  return text.length * 3 > bytes && new TextEncoder().encode(text).length > bytes;
}

// YAML can begin with a brace as well, but hardly with a quoted key behind it.
const isLikeJSON = /^\s*\{\s*["}]/;

function parseJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw unreadableDocument(truncate(withLine(String((error as Error).message), text), 200), error);
  }
}

/** Says line and column where the engine counts characters. */
function withLine(message: string, text: string): string {
  return message.replace(/at position (\d+).*/, (_, position) => {
    const lines = text.slice(0, Number(position)).split("\n");
    return `at line ${lines.length}, column ${lines.at(-1)!.length + 1}`;
  });
}

async function parseYAML(text: string, jsonDepth: number): Promise<unknown> {
  const yaml = await import("yaml");
  const { Composer, Lexer, Parser } = yaml;
  const depth = Math.min(jsonDepth, composableDepth);

  /** The parser keeps its own stack, the composer uses ours: what is too deep never reaches the composer. */
  function* tokens() {
    const parser = new Parser();
    for (const lexeme of new Lexer().lex(text)) {
      for (const token of parser.next(lexeme)) yield token;
      if (parser.stack.length > depth + 2) throw documentLimitExceeded("jsonDepth", `nested over ${depth} deep`);
    }
    yield* parser.end();
  }

  const composer = new Composer({
    merge: true,
    uniqueKeys: false,
    logLevel: "error",
    resolveKnownTags: false,
    customTags: toJSONTags,
  });
  const documents = composer.compose(tokens(), true, text.length);
  const document = documents.next().value;
  const problem = document?.errors[0];
  if (problem !== undefined) throw unreadableDocument(truncate(problem.message, 200), problem);
  if (documents.next().done !== true) throw unreadableDocument("it holds several YAML documents");
  assertConvertible(document?.contents, yaml);
  try {
    return document?.toJS({ maxAliasCount });
  } catch (error) {
    throw documentLimitExceeded(undefined, `its YAML aliases expand too far (${truncate(String(error), 120)})`);
  }
}
