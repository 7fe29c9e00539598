import { Meta } from "typebox/schema";
import { defaultLimits, type Limits } from "../operation/index.ts";
import { dialectOf } from "./dialect.ts";
import { SchemaCopier } from "./schema-copier.ts";
import { describe, SchemaError } from "./schema-error.ts";

/**
 * The documents that references may lead to besides their own: those that were given, then the published meta-schemas.
 * A document is converted when a reference first leads to it, and only once. Nothing is fetched.
 */
export class RemoteDocuments {
  /** The documents as they were given, by absolute URI. */
  readonly given: Readonly<Record<string, unknown>> | undefined;
  readonly #limits: Required<Limits>;
  readonly #converted = new Map<string, unknown>();

  constructor(given: Readonly<Record<string, unknown>> | undefined, limits: Required<Limits> = defaultLimits) {
    this.given = given;
    this.#limits = limits;
  }

  /** Returns the document with this URI, or the one that contains it; `undefined` when there is none. */
  find(uri: string): { uri: string; document: unknown } | undefined {
    if (this.given !== undefined && Object.hasOwn(this.given, uri)) {
      return { uri, document: this.#convert(uri, this.given[uri]) };
    }
    const published = metaSchemaOf(uri);
    if (published === undefined) return undefined;
    return { uri: published.uri, document: builtIn.#convert(published.uri, published.schema) };
  }

  #convert(uri: string, document: unknown): unknown {
    if (this.#converted.has(uri)) return this.#converted.get(uri);
    try {
      const converted = new SchemaCopier(this.#limits).copy(document, "", 0, dialectOf(document));
      this.#converted.set(uri, converted);
      return converted;
    } catch (cause) {
      if (!(cause instanceof SchemaError)) throw cause;
      throw new SchemaError("", `the document ${describe(uri)} cannot be used. ${cause.message}`, { cause });
    }
  }
}

const builtIn = new RemoteDocuments(undefined);

/** What schemas may refer to when no documents were given. */
export const publishedDocuments: RemoteDocuments = builtIn;

/**
 * The published meta-schema that a URI means, with `http` or `https`. A vocabulary of 2019-09 and 2020-12 is part of the
 * document of its dialect.
 */
function metaSchemaOf(uri: string): { uri: string; schema: unknown } | undefined {
  const known =
    /^https?:\/\/json-schema\.org\/(?:(draft-0[467])\/schema|draft\/(2019-09|2020-12)\/(?:schema|meta\/[a-z-]+))$/.exec(
      uri,
    );
  if (known === null) return undefined;
  const [, draft, year] = known;
  if (draft !== undefined) {
    return { uri, schema: Meta[`http://json-schema.org/${draft}/schema#` as keyof typeof Meta] };
  }
  const base = `https://json-schema.org/draft/${year}/schema`;
  return { uri: base, schema: Meta[base as keyof typeof Meta] };
}
