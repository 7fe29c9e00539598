import { Type } from "typebox";
import { logger } from "../../internal/log.ts";
import { getOwn, isObject, type JSONObject } from "../../internal/objects.ts";
import { isConfidentialURL } from "../../internal/urls.ts";
import {
  CallError,
  mapError,
  type OperationContext,
  type ResponseEnvelope,
  resolveLimits,
} from "../../operation/inside.ts";
import type { HTTPServiceConfig } from "./config.ts";
import { assertDepth } from "./document.ts";
import { assertNamespace, assertTexts, badConfig, documentLimitExceeded, unreadableDocument } from "./errors.ts";
import { createEndpointHandler } from "./handler.ts";
import { parseOpenAPI } from "./parse.ts";
import { absoluteUrl } from "./references.ts";
import { assertSettings } from "./service-state.ts";

const defaultTimeout = 30_000;

/**
 * Fetches and parses a document under the same rules as an imported call: credentials are only sent to their own
 * origin, redirects must stay in the same origin, size and time are limited, and errors are typed. @throws CallError
 */
export async function fetchDocument(url: string, config: HTTPServiceConfig, signal?: AbortSignal): Promise<JSONObject> {
  assertNamespace(config.namespace);
  assertSettings(config);
  const target = URL.canParse(url) ? new URL(url) : undefined;
  if (target === undefined || !/^https?:$/.test(target.protocol))
    throw badConfig("The document's URL must use http or https.");
  if (target.username !== "" || target.password !== "")
    throw badConfig("The document's URL must not contain credentials. Use auth.");
  const { handler } = createEndpointHandler(
    {
      operationId: `GET ${target.origin}${target.pathname}`, // Without the query, which may contain a key.
      method: "GET",
      path: `${target.pathname}${target.search}`,
      baseUrl: target.origin,
      parameters: [],
      declaresJSON: false,
      accept: ["application/json", "application/yaml", "text/yaml", "*/*"],
      security: [],
      securitySchemes: new Map(),
      errorCodes: new Map(),
      idempotent: true,
      outputSchema: Type.Unknown(),
    },
    documentConfig(target, config),
  );
  const { data } = await fetched(async () => handler({}, contextFor(signal)), target);
  if (isObject(data) && !(data instanceof ArrayBuffer)) return data;
  const text = data instanceof ArrayBuffer ? new TextDecoder().decode(data) : data;
  if (typeof text !== "string") throw unreadableDocument("the response does not contain a document");
  if (/^\s*</.test(text)) {
    const page = `${target.origin}${target.pathname}`;
    throw unreadableDocument(`${page} is a web page, not a document in JSON or YAML. Pass the URL of the document`);
  }
  return parseOpenAPI(text, config.limits);
}

/** Reports that the document is missing. The message for an error status does not contain the URL, others do. */
async function fetched(fetchIt: () => unknown, { origin, pathname }: URL): Promise<ResponseEnvelope> {
  try {
    return (await fetchIt()) as ResponseEnvelope;
  } catch (error) {
    const { code, message, details, retryable, mayHaveRun } = mapError(error);
    const place = getOwn(details, "status") === undefined ? "" : ` at ${origin}${pathname}`;
    const whole = `The OpenAPI document${place} cannot be fetched. ${message}`;
    throw new CallError(code, whole, details, { cause: error, retryable, mayHaveRun });
  }
}

/**
 * Returns the configuration for fetching the document. It has credentials only if the document has the service's
 * origin.
 */
function documentConfig(target: URL, config: HTTPServiceConfig): HTTPServiceConfig {
  const { auth, headers, namespace, fetch, retry, timeout = defaultTimeout } = config;
  const limits = resolveLimits(config.limits);
  const isOwn =
    config.baseUrl === undefined ||
    [config.baseUrl, ...(config.allowedOrigins ?? [])].some(
      (url) => URL.canParse(url) && new URL(url).origin === target.origin,
    );
  return {
    namespace,
    fetch,
    retry,
    timeout,
    limits: { ...limits, responseBytes: limits.documentBytes },
    pagination: false,
    ...(isOwn && { auth, headers }),
  };
}

function contextFor(signal: AbortSignal = new AbortController().signal): OperationContext {
  const call = () => Promise.reject(new CallError("EXECUTION_ERROR", "Reading a document calls no operation."));
  return { requestId: "document", signal, metadata: {}, env: {}, call, errors: {}, progress: () => {} };
}

const log = logger("from", "openapi");

// Documents can refer to an unlimited number of further documents.
const maxDocuments = 100;

/**
 * Reads the external documents that `externalRefs` allows, without credentials. By default no external document is
 * read. A document that cannot be read is logged, and the operations that need it are skipped.
 */
export async function loadExternals(
  root: JSONObject,
  config: HTTPServiceConfig,
  readFile?: (file: string) => Promise<string>,
): Promise<ReadonlyMap<string, unknown>> {
  const externals = new Map<string, unknown>();
  if (config.externalRefs === undefined) return externals;
  assertTexts(config.externalRefs.hosts, "externalRefs.hosts");
  assertTexts(config.externalRefs.files, "externalRefs.files");
  const tried = new Set<string>();
  const pending: Array<[document: unknown, base: string | undefined]> = [[root, config.documentUrl]];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    for (const url of outgoing(...next)) {
      if (url === config.documentUrl || tried.has(url)) continue;
      tried.add(url);
      const read = allowedReader(url, config, readFile);
      if (read === undefined) continue;
      if (externals.size >= maxDocuments) {
        throw documentLimitExceeded(undefined, `it references more than ${maxDocuments} other documents`);
      }
      try {
        const document = await read();
        assertDepth(document, resolveLimits(config.limits).jsonDepth);
        externals.set(url, document);
        pending.push([document, url]);
      } catch (error) {
        log.warn("{namespace}: The external document {url} cannot be read: {error}", {
          namespace: config.namespace,
          url,
          error,
        });
      }
    }
  }
  return externals;
}

/** Returns the absolute URLs of a document's references, without fragments. */
function outgoing(document: unknown, base: string | undefined): Set<string> {
  const urls = new Set<string>();
  const seen = new Set<unknown>();
  const pending: unknown[] = [document];
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value !== "object" || value === null || seen.has(value)) continue;
    seen.add(value);
    const reference = getOwn(value, "$ref");
    const file = typeof reference === "string" ? reference.replace(/#.*$/s, "") : "";
    const url = file === "" ? undefined : absoluteUrl(file, base);
    if (url !== undefined) urls.add(url);
    for (const held of Object.values(value)) pending.push(held);
  }
  return urls;
}

function allowedReader(
  url: string,
  config: HTTPServiceConfig,
  readFile: ((file: string) => Promise<string>) | undefined,
): (() => Promise<JSONObject>) | undefined {
  const { hosts = [], files = [], timeout = 10_000 } = config.externalRefs!;
  const target = new URL(url);
  if (target.protocol === "file:") {
    const file = files.find((allowed) => absoluteUrl(allowed, config.documentUrl) === url);
    if (file === undefined || readFile === undefined) return undefined;
    return async () => parseOpenAPI(await readFile(file), config.limits);
  }
  if (!hosts.includes(target.host) || !isConfidentialURL(target)) return undefined;
  const { namespace, limits, fetch } = config;
  return () => fetchDocument(url, { namespace, limits, fetch, timeout });
}
