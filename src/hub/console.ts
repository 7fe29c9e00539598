import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { readBoundedBytes } from "../from/read-bounded.ts";
import { BoundedMap } from "../internal/bounded.ts";
import { isLoopbackHost } from "../internal/urls.ts";
import { type AuthenticatedIdentity, CallError } from "../operation/index.ts";
import type { Authenticator, Credentials } from "../serve/authenticator.ts";
import { isForeignPage, parseHost } from "../serve/cross-origin.ts";
import { type Exchange, respondWith } from "../serve/exchange.ts";
import { parseBearer } from "../serve/gate.ts";
import { HTTPError } from "../serve/refusals.ts";
import type { FetchServer } from "../serve/server.ts";
import type { ConsoleSessions, CurrentIdentity, OpenedSession } from "./console-sessions.ts";

/** Refused sign-ins of an address in a minute; further ones receive 429. */
const maxRefused = 20;
const minuteMs = 60_000;

/** Where the built page is from this module: from the library, from the command, and from the sources. */
const places = ["../console/", "../../console/", "../../dist/console/"];

/** Returns the folder of the built page; `undefined` if it was not built. */
export function findConsole(): string | undefined {
  const folders = places.map((place) => fileURLToPath(new URL(place, import.meta.url)));
  return folders.find((folder) => existsSync(join(folder, licenses)));
}

/** It is in the built page only. */
const licenses = "LICENSES.txt";
const maxAddresses = 10_000;
const maxBodyBytes = 4_096;

const types: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  txt: "text/plain; charset=utf-8",
};

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob:",
  "media-src blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const securityHeaders = {
  "content-security-policy": policy,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), microphone=(), geolocation=()",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/** What the console needs of its hub. */
export interface ConsoleOptions {
  /** The folder with the built page. Without it, the server cannot start. */
  readonly folder: string | undefined;
  readonly sessions: ConsoleSessions;
  /** Identifies the callers of the hub. */
  readonly authenticate: Authenticator["authenticate"];
  /** Whether only hosts such as `localhost` are answered, because the hub listens on this machine only. */
  readonly isLocal: boolean;
}

interface File {
  readonly bytes: Uint8Array;
  readonly zipped: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

/** Serves the page of the console, and signs people in to it. Its files contain no data, so everyone may read them. */
export class ConsoleServer implements FetchServer {
  readonly isUnauthenticated = false;
  readonly #options: ConsoleOptions;
  readonly #refused = new BoundedMap<string, { count: number; since: number }>(maxAddresses);
  #files: Promise<ReadonlyMap<string, File>> | undefined = undefined;

  constructor(options: ConsoleOptions) {
    this.#options = options;
  }

  readonly fetch: FetchServer["fetch"] = (request, info) =>
    respondWith((exchange) => this.handle(exchange), request, info);

  async handle(exchange: Exchange): Promise<void> {
    try {
      await this.#route(exchange);
    } catch (error) {
      if (!(error instanceof HTTPError)) throw error;
      replyError(exchange, error.status, error.error.message, error.headers);
    }
  }

  /** Rejects if the page was not built. */
  async ready(): Promise<void> {
    await this.#load();
  }

  async close(): Promise<void> {
    this.#options.sessions.closeAll();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #route(exchange: Exchange): Promise<void> {
    const { path, method, headers, basePath = "" } = exchange;
    const place = path.slice(basePath.length);
    const host = headers.get("host") ?? "";
    if (this.#options.isLocal && !isLoopbackHost(parseHost(host)?.hostname ?? "")) {
      return replyError(
        exchange,
        403,
        "This hub answers only requests of its own machine, to a host such as localhost.",
      );
    }
    if (place === "/session" || place === "/codes") return this.#signIn(exchange, place, host);
    if (method !== "GET" && method !== "HEAD") return replyError(exchange, 405, "Use GET.", { allow: "GET, HEAD" });
    // A link to the page may be anywhere. Its files, and what it sends, stay its own.
    if (place === "") return exchange.reply(308, { ...securityHeaders, location: `${basePath}/` });
    if (place !== "/" && isForeign(exchange, host))
      return replyError(exchange, 403, "This file belongs to the console.");
    const file = (await this.#load()).get(place === "/" ? "index.html" : place.slice(1));
    if (file === undefined) return replyError(exchange, 404, "The console has no such file.");
    if (!/\bgzip\b/.test(headers.get("accept-encoding") ?? "")) return exchange.reply(200, file.headers, file.bytes);
    exchange.reply(200, { ...file.headers, "content-encoding": "gzip" }, file.zipped);
  }

  /** Opens and ends sessions, and creates codes for links. These are not operations, because models would get them as tools. */
  async #signIn(exchange: Exchange, place: "/session" | "/codes", host: string): Promise<void> {
    const { method, headers, remoteAddress = "" } = exchange;
    const { sessions } = this.#options;
    if (isForeign(exchange, host)) return replyError(exchange, 403, "Only the page of this hub may sign in.");
    const token = parseBearer(headers.get("authorization") ?? "") ?? undefined;
    if (method === "DELETE" && place === "/session") {
      if (token !== undefined) sessions.close(token);
      return exchange.reply(204, securityHeaders);
    }
    if (method !== "POST")
      return replyError(exchange, 405, "Use POST.", { allow: place === "/session" ? "POST, DELETE" : "POST" });
    if (this.#isBlocked(remoteAddress)) {
      return replyError(exchange, 429, "Too many attempts from this address. Try again in a minute.", {
        "retry-after": "60",
      });
    }
    const code = readCode(await exchange.bytes(maxBodyBytes));
    const current = token === undefined ? undefined : await this.#identityOf({ headers, token, remoteAddress });
    let opened: OpenedSession | { code: string } | undefined;
    if (place === "/codes") opened = current && { code: sessions.createCode(current) };
    else if (headers.get("sec-fetch-site") !== "same-origin") {
      return replyError(exchange, 403, "Open the console in a browser, on this machine or over HTTPS.");
    } else if (code !== undefined) opened = await sessions.exchange(code);
    else opened = current && (await sessions.open(current));
    if (opened !== undefined) return replyJSON(exchange, 200, opened);
    this.#countRefusal(remoteAddress);
    replyError(exchange, 401, "The token or the code is not accepted.", { "www-authenticate": "Bearer" });
  }

  /** Returns a function that authenticates the same credentials again; `undefined` if they are refused. */
  async #identityOf(credentials: Credentials): Promise<CurrentIdentity | undefined> {
    const current = async (): Promise<AuthenticatedIdentity | undefined> => this.#options.authenticate(credentials);
    try {
      return (await current()) === undefined ? undefined : current;
    } catch {
      return undefined;
    }
  }

  #isBlocked(address: string): boolean {
    const { count, since } = this.#refused.get(address) ?? { count: 0, since: 0 };
    return count >= maxRefused && Date.now() - since < minuteMs;
  }

  #countRefusal(address: string): void {
    const known = this.#refused.get(address);
    const isRecent = known !== undefined && Date.now() - known.since < minuteMs;
    this.#refused.set(address, isRecent ? { ...known, count: known.count + 1 } : { count: 1, since: Date.now() });
  }

  #load(): Promise<ReadonlyMap<string, File>> {
    this.#files ??= loadFiles(this.#options.folder);
    return this.#files;
  }
}

/** Reads and compresses every file of the page once. */
async function loadFiles(folder: string | undefined): Promise<ReadonlyMap<string, File>> {
  if (folder === undefined)
    throw new CallError("UNAVAILABLE", "The page of the console was not built. Run npm run build.");
  const names = await readdir(folder);
  const files = names.map(async (name): Promise<[string, File]> => {
    const bytes = readBoundedBytes(join(folder, name));
    const isPage = name === "index.html" || name === licenses;
    const headers = {
      ...securityHeaders,
      "content-type": types[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream",
      "cache-control": isPage ? "no-cache" : "public, max-age=31536000, immutable",
      vary: "accept-encoding",
    };
    return [name, { bytes, zipped: await promisify(gzip)(bytes), headers }];
  });
  return new Map(await Promise.all(files));
}

function isForeign({ headers }: Exchange, host: string): boolean {
  const origin = headers.get("origin");
  const site = headers.get("sec-fetch-site");
  return (origin ?? site) !== null && isForeignPage(origin, site, host);
}

function readCode(body: Uint8Array): string | undefined {
  try {
    const { code }: { code?: unknown } = JSON.parse(new TextDecoder().decode(body));
    return typeof code === "string" ? code : undefined;
  } catch {
    return undefined;
  }
}

function replyJSON(exchange: Exchange, status: number, body: unknown): void {
  const headers = { ...securityHeaders, "content-type": "application/json", "cache-control": "no-store" };
  exchange.reply(status, headers, JSON.stringify(body));
}

function replyError(exchange: Exchange, status: number, detail: string, headers: Record<string, string> = {}): void {
  const fixed = { ...securityHeaders, "content-type": "application/problem+json", "cache-control": "no-store" };
  exchange.reply(status, { ...fixed, ...headers }, JSON.stringify({ status, detail }));
}
