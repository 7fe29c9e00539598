import { getOwn } from "../../internal/objects.ts";
import { quote } from "../../internal/text.ts";
import { withoutTrailingSlashes } from "../../internal/urls.ts";
import type { HTTPServiceConfig } from "./config.ts";
import type { Warn } from "./endpoint.ts";
import { assertTexts, badConfig } from "./errors.ts";
import { ownObject, ownString, ownStrings } from "./values.ts";

/** The base URL of an endpoint, or the reason why its requests cannot be sent. */
export type BaseUrl = { url: string; reason?: undefined } | { url?: undefined; reason: string };

/**
 * Returns the base URL of an endpoint: `config.baseUrl`, or its first server. A document cannot direct credentials to
 * another origin: without `baseUrl` they are only sent to the origin of the document and to `allowedOrigins`.
 */
export function resolveBaseUrl(servers: unknown[], config: HTTPServiceConfig, pointer: string, warn: Warn): BaseUrl {
  if (config.baseUrl !== undefined) return { url: readConfigured(config.baseUrl) };
  const server = servers[0] ?? { url: "/" };
  const template = ownString(server, "url") ?? "/";
  const filled = fillVariables(template, server, config.serverVariables ?? {}, pointer, warn);
  // A document without a URL can declare `//host`. Use https in this case.
  const fetched = config.documentUrl?.startsWith("file:") ? undefined : config.documentUrl;
  const base = fetched ?? (filled.startsWith("//") ? "https://unknown.invalid/" : undefined);
  if (!URL.canParse(filled, base)) {
    return { reason: `The server ${quote(filled)} is relative and the document has no URL. Set baseUrl.` };
  }
  const url = new URL(filled, base);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return { reason: `The server ${quote(filled)} does not use http or https.` };
  }
  if (url.username !== "" || url.password !== "") return { reason: "The server's URL contains credentials." };
  if (!mayGetCredentials(url, config)) {
    return {
      reason: `The server ${url.origin} has another origin than the document, and credentials are configured. Set baseUrl, or add the origin to allowedOrigins.`,
    };
  }
  if (url.search !== "") warn(pointer, "The query of the server's URL is ignored.");
  return { url: withoutTrailingSlash(url) };
}

function readConfigured(baseUrl: string): string {
  if (!URL.canParse(baseUrl)) throw badConfig(`baseUrl must be an absolute URL, such as "https://api.example.com/v1".`);
  const url = new URL(baseUrl);
  if (url.protocol !== "http:" && url.protocol !== "https:") throw badConfig("baseUrl must use http or https.");
  if (url.username !== "" || url.password !== "") throw badConfig("baseUrl must not contain credentials. Use auth.");
  if (url.search !== "") throw badConfig("baseUrl must not have a query. Pass parameters with each call.");
  return withoutTrailingSlash(url);
}

function mayGetCredentials(url: URL, config: HTTPServiceConfig): boolean {
  if (config.auth === undefined && config.headers === undefined) return true;
  assertTexts(config.allowedOrigins, "allowedOrigins");
  if (originOf(config.documentUrl) === url.origin) return true;
  return (config.allowedOrigins ?? []).some((origin) => URL.canParse(origin) && new URL(origin).origin === url.origin);
}

/** Returns the origin of an HTTP URL. Files do not have one. */
function originOf(url: string | undefined): string | undefined {
  return url !== undefined && URL.canParse(url) && /^https?:/.test(new URL(url).protocol)
    ? new URL(url).origin
    : undefined;
}

function fillVariables(
  template: string,
  server: unknown,
  given: Record<string, string>,
  pointer: string,
  warn: Warn,
): string {
  return template.replaceAll(/\{([^{}]*)\}/g, (whole, name: string) => {
    const variable = ownObject(ownObject(server, "variables"), name);
    const value = getOwn(given, name) ?? getOwn(variable, "default");
    if (value === undefined || value === null) {
      warn(pointer, `The server variable ${quote(name)} has no value. Set it in serverVariables.`);
      return whole;
    }
    const allowed = ownStrings(variable, "enum");
    if (allowed.length > 0 && !allowed.includes(String(value))) {
      warn(pointer, `The server variable ${quote(name)} does not allow the value in serverVariables.`);
    }
    return String(value);
  });
}

function withoutTrailingSlash(url: URL): string {
  return `${url.origin}${withoutTrailingSlashes(url.pathname)}`;
}
