import type { CORSOptions } from "./server.ts";

const allowedMethods = "GET, HEAD, POST, PUT, PATCH, DELETE";

/** Returns the origins of web pages that may send requests. */
export function readOrigins(cors: CORSOptions | undefined): ReadonlySet<string> {
  if (cors === undefined) return new Set();
  if (!Array.isArray(cors.origins)) {
    throw new TypeError('cors needs a list of origins, such as { origins: ["https://app.example.com"] }.');
  }
  for (const origin of cors.origins as unknown[]) {
    if (typeof origin === "string" && parseOrigin(origin)?.origin === origin) continue;
    throw new TypeError(
      `cors.origins contains ${JSON.stringify(origin)}, which is not an origin. List each origin as browsers send it, such as "https://app.example.com".`,
    );
  }
  return new Set(cors.origins);
}

/** Returns the headers of the response to a preflight of an allowed origin. */
export function toPreflightHeaders(origin: string, requested: string | null): Record<string, string> {
  return {
    "access-control-allow-origin": origin,
    "access-control-allow-methods": allowedMethods,
    "access-control-allow-headers": requested ?? "",
    "access-control-max-age": "600", // seconds
    vary: "origin, access-control-request-headers",
  };
}

/** Returns whether a browser sent a request for a page of another origin than that of `host`. */
export function isForeignPage(origin: string | null, site: string | null, host: string): boolean {
  // Pages cannot set this header, so `same-origin` is reliable even if a proxy changed the host.
  if (site === "same-origin") return false;
  if (site !== null && site !== "none") return true;
  if (origin === null) return false;
  const page = parseOrigin(origin);
  return page === undefined || page.host !== parseHost(host, page.protocol as "http:")?.host;
}

/** Parses a `Host` header or the host of a URL, for the scheme of an origin. Returns `undefined` if it is malformed. */
export function parseHost(host: string, scheme: "http:" | "https:" = "http:"): URL | undefined {
  return parseOrigin(`${scheme}//${host}`);
}

/** Parses an `Origin` header of a web page. Returns `undefined` if it is malformed, or not an `http:` or `https:` origin. */
export function parseOrigin(origin: string): URL | undefined {
  if (!URL.canParse(origin)) return undefined;
  const url = new URL(origin);
  const { protocol, pathname, search, hash, username, password } = url;
  const isBare = pathname === "/" && search === "" && hash === "" && username === "" && password === "";
  return isBare && (protocol === "http:" || protocol === "https:") ? url : undefined;
}
