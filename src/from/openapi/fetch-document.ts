import { Type } from "typebox";
import {
  CallError,
  mapError,
  type OperationContext,
  type ResponseEnvelope,
  resolveLimits,
} from "../../operation/index.ts";
import type { HTTPServiceConfig } from "./config.ts";
import { assertNamespace, badConfig, unreadableDocument } from "./document-error.ts";
import { createEndpointHandler } from "./handler.ts";
import { parseOpenAPI } from "./parse.ts";
import { assertNumbers } from "./service-state.ts";
import { isObject, type JSONObject } from "./values.ts";

const defaultTimeout = 30_000;

/**
 * Fetches and parses a document as any imported call would be made: credentials go only to their own origin, redirects
 * stay on theirs, size and time are limited, errors are typed. @throws CallError
 */
export async function fetchDocument(
  url: string,
  config: HTTPServiceConfig,
  options: { signal?: AbortSignal } = {},
): Promise<JSONObject> {
  assertNamespace(config.namespace);
  assertNumbers(config);
  const target = URL.canParse(url) ? new URL(url) : undefined;
  if (target === undefined || !/^https?:$/.test(target.protocol))
    throw badConfig("the document's URL must begin with http: or https:");
  if (target.username !== "" || target.password !== "")
    throw badConfig("the document's URL must not hold credentials; use auth");
  const { handler } = createEndpointHandler(
    {
      operationId: `${config.namespace} (document)`,
      method: "GET",
      path: `${target.pathname}${target.search}`,
      baseUrl: target.origin,
      parameters: [],
      responses: [],
      accept: ["application/json", "application/yaml", "text/yaml", "*/*"],
      security: [],
      securitySchemes: new Map(),
      errorCodes: new Map(),
      idempotent: true,
      outputSchema: Type.Unknown(),
    },
    documentConfig(target, config),
  );
  const { data } = await fetched(async () => handler({}, contextFor(options.signal)), target);
  if (isObject(data) && !(data instanceof ArrayBuffer)) return data;
  const text = data instanceof ArrayBuffer ? new TextDecoder().decode(data) : data;
  if (typeof text !== "string") throw unreadableDocument("the answer holds no document");
  return parseOpenAPI(text, config.limits);
}

/** Says which document could not be fetched. A query is left out of the message: it may hold a key. */
async function fetched(fetchIt: () => unknown, { origin, pathname }: URL): Promise<ResponseEnvelope> {
  try {
    return (await fetchIt()) as ResponseEnvelope;
  } catch (error) {
    const { code, message, details, retryable, mayHaveRun } = mapError(error);
    const whole = `The OpenAPI document at ${origin}${pathname} cannot be fetched: ${message}`;
    throw new CallError(code, whole, details, { cause: error, retryable, mayHaveRun });
  }
}

/** The operator's credentials are for the service; the document may lie elsewhere. */
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
  return { requestId: "document", signal, metadata: {}, env: {}, progress: () => {} };
}
