import { type Dialect, dialectOf, ignoresRefSiblings } from "./dialect.ts";
import { forEachSubschema, isRecord, type SchemaObject } from "./keywords.ts";
import { publishedDocuments, type RemoteDocuments } from "./remote-documents.ts";

/** What a reference leads to. Wrapped, because `false` is a schema too. */
export interface ResolvedReference {
  schema: unknown;
}

/** Finds what the references of one document lead to. Never fetches. */
export interface Resolver {
  /**
   * Follows a `$ref`: `#`, a JSON pointer, an anchor or an `$id`. `holder` is the schema that the `$ref` stands in;
   * it decides the base when the document has several `$id`s.
   */
  resolve(reference: string, holder?: object): ResolvedReference | undefined;
  /**
   * Follows a `$dynamicRef` or `$recursiveRef` as far as that is possible without knowing the way through the
   * document: `undefined` where the way would decide.
   */
  resolveDynamic(reference: string, holder?: object): ResolvedReference | undefined;
  /** The other documents that references lead to, by absolute URI. */
  readonly opened: ReadonlyMap<string, unknown>;
}

/** What a resolver may be told besides the document. */
export interface ResolverOptions {
  /** Dialect of a document without `$schema`. @default "2020-12" */
  dialect?: Dialect;
  /** Other documents. @default the published meta-schemas */
  documents?: RemoteDocuments;
}

// Documents without `$id` need some absolute base for relative ids to be compared by.
const anonymous = "schema:///";

/** Makes a resolver for a document. The document is read on the first reference that needs it, and only once. */
export function createResolver(root: unknown, options: ResolverOptions = {}): Resolver {
  let index: DocumentIndex | undefined;

  function lookup(reference: string, holder?: object): ResolvedReference | undefined {
    index ??= new DocumentIndex(root, options);
    const uri = joinURI(reference, index.baseOf(holder));
    return uri === undefined ? undefined : index.find(uri);
  }

  return {
    resolve: lookup,
    resolveDynamic(reference, holder) {
      // Documents that were given may hold an anchor of the same name where only a pointer leads.
      if (options.documents?.given !== undefined) return undefined;
      const found = lookup(reference, holder);
      return found === undefined || index!.dependsOnTheWay(found.schema) ? undefined : found;
    },
    get opened() {
      index ??= new DocumentIndex(root, options);
      return index.opened;
    },
  };
}

/** Follows a JSON pointer (`/a/b~1c`, `""` is the value itself). Own properties only. */
export function followPointer(value: unknown, pointer: string): ResolvedReference | undefined {
  if (pointer === "") return { schema: value };
  if (!pointer.startsWith("/")) return undefined;
  let current = value;
  for (const part of pointer.slice(1).split("/")) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, key)) return undefined;
    if (Array.isArray(current) && !/^(0|[1-9]\d*)$/.test(key)) return undefined;
    current = (current as SchemaObject)[key];
  }
  return { schema: current };
}

class DocumentIndex {
  readonly opened = new Map<string, unknown>();
  readonly #resources = new Map<string, unknown>();
  readonly #anchors = new Map<string, SchemaObject>();
  readonly #dynamicAnchors = new Map<string, number>();
  readonly #bases = new Map<object, string>();
  readonly #rootBase: string;
  readonly #options: ResolverOptions;
  readonly #documents: RemoteDocuments;
  /** References that may lead to other documents, with their bases. */
  readonly #outgoing: Array<[reference: string, base: string]> = [];
  #recursiveAnchors = 0;

  constructor(root: unknown, options: ResolverOptions) {
    this.#options = options;
    this.#documents = options.documents ?? publishedDocuments;
    this.#resources.set(anonymous, root);
    this.#read(root, anonymous, options.dialect, root);
    this.#rootBase = (isRecord(root) && this.#bases.get(root)) || anonymous;
    // All of them before the first lookup: another document may hold the same dynamic anchor. Reading one appends more.
    for (const [reference, base] of this.#outgoing) {
      const uri = joinURI(reference, base);
      if (uri !== undefined) this.#has(uri.replace(/#.*$/, ""));
    }
  }

  baseOf(holder: object | undefined): string {
    return (holder && this.#bases.get(holder)) ?? this.#rootBase;
  }

  find(uri: string): ResolvedReference | undefined {
    const hash = uri.indexOf("#");
    const resource = hash < 0 ? uri : uri.slice(0, hash);
    const fragment = hash < 0 ? "" : decodeFragment(uri.slice(hash + 1));
    if (fragment === undefined || !this.#has(resource)) return undefined;
    if (fragment !== "" && !fragment.startsWith("/")) {
      const schema = this.#anchors.get(`${resource}#${fragment}`);
      return schema && { schema };
    }
    const found = followPointer(this.#resources.get(resource), fragment);
    // A pointer may lead to a place that no keyword leads to; what is there has its own references.
    if (found && isRecord(found.schema) && !this.#bases.has(found.schema)) {
      this.#read(found.schema, resource, this.#options.dialect);
    }
    return found;
  }

  /** Whether the same dynamic anchor stands in several places, so that the evaluation path decides between them. */
  dependsOnTheWay(target: unknown): boolean {
    if (!isRecord(target)) return false;
    const anchor = target["$dynamicAnchor"];
    if (typeof anchor === "string") return this.#dynamicAnchors.get(anchor)! > 1;
    return target["$recursiveAnchor"] === true && this.#recursiveAnchors > 1;
  }

  #has(resource: string): boolean {
    if (this.#resources.has(resource)) return true;
    const found = this.#documents.find(resource);
    if (found === undefined) return false;
    if (!this.opened.has(found.uri)) {
      this.opened.set(found.uri, found.document);
      this.#resources.set(found.uri, found.document);
      this.#read(found.document, found.uri, undefined, found.document);
    }
    return this.#resources.has(resource);
  }

  /** `document` is the schema at the root of its document, where that is read. */
  #read(root: unknown, rootBase: string, rootDialect: Dialect | undefined, document?: unknown): void {
    const pending: Array<[schema: unknown, base: string, dialect: Dialect | undefined]> = [
      [root, rootBase, rootDialect],
    ];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      const [schema, outerBase, outerDialect] = next;
      if (!isRecord(schema) || this.#bases.has(schema)) continue;
      const dialect = dialectOf(schema, outerDialect);
      const base = this.#readNames(schema, outerBase, dialect, schema === document);
      this.#bases.set(schema, base);
      for (const reference of [schema["$ref"], schema["$dynamicRef"]]) {
        if (typeof reference === "string" && !reference.startsWith("#")) this.#outgoing.push([reference, base]);
      }
      forEachSubschema(schema, (subschema) => pending.push([subschema, base, dialect]));
    }
  }

  #readNames(schema: SchemaObject, outerBase: string, dialect: Dialect, isDocument: boolean): string {
    // At the root of a document `$id` names the document, which a `$ref` beside it does not change.
    if (!isDocument && ignoresRefSiblings(dialect) && typeof schema["$ref"] === "string") return outerBase;
    let base = outerBase;
    const id = schema["$id"] ?? (dialect === "draft-04" ? schema["id"] : undefined);
    if (typeof id === "string") {
      if (id.startsWith("#")) {
        // Before `$anchor` existed, an `$id` of only a fragment was one.
        if (id.length > 1) this.#anchors.set(base + id, schema);
      } else {
        base = joinURI(id, outerBase)?.replace(/#.*$/, "") ?? outerBase;
        if (!this.#resources.has(base)) this.#resources.set(base, schema);
      }
    }
    if (typeof schema["$anchor"] === "string") this.#anchors.set(`${base}#${schema["$anchor"]}`, schema);
    if (typeof schema["$dynamicAnchor"] === "string") {
      this.#anchors.set(`${base}#${schema["$dynamicAnchor"]}`, schema);
      this.#dynamicAnchors.set(schema["$dynamicAnchor"], (this.#dynamicAnchors.get(schema["$dynamicAnchor"]) ?? 0) + 1);
    }
    if (schema["$recursiveAnchor"] === true) this.#recursiveAnchors += 1;
    return base;
  }
}

function joinURI(reference: string, base: string): string | undefined {
  return URL.canParse(reference, base) ? new URL(reference, base).href : undefined;
}

function decodeFragment(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
}
