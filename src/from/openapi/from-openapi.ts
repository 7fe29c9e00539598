import { isCallError, mapError, resolveLimits } from "../../operation/inside.ts";
import { readBounded } from "../read-bounded.ts";
import type { HTTPServiceConfig } from "./config.ts";
import type { OpenAPISpec } from "./document.ts";
import { badConfig, documentTooLarge, unreadableDocument } from "./errors.ts";
import { fetchDocument, loadExternals } from "./fetch-document.ts";
import { type ImportOptions, importDocument, type OpenAPIImport } from "./import-openapi.ts";
import type { ImportedOperation } from "./operation.ts";
import { parseOpenAPI } from "./parse.ts";
import { assertSettings } from "./service-state.ts";

/** Reads files as strings. Pass your own to `FromOpenAPIFile` where Node's file system is not available. */
export interface OpenAPIFS {
  /** Returns the content of a file as a string. */
  readFile(path: string): Promise<string>;
}

/**
 * Creates an operation for every method in an OpenAPI document; each handler sends an HTTP request. Skipped methods and
 * their reasons are reported to `config.onReport` or the log. External references are refused; use `FromOpenAPIFile` or
 * `FromOpenAPIUrl` to allow some of them.
 */
export function FromOpenAPI(spec: OpenAPISpec, config: HTTPServiceConfig): ImportedOperation[] {
  return importDocument(spec, config).operations;
}

/** Reads a document in JSON or YAML from a file. @param fs - @default Node's file system */
export async function FromOpenAPIFile(
  path: string,
  config: HTTPServiceConfig,
  fs?: OpenAPIFS,
): Promise<ImportedOperation[]> {
  return (await importFile(path, locate(config, { file: path }), { fs })).operations;
}

/**
 * Fetches a document in JSON or YAML. Redirects are followed only within the same origin; `timeout` (30 s by default)
 * and `limits.documentBytes` apply. Credentials are sent only to origins that would also receive them with a call.
 */
export async function FromOpenAPIUrl(
  url: string,
  config: HTTPServiceConfig,
  options: { signal?: AbortSignal } = {},
): Promise<ImportedOperation[]> {
  return (await importURL(url, locate(config, { url }), options)).operations;
}

/** Imports a file. `config` is the result of {@link locate}. */
export async function importFile(
  path: string,
  config: HTTPServiceConfig,
  { fs, ...options }: ImportOptions & { fs?: OpenAPIFS | undefined },
): Promise<OpenAPIImport> {
  assertSettings(config);
  const files = fs ?? nodeFiles(resolveLimits(config.limits).documentBytes);
  const spec = await parseOpenAPI(await readText(files, path), config.limits);
  const externals = await loadExternals(spec, config, (file) => files.readFile(besideFile(path, file)));
  return importDocument(spec, config, { ...options, externals });
}

/** Imports a document from a URL. `config` is the result of {@link locate}. */
export async function importURL(
  url: string,
  config: HTTPServiceConfig,
  { signal, ...options }: ImportOptions & { signal?: AbortSignal | undefined },
): Promise<OpenAPIImport> {
  const spec = await fetchDocument(url, config, signal);
  return importDocument(spec, config, { ...options, externals: await loadExternals(spec, config) });
}

/**
 * Adds the location of the document to a configuration. A configuration that has one is returned unchanged, because
 * shared limits belong to its identity.
 */
export function locate(config: HTTPServiceConfig, { url, file }: { url?: string; file?: string }): HTTPServiceConfig {
  if (config.documentUrl !== undefined) return config;
  if (url !== undefined) return URL.canParse(url) ? { ...config, documentUrl: new URL(url).href } : config;
  return file === undefined ? config : { ...config, documentUrl: fileUrl(file) };
}

function nodeFiles(limit: number): OpenAPIFS {
  if (globalThis.process?.getBuiltinModule?.("node:fs") === undefined) {
    throw badConfig("No file system is available in this environment. Pass one as the third argument, `fs`.");
  }
  return {
    async readFile(path) {
      try {
        return readBounded(path, limit);
      } catch (error) {
        throw error instanceof RangeError ? documentTooLarge(limit) : error;
      }
    },
  };
}

async function readText(files: OpenAPIFS, path: string): Promise<string> {
  try {
    return await files.readFile(path);
  } catch (error) {
    if (isCallError(error)) throw error;
    throw unreadableDocument(mapError(error).message, error);
  }
}

/** Returns a `file:` URL that is compared but never opened. A relative path is resolved against the root. */
function fileUrl(path: string): string {
  return new URL(encodeURI(path.replaceAll("\\", "/")).replaceAll("#", "%23").replaceAll("?", "%3F"), "file:///").href;
}

function besideFile(path: string, file: string): string {
  const isAbsolute = /^(?:[\\/]|[A-Za-z]:|file:)/.test(file);
  return isAbsolute ? file : path.replace(/[^\\/]*$/, "") + file;
}
