import { Meta } from "typebox/schema";
import { readPointer } from "../internal/json-pointer.ts";
import { isObject } from "../internal/objects.ts";
import { describeValue } from "../internal/text.ts";
import { decodePercent } from "../internal/urls.ts";
import { defaultLimits, type Limits } from "../operation/inside.ts";
import { type Dialect, dialectOf, forEachSubschema, ignoresRefSiblings, type SchemaObject } from "./keywords.ts";
import { SchemaCopier } from "./schema-copier.ts";
import { SchemaError } from "./schema-error.ts";

/** Options of a {@link Resolver}. */
export interface ResolverOptions {
  /** Dialect of a document without `$schema`. @default "2020-12" */
  dialect?: Dialect;
  /** Other documents that references may resolve to. @default the published meta-schemas */
  documents?: RemoteDocuments;
}

/** Resolves the references of one document. It reads the document on the first reference, once, and never fetches. */
export class Resolver {
  readonly #root: unknown;
  readonly #options: ResolverOptions;
  #documentIndex: DocumentIndex | undefined;

  constructor(root: unknown, options: ResolverOptions = {}) {
    this.#root = root;
    this.#options = options;
  }

  /** The other documents that references resolve to, by absolute URI. */
  get opened(): ReadonlyMap<string, unknown> {
    return this.#index.opened;
  }

  /**
   * Returns the target of a `$ref`: `#`, a JSON pointer, an anchor or an `$id`. `holder` is the schema with the `$ref`;
   * it determines the base if the document has several `$id`s. Returns `undefined` when the reference does not resolve.
   */
  resolve(reference: string, holder?: object): unknown {
    const uri = joinURI(reference, this.#index.baseOf(holder));
    return uri === undefined ? undefined : this.#index.find(uri);
  }

  /**
   * Returns the target of a `$dynamicRef` or `$recursiveRef` if it is the same for every evaluation path through the
   * document, otherwise `undefined`.
   */
  resolveDynamic(reference: string, holder?: object): unknown {
    // A given document may have an anchor of the same name at a location that only a pointer reaches.
    if (this.#options.documents?.given !== undefined) return undefined;
    const target = this.resolve(reference, holder);
    return this.#index.dependsOnPath(target) ? undefined : target;
  }

  get #index(): DocumentIndex {
    this.#documentIndex ??= new DocumentIndex(this.#root, this.#options);
    return this.#documentIndex;
  }
}

// The base of a document without `$id`: relative ids need an absolute base to be compared.
const anonymousBase = "schema:///";

class DocumentIndex {
  readonly opened = new Map<string, unknown>();
  readonly #resources = new Map<string, unknown>();
  readonly #anchors = new Map<string, SchemaObject>();
  readonly #dynamicAnchors = new Map<string, number>();
  readonly #bases = new Map<object, string>();
  readonly #rootBase: string;
  readonly #options: ResolverOptions;
  readonly #documents: RemoteDocuments;
  /** References that may resolve to other documents, with their bases. */
  readonly #outgoing: Array<[reference: string, base: string]> = [];
  #recursiveAnchors = 0;

  constructor(root: unknown, options: ResolverOptions) {
    this.#options = options;
    this.#documents = options.documents ?? publishedDocuments;
    this.#resources.set(anonymousBase, root);
    this.#read(root, anonymousBase, options.dialect, root);
    this.#rootBase = (isObject(root) && this.#bases.get(root)) || anonymousBase;
    // Open all documents before the first lookup: each may have the same dynamic anchor. Reading one appends more.
    for (const [reference, base] of this.#outgoing) {
      const uri = joinURI(reference, base);
      if (uri !== undefined) this.#open(uri.replace(/#.*$/, ""));
    }
  }

  baseOf(holder: object | undefined): string {
    return (holder && this.#bases.get(holder)) ?? this.#rootBase;
  }

  find(uri: string): unknown {
    const hash = uri.indexOf("#");
    const resource = hash < 0 ? uri : uri.slice(0, hash);
    const fragment = hash < 0 ? "" : decodePercent(uri.slice(hash + 1));
    if (fragment === undefined || !this.#open(resource)) return undefined;
    if (fragment !== "" && !fragment.startsWith("/")) return this.#anchors.get(`${resource}#${fragment}`);
    const target = readPointer(this.#resources.get(resource), fragment);
    // A pointer may reach a location below an unknown keyword; the schema there has its own references.
    if (isObject(target) && !this.#bases.has(target)) this.#read(target, resource, this.#options.dialect);
    return target;
  }

  /** Returns whether several schemas have the dynamic anchor of the target, so that the evaluation path selects one. */
  dependsOnPath(target: unknown): boolean {
    if (!isObject(target)) return false;
    const anchor = target["$dynamicAnchor"];
    if (typeof anchor === "string") return this.#dynamicAnchors.get(anchor)! > 1;
    return target["$recursiveAnchor"] === true && this.#recursiveAnchors > 1;
  }

  /** Returns whether the resource is known, after reading the document that contains it. */
  #open(resource: string): boolean {
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

  /** @param document - the schema at the root of the document, if that is read */
  #read(root: unknown, rootBase: string, rootDialect: Dialect | undefined, document?: unknown): void {
    const pending: Array<[schema: unknown, base: string, dialect: Dialect | undefined]> = [
      [root, rootBase, rootDialect],
    ];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      const [schema, outerBase, outerDialect] = next;
      if (!isObject(schema) || this.#bases.has(schema)) continue;
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
    // At the root of a document `$id` names the document, also beside a `$ref`.
    if (!isDocument && ignoresRefSiblings(dialect) && typeof schema["$ref"] === "string") return outerBase;
    const { $anchor, $dynamicAnchor } = schema;
    let base = outerBase;
    const id = schema["$id"] ?? (dialect === "draft-04" ? schema["id"] : undefined);
    if (typeof id === "string") {
      if (id.startsWith("#")) {
        // Before `$anchor` existed, an `$id` that is only a fragment was an anchor.
        if (id.length > 1) this.#anchors.set(base + id, schema);
      } else {
        base = joinURI(id, outerBase)?.replace(/#.*$/, "") ?? outerBase;
        if (!this.#resources.has(base)) this.#resources.set(base, schema);
      }
    }
    if (typeof $anchor === "string") this.#anchors.set(`${base}#${$anchor}`, schema);
    if (typeof $dynamicAnchor === "string") {
      this.#anchors.set(`${base}#${$dynamicAnchor}`, schema);
      this.#dynamicAnchors.set($dynamicAnchor, (this.#dynamicAnchors.get($dynamicAnchor) ?? 0) + 1);
    }
    if (schema["$recursiveAnchor"] === true) this.#recursiveAnchors += 1;
    return base;
  }
}

function joinURI(reference: string, base: string): string | undefined {
  return URL.canParse(reference, base) ? new URL(reference, base).href : undefined;
}

/**
 * The other documents that references may resolve to: the given ones, then the published meta-schemas. Each
 * is converted once, on the first reference to it. Nothing is fetched.
 */
export class RemoteDocuments {
  /** The given documents by absolute URI. */
  readonly given: Readonly<Record<string, unknown>> | undefined;
  readonly #limits: Required<Limits>;
  readonly #converted = new Map<string, unknown>();

  constructor(given: Readonly<Record<string, unknown>> | undefined, limits: Required<Limits> = defaultLimits) {
    this.given = given;
    this.#limits = limits;
  }

  /** Returns the document with this URI, or the one that contains it; `undefined` when the URI is unknown. */
  find(uri: string): { uri: string; document: unknown } | undefined {
    if (this.given !== undefined && Object.hasOwn(this.given, uri)) {
      return { uri, document: this.#convert(uri, this.given[uri]) };
    }
    const published = metaSchemaOf(uri);
    if (published === undefined) return undefined;
    return { uri: published.uri, document: publishedDocuments.#convert(published.uri, published.schema) };
  }

  #convert(uri: string, document: unknown): unknown {
    if (this.#converted.has(uri)) return this.#converted.get(uri);
    try {
      const converted = new SchemaCopier(this.#limits).copy(document, "", 0, dialectOf(document));
      this.#converted.set(uri, converted);
      return converted;
    } catch (cause) {
      if (!(cause instanceof SchemaError)) throw cause;
      throw new SchemaError("", `the document ${describeValue(uri)} cannot be used. ${cause.message}`, { cause });
    }
  }
}

/** The published meta-schemas alone. */
export const publishedDocuments: RemoteDocuments = new RemoteDocuments(undefined);

/**
 * Returns the published meta-schema of a URI, with `http` or `https`. A vocabulary of 2019-09 and 2020-12 is part of the
 * document of its dialect.
 */
function metaSchemaOf(uri: string): { uri: string; schema: unknown } | undefined {
  const match =
    /^https?:\/\/json-schema\.org\/(?:(draft-0[467])\/schema|draft\/(2019-09|2020-12)\/(?:schema|meta\/[a-z-]+))$/.exec(
      uri,
    );
  if (match === null) return undefined;
  const [, draft, year] = match;
  if (draft !== undefined) {
    return { uri, schema: Meta[`http://json-schema.org/${draft}/schema#` as keyof typeof Meta] };
  }
  const base = `https://json-schema.org/draft/${year}/schema`;
  return { uri: base, schema: Meta[base as keyof typeof Meta] };
}
