import type { TSchema } from "typebox";
import { extendPointer } from "../../internal/json-pointer.ts";
import { getOwn, isObject, type JSONObject } from "../../internal/objects.ts";
import { quote } from "../../internal/text.ts";
import { type Limits, resolveLimits } from "../../operation/inside.ts";
import { documentLimitExceeded, unreadableDocument } from "./errors.ts";
import { type Located, References } from "./references.ts";
import { ownObject } from "./values.ts";

/** Supported versions, from `swagger` or `openapi` of the document. */
export type OpenAPIVersion = "2.0" | "3.0" | "3.1" | "3.2";

/** An OpenAPI document whose version and size have been checked. */
export interface OpenAPIDocument {
  root: JSONObject;
  version: OpenAPIVersion;
  limits: Readonly<Required<Limits>>;
  references: References;
  /** Whether keywords beside a `$ref` are ignored, as in versions before 3.1. */
  ignoresSiblings: boolean;
  /** Returns all named schemas. */
  schemaComponents(): Located[];
  /** Subtypes by base schema. Filled by the first schema that needs it. */
  subtypes?: Map<unknown, Located[]>;
  /**
   * Property names that a schema, or a schema that it extends, hides on each side of a call. Filled while schemas are
   * copied.
   */
  hidden: Record<"input" | "output", Map<unknown, ReadonlySet<string>>>;
  /** Error schemas by response and status. An API usually declares few and uses them everywhere. */
  errorSchemas: Map<object, Map<string, () => TSchema>>;
}

/** Options of {@link openDocument}. */
export interface OpenDocumentOptions {
  limits?: Limits;
  documentUrl?: string;
  /** Documents that references may point to, by absolute URL. */
  externals?: ReadonlyMap<string, unknown>;
}

/** Checks a document and prepares it for reading. @throws CallError `VALIDATION_ERROR` or `LIMIT_EXCEEDED` */
export function openDocument(spec: unknown, options: OpenDocumentOptions = {}): OpenAPIDocument {
  if (!isObject(spec)) throw unreadableDocument("it is not an object");
  const limits = resolveLimits(options.limits);
  const version = versionOf(spec);
  assertDepth(spec, limits.jsonDepth);
  const schemas = version === "2.0" ? ownObject(spec, "definitions") : ownObject(getOwn(spec, "components"), "schemas");
  const pointer = version === "2.0" ? "#/definitions" : "#/components/schemas";
  return {
    root: spec,
    version,
    limits,
    references: new References(spec, {
      documentUrl: options.documentUrl,
      externals: options.externals,
      limit: limits.references,
    }),
    hidden: { input: new Map(), output: new Map() },
    errorSchemas: new Map(),
    ignoresSiblings: version === "2.0" || version === "3.0",
    schemaComponents: () =>
      Object.keys(schemas ?? {}).map((name) => ({
        value: getOwn(schemas, name),
        pointer: extendPointer(pointer, name),
        base: "",
      })),
  };
}

function versionOf(spec: JSONObject): OpenAPIVersion {
  const swagger = getOwn(spec, "swagger");
  // YAML reads `swagger: 2.0` without quotes as a number.
  if (swagger === 2 || (typeof swagger === "string" && swagger.startsWith("2."))) return "2.0";
  const openapi = getOwn(spec, "openapi");
  const text = typeof openapi === "number" ? openapi.toFixed(1) : openapi;
  if (typeof text !== "string") throw unreadableDocument('it has neither "openapi" nor "swagger"');
  const version = /^3\.[012](?=\.|$)/.exec(text)?.[0];
  if (version !== undefined) return version as OpenAPIVersion;
  // Later 3.x versions are backward compatible.
  if (/^3\.\d+/.test(text)) return "3.2";
  throw unreadableDocument(`version ${quote(text)} is not supported. Supported versions are 2.0 and 3.0 to 3.2.`);
}

/** @throws CallError `LIMIT_EXCEEDED` when a value is nested deeper than `limit`. Shared parts count once. */
export function assertDepth(root: object, limit: number): void {
  // Nearly every document is a tree, which can be checked without remembering visited values. A graph appears deep or
  // endless here, and is checked below.
  if (limit <= maxRecursion && isShallowTree(root, limit, { left: maxTreeSize })) return;
  assertDepthOfGraph(root, limit);
}

const maxRecursion = 1_000;
const maxTreeSize = 5_000_000;

function isShallowTree(node: object, levels: number, budget: { left: number }): boolean {
  if (levels === 0) return false;
  for (const key in node) {
    const value = (node as JSONObject)[key];
    if (typeof value !== "object" || value === null) continue;
    budget.left -= 1;
    if (budget.left < 0 || !isShallowTree(value, levels - 1, budget)) return false;
  }
  return true;
}

/** Checks level by level, so that a deep value does not overflow the stack and a cyclic value ends. */
function assertDepthOfGraph(root: object, limit: number): void {
  const seen = new Set<object>([root]);
  let level: object[] = [root];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > limit) throw documentLimitExceeded("jsonDepth", `it is nested more than ${limit} levels deep`);
    const below: object[] = [];
    for (const node of level) {
      for (const key in node) {
        const value = (node as JSONObject)[key];
        if (typeof value !== "object" || value === null || seen.has(value)) continue;
        seen.add(value);
        below.push(value);
      }
    }
    level = below;
  }
}

/** A parameter of a document, unchanged. */
export interface OpenAPIParameter {
  /** Name of the parameter. */
  name?: string;
  /** `path`, `query`, `querystring`, `header` or `cookie`; in Swagger 2 also `body` and `formData`. */
  in?: string;
  /** Whether the parameter is required. */
  required?: boolean;
  /** Description for people. */
  description?: string;
  /** Schema of its values. */
  schema?: unknown;
  /** Reference to a parameter elsewhere in the document. */
  $ref?: string;
  [key: string]: unknown;
}

/** A method of a path in a document, unchanged. */
export interface OpenAPIOperation {
  /** Becomes the name of the operation. */
  operationId?: string;
  /** Becomes the title of the operation. */
  summary?: string;
  /** Description for people. */
  description?: string;
  /** Labels of the operation. */
  tags?: string[];
  /** Whether it should no longer be used. */
  deprecated?: boolean;
  /** Parameters in path, query, headers and cookies. */
  parameters?: OpenAPIParameter[];
  /** Body of the request. */
  requestBody?: unknown;
  /** Responses by status. */
  responses?: Record<string, unknown>;
  /** Alternative security requirements. */
  security?: Array<Record<string, string[]>>;
  /** Servers that receive the requests. */
  servers?: unknown[];
  [key: string]: unknown;
}

/** An OpenAPI document, as parsed from JSON or YAML. Everything in it is checked when it is read. */
export interface OpenAPISpec {
  /** Version of an OpenAPI 3 document, such as `3.1.0`. */
  openapi?: string;
  /** Version of a Swagger 2 document: `2.0`. */
  swagger?: string;
  /** Name and version of the API. */
  info?: { title?: string; version?: string; [key: string]: unknown };
  /** Operations by path and method. */
  paths?: Record<string, unknown>;
  /** Reusable parts that references point to. */
  components?: Record<string, unknown>;
  /** Servers that receive the requests. */
  servers?: unknown[];
  [key: string]: unknown;
}
