/** The headers of a request of Node, read as `Headers` does: names are case-insensitive, and repeated headers are joined. */
export class RawHeaders implements Pick<Headers, "get" | "has"> {
  /** Names and values alternate. Of some repeated headers, the `headers` of Node have only the first. */
  readonly raw: readonly string[];

  constructor(raw: readonly string[]) {
    this.raw = raw;
  }

  get(wanted: string): string | null {
    const { raw } = this;
    let found: string | null = null;
    for (let index = 0; index < raw.length; index += 2) {
      const sent = raw[index]!;
      // Servers look for headers that most requests do not have, so names of another length are skipped first.
      if (sent.length !== wanted.length || (sent !== wanted && sent.toLowerCase() !== wanted.toLowerCase())) continue;
      const value = raw[index + 1]!.trim();
      found = found === null ? value : found + (sent.toLowerCase() === "cookie" ? "; " : ", ") + value;
    }
    return found;
  }

  has(wanted: string): boolean {
    return this.get(wanted) !== null;
  }
}

/**
 * Returns the token of an `Authorization: Bearer` header; `undefined` for another scheme, and `null` when the token is
 * missing or malformed, or the header is repeated.
 */
export function parseBearer(authorization: string): string | null | undefined {
  if (/^bearer +[^\s,]+$/i.test(authorization)) return authorization.slice(authorization.lastIndexOf(" ") + 1);
  // A repeated header is joined with commas, which tokens do not contain (RFC 6750, section 2.1).
  return /(?:^|,)\s*bearer(?:[\s,]|$)/i.test(authorization) ? null : undefined;
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

/** Returns the last element of a header with a list: the one that the nearest proxy added. */
export function lastListItem(value: string | null): string | undefined {
  return value?.slice(value.lastIndexOf(",") + 1).trim() || undefined;
}
