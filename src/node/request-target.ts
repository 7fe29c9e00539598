import type { IncomingMessage } from "node:http";
import { parseHost, readRawHeader } from "../serve/headers.ts";

/** Where a request goes. */
export interface RequestTarget {
  /** The host and its port, as in a URL. */
  readonly host: string;
  /** The path, normalised as by `URL`. */
  readonly path: string;
  /** The query without its question mark. */
  readonly query: string;
}

/** Maximum number of headers of a request. More are refused: Node would ignore those after the 2,000th. */
const maxHeaders = 200;

/** What most hosts are. Parsing one as a URL would be a large part of the cost of a request. */
const commonHost = /^[a-z\d.-]+(?::[1-5]?\d{1,4})?$/;
/** What `URL` changes in a path or query. */
const changedByURL = /\/\.|%2e|[\\#"'<>`{}|^\s]|[^!-~]/i;

/** Why a request is refused before a server receives it. */
export interface Refusal {
  readonly status: number;
  readonly reason: string;
}

/**
 * Reads where a request goes. Refuses what a proxy in front of this server may have understood differently (RFC 9112,
 * sections 3.2 and 6.1).
 */
export function readTarget({ rawHeaders, httpVersion }: IncomingMessage, url: string): RequestTarget | Refusal {
  if (rawHeaders.length > 2 * maxHeaders) {
    return { status: 431, reason: `The request has more than ${maxHeaders} headers.` };
  }
  const given = readRawHeader(rawHeaders, "host"); // Not from `headers`: Node creates that object when it is read.
  if (given?.includes(",")) return malformed("The request has more than one Host header.");
  const encoding = readRawHeader(rawHeaders, "transfer-encoding");
  if (encoding !== null && (encoding.toLowerCase() !== "chunked" || httpVersion === "1.0")) {
    return malformed("The request has a Transfer-Encoding that is not supported. Use chunked, with HTTP/1.1.");
  }
  const host = given === null || commonHost.test(given) ? given : parseHost(given)?.host;
  if (host === null || host === undefined) return malformed(malformedTarget);
  if (url.startsWith("/") && !changedByURL.test(url)) {
    const mark = url.indexOf("?");
    return mark === -1
      ? { host, path: url, query: "" }
      : { host, path: url.slice(0, mark), query: url.slice(mark + 1) };
  }
  const absolute = url.startsWith("/") ? `http://${host}${url}` : url;
  if (!URL.canParse(absolute)) return malformed(malformedTarget);
  const { host: named, pathname, search } = new URL(absolute);
  if (absolute === url && named !== parseHost(host)?.host) {
    return malformed("The request has a URL and a Host header of different hosts.");
  }
  return { host, path: pathname, query: search.slice(1) };
}

const malformedTarget = "The URL or the Host header of the request is malformed.";

function malformed(reason: string): Refusal {
  return { status: 400, reason };
}
