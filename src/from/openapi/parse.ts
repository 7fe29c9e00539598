import type * as YAML from "yaml";
import { isObject } from "../../internal/objects.ts";
import { quote, truncate } from "../../internal/text.ts";
import { type Limits, resolveLimits } from "../../operation/inside.ts";
import type { OpenAPISpec } from "./document.ts";
import { documentLimitExceeded, documentTooLarge, unreadableDocument } from "./errors.ts";

// Sufficient for any real document. A YAML bomb has far more aliases.
const maxAliasCount = 10_000;
// With deeper YAML, the `yaml` package exhausts the stack, and V8 may end the process.
const composableDepth = 400;

/**
 * Parses a document in JSON or YAML. @throws CallError `VALIDATION_ERROR`, or `LIMIT_EXCEEDED` if it is too long,
 * nested too deeply, or has YAML aliases that expand too far
 */
export async function parseOpenAPI(text: string, limits: Limits = {}): Promise<OpenAPISpec> {
  const { documentBytes, jsonDepth } = resolveLimits(limits);
  if (isLonger(text, documentBytes)) throw documentTooLarge(documentBytes);
  const source = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  const document = isLikeJSON.test(source) ? parseJSON(source) : await parseYAML(source, jsonDepth);
  if (!isObject(document)) throw unreadableDocument("it is not an object");
  return document;
}

/**
 * Whether a string has more than `bytes` bytes. UTF-8 uses one to three bytes per UTF-16 unit, so bytes are counted
 * only if the length is not conclusive.
 */
function isLonger(text: string, bytes: number): boolean {
  if (text.length > bytes) return true;
  return text.length * 3 > bytes && new TextEncoder().encode(text).length > bytes;
}

// YAML can also begin with a brace, but rarely with a quoted key after it.
const isLikeJSON = /^\s*\{\s*["}]/;

function parseJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw unreadableDocument(truncate(withLine(String((error as Error).message), text), 200), error);
  }
}

/** Replaces the position in an engine's message with line and column. */
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

  /** Stops at tokens that are nested too deeply. The parser has its own stack, but the composer uses the call stack. */
  function* tokens() {
    const parser = new Parser();
    for (const lexeme of new Lexer().lex(text)) {
      for (const token of parser.next(lexeme)) yield token;
      if (parser.stack.length > depth + 2)
        throw documentLimitExceeded("jsonDepth", `it is nested more than ${depth} levels deep`);
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
  if (documents.next().done !== true) throw unreadableDocument("it contains several YAML documents");
  assertConvertible(document?.contents, yaml);
  try {
    return document?.toJS({ maxAliasCount });
  } catch (error) {
    throw documentLimitExceeded(undefined, `its YAML aliases expand too far (${truncate(String(error), 120)})`);
  }
}

/**
 * Maximum number of steps of all alias searches, about 0.1 s. For each alias, `yaml` searches all anchors and aliases
 * before it.
 */
const maxAliasSteps = 20_000_000;
/**
 * Maximum number of values that merge keys may copy. Each copies its whole source, so a few lines can multiply a
 * document.
 */
const maxMergedValues = 100_000;

/** Tags of values that JSON cannot represent. They are ignored; reading `!!omap` would take quadratic time. */
const foreignTags = /^tag:yaml\.org,2002:(?:omap|pairs|set|binary|timestamp)$/;

/** Returns the tags of a YAML schema without those that JSON cannot represent. */
export function toJSONTags(tags: YAML.Tags): YAML.Tags {
  return tags.filter((tag) => typeof tag !== "object" || !foreignTags.test(tag.tag));
}

/**
 * Throws a `CallError` if a document would take too long to convert, or has an alias or a key that cannot be converted.
 */
export function assertConvertible(contents: unknown, yaml: typeof YAML): void {
  new CostMeter(yaml).measure(contents);
}

class CostMeter {
  readonly #yaml: typeof YAML;
  /** The last node with each anchor, in the order of the document. */
  readonly #anchors = new Map<string, YAML.Node>();
  /** Number of values that the conversion of an anchored node visits. Absent while the node is being measured. */
  readonly #costs = new Map<YAML.Node, number>();
  #anchorCount = 0;
  #aliasCount = 0;
  #merged = 0;

  constructor(yaml: typeof YAML) {
    this.#yaml = yaml;
  }

  /** Returns the number of values that the conversion visits. The parser has already limited the depth. */
  measure(node: unknown): number {
    const { isAlias, isCollection, isNode, isPair } = this.#yaml;
    if (isAlias(node)) {
      this.#aliasCount += 1;
      this.#assertFewAliases();
      this.#find(node);
      return 1;
    }
    if (isPair(node)) return this.#measurePair(node);
    if (!isNode(node)) return 1;
    const { anchor } = node as { anchor?: string };
    if (anchor !== undefined) {
      this.#anchorCount += 1;
      this.#assertFewAliases();
      this.#anchors.set(anchor, node);
    }
    let cost = 1;
    if (isCollection(node)) for (const item of node.items) cost += this.measure(item);
    if (anchor !== undefined) this.#costs.set(node, cost);
    return cost;
  }

  #measurePair({ key, value }: YAML.Pair): number {
    const { isAlias, isCollection, isSeq } = this.#yaml;
    const cost = this.measure(key) + this.measure(value);
    if (isCollection(isAlias(key) ? this.#find(key) : key)) throw unreadableDocument("a key in it is not a string");
    if (!this.#isMerge(key)) return cost;
    const source = isAlias(value) ? this.#find(value) : value;
    const sources = isSeq(source) ? source.items : [value];
    return cost + sources.reduce<number>((sum, item) => sum + this.#measureMerge(item), 0);
  }

  #isMerge(key: unknown): boolean {
    const value: unknown = this.#yaml.isScalar(key) ? key.value : key;
    return (typeof value === "symbol" ? value.description : value) === "<<";
  }

  /** Measures the source of a merge key. An inline source was already measured. */
  #measureMerge(source: unknown): number {
    if (!this.#yaml.isAlias(source)) return 0;
    const cost = this.#costs.get(this.#find(source));
    if (cost === undefined) throw unreadableDocument(`${quote(source.source)} in it merges itself`);
    this.#merged += cost;
    if (this.#merged > maxMergedValues) {
      throw documentLimitExceeded(undefined, `its YAML merge keys copy more than ${maxMergedValues} values`);
    }
    return cost;
  }

  #find(alias: YAML.Alias): YAML.Node {
    const found = this.#anchors.get(alias.source);
    if (found === undefined) throw unreadableDocument(`no anchor ${quote(alias.source)} is defined before its alias`);
    return found;
  }

  #assertFewAliases(): void {
    if (this.#aliasCount * (this.#aliasCount + this.#anchorCount) <= maxAliasSteps) return;
    const counts = `${this.#aliasCount} aliases and ${this.#anchorCount} anchors`;
    throw documentLimitExceeded(undefined, `its YAML has too many aliases for its anchors (${counts})`);
  }
}
