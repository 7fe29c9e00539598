import { logger } from "../../internal/log.ts";
import { resolveLimits } from "../../operation/index.ts";
import type { HTTPServiceConfig } from "./config.ts";
import { assertDepth } from "./document.ts";
import { assertTexts, documentLimitExceeded } from "./document-error.ts";
import { fetchDocument } from "./fetch-document.ts";
import { parseOpenAPI } from "./parse.ts";
import { absoluteUrl } from "./references.ts";
import { type JSONObject, own } from "./values.ts";

const log = logger("from", "openapi");

// One document may lead to a second, that to a third; somewhere it must end.
const mostDocuments = 100;

/**
 * Reads the documents that references lead to, as far as `externalRefs` allows them, with no credentials. Without an
 * allowlist nothing is read. One that cannot be read is told in the log; operations that need it are then skipped.
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
      if (externals.size >= mostDocuments) {
        throw documentLimitExceeded(undefined, `references to over ${mostDocuments} other documents`);
      }
      try {
        const document = await read();
        assertDepth(document, resolveLimits(config.limits).jsonDepth);
        externals.set(url, document);
        pending.push([document, url]);
      } catch (error) {
        log.warn("{namespace}: {url} cannot be read: {error}", { namespace: config.namespace, url, error });
      }
    }
  }
  return externals;
}

/** Absolute URLs that a document's references lead to, without fragments. */
function outgoing(document: unknown, base: string | undefined): Set<string> {
  const urls = new Set<string>();
  const seen = new Set<unknown>();
  const pending: unknown[] = [document];
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value !== "object" || value === null || seen.has(value)) continue;
    seen.add(value);
    const reference = own(value, "$ref");
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
  const { protocol, host, hostname } = new URL(url);
  if (protocol === "file:") {
    const file = files.find((allowed) => absoluteUrl(allowed, config.documentUrl) === url);
    if (file === undefined || readFile === undefined) return undefined;
    return async () => parseOpenAPI(await readFile(file), config.limits);
  }
  const isLoopback = hostname === "localhost" || hostname === "127.0.0.1" || hostname === "[::1]";
  if (!hosts.includes(host) || !(protocol === "https:" || (protocol === "http:" && isLoopback))) return undefined;
  const { namespace, limits, fetch } = config;
  return () => fetchDocument(url, { namespace, limits, fetch, timeout });
}
