import type { HTTPServiceConfig } from "./config.ts";
import type { OpenAPISpec } from "./document.ts";
import { importDocument } from "./import-openapi.ts";
import type { ImportedOperation } from "./operation.ts";

/** Creates a document. It has one path by default. */
export function openAPI(overrides: OpenAPISpec = {}): OpenAPISpec {
  return {
    openapi: "3.1.0",
    info: { title: "Test", version: "1.2.3" },
    servers: [{ url: "https://api.test/v1" }],
    paths: { "/things": { get: { operationId: "list", responses: {} } } },
    ...overrides,
  };
}

/** Creates a document whose only operation is `entry`, by default at `POST /things`. */
export function openAPIWith(
  entry: object,
  overrides: OpenAPISpec = {},
  path = "/things",
  method = "post",
): OpenAPISpec {
  return openAPI({ paths: { [path]: { [method]: { operationId: "op", ...entry } } }, ...overrides });
}

/** Imports a document without logging. */
export function importQuietly(spec: OpenAPISpec, config: Partial<HTTPServiceConfig> = {}) {
  return importDocument(spec, { namespace: "test", onReport: () => {}, ...config });
}

/** Imports a document that has exactly one operation. */
export function importOne(spec: OpenAPISpec, config: Partial<HTTPServiceConfig> = {}): ImportedOperation {
  const { operations, report } = importQuietly(spec, config);
  if (operations.length !== 1) throw new Error(`${operations.length} operations: ${JSON.stringify(report)}`);
  return operations[0]!;
}

/** Returns a value after a JSON round trip, without marks and getters. */
export function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** A request that was passed to `fetch`. */
export interface SentRequest {
  url: string;
  method: string;
  headers: Record<string, string>;
  body: string;
}

/** Creates a `fetch` that responds with `{}` and records the requests. */
export function recordingFetch(): { fetch: typeof fetch; sent: SentRequest[] } {
  const sent: SentRequest[] = [];
  return {
    sent,
    fetch: async (input, init) => {
      const request = new Request(input, init);
      const { url, method } = request;
      sent.push({ url, method, headers: Object.fromEntries(request.headers), body: await request.text() });
      return Response.json({});
    },
  };
}

/** Imports a document with one operation, calls it, and returns the request. */
export async function sendOne(
  spec: OpenAPISpec,
  input: unknown,
  config: Partial<HTTPServiceConfig> = {},
): Promise<SentRequest> {
  const { fetch, sent } = recordingFetch();
  const operation = importOne(spec, { fetch, ...config });
  const { signal } = new AbortController();
  await operation.handler(input, {
    requestId: "1",
    signal,
    metadata: {},
    env: {},
    call: () => Promise.reject(new Error("not called")),
    errors: {},
    progress: () => {},
  });
  return sent[0]!;
}
