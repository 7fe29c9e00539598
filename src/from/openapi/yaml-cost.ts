import type * as YAML from "yaml";
import { quote } from "../../internal/text.ts";
import { documentLimitExceeded, unreadableDocument } from "./document-error.ts";

/** For each alias `yaml` searches all anchors and aliases before it. This bounds the steps of all searches, to about 0.1 s. */
const maxAliasSteps = 20_000_000;
/** How many values merge keys may copy. Each copies its whole source, so that a few lines can multiply a document. */
const maxMergedValues = 100_000;

/** Tags whose values JSON does not have. What has one is read as if it had none: `!!omap` in quadratic time otherwise. */
const foreignTags = /^tag:yaml\.org,2002:(?:omap|pairs|set|binary|timestamp)$/;

/** Takes the tags of a YAML schema without those that JSON does not have. */
export function toJSONTags(tags: YAML.Tags): YAML.Tags {
  return tags.filter((tag) => typeof tag !== "object" || !foreignTags.test(tag.tag));
}

/** Throws a `CallError` when a document would take long to convert, or has an alias or a key that cannot be converted. */
export function assertConvertible(contents: unknown, yaml: typeof YAML): void {
  new CostMeter(yaml).measure(contents);
}

class CostMeter {
  readonly #yaml: typeof YAML;
  /** The last node with each anchor, in the order of the document. */
  readonly #anchors = new Map<string, YAML.Node>();
  /** How many values a conversion of an anchored node visits. Missing while the node is being measured. */
  readonly #costs = new Map<YAML.Node, number>();
  #anchorCount = 0;
  #aliasCount = 0;
  #merged = 0;

  constructor(yaml: typeof YAML) {
    this.#yaml = yaml;
  }

  /** How many values a conversion visits. The parser has bounded the depth. */
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

  /** What is written in place was measured where it stands. */
  #measureMerge(source: unknown): number {
    if (!this.#yaml.isAlias(source)) return 0;
    const cost = this.#costs.get(this.#find(source));
    if (cost === undefined) throw unreadableDocument(`${quote(source.source)} in it merges itself`);
    this.#merged += cost;
    if (this.#merged > maxMergedValues) {
      throw documentLimitExceeded(undefined, `its YAML merge keys copy over ${maxMergedValues} values`);
    }
    return cost;
  }

  #find(alias: YAML.Alias): YAML.Node {
    const found = this.#anchors.get(alias.source);
    if (found === undefined) throw unreadableDocument(`no anchor ${quote(alias.source)} stands before its alias`);
    return found;
  }

  #assertFewAliases(): void {
    if (this.#aliasCount * (this.#aliasCount + this.#anchorCount) <= maxAliasSteps) return;
    const counts = `${this.#aliasCount} aliases and ${this.#anchorCount} anchors`;
    throw documentLimitExceeded(undefined, `its YAML has too many aliases for its anchors (${counts})`);
  }
}
