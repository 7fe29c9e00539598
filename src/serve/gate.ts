import { lastListItem, parseBearer, parseHost, parseOrigin } from "../internal/http.ts";
import { isLoopbackHost } from "../internal/urls.ts";
import { waitFor } from "../internal/wait.ts";
import { type CallError, expiryOf, type Identity, toIdentity, unavailable } from "../operation/index.ts";
import {
  type Authenticator,
  type AuthenticatorDescription,
  bearerDescription,
  type Credentials,
  type IdentifyCaller,
} from "./authenticator.ts";
import { type CredentialEnd, CredentialWatches } from "./credential-watches.ts";
import { CrossOriginRules } from "./cross-origin.ts";
import { foreignHost, foreignPage, malformedToken, toDenial, toPublicError } from "./refusals.ts";
import type { FetchInfo, ServeOptions } from "./server.ts";

/** Maximum duration of `authenticate`, in ms. */
const authenticateTimeoutMs = 10_000;

/** The part of a request that a gate reads. A `Request` has it, and so has the adapter for WebSocket handshakes. */
export interface GateRequest {
  /** Method, in upper case. */
  readonly method: string;
  /** The absolute URL. It is used only when the `Host` header is missing. */
  readonly url: string;
  /** The headers. Repeated ones are joined with a comma. */
  readonly headers: Pick<Headers, "get" | "has">;
  /** A token that was sent without a header, by a browser that opens a WebSocket. */
  readonly token?: string | undefined;
}

/** A request that may continue, and its sender. */
export interface Caller {
  readonly kind: "caller";
  /** A frozen snapshot; `undefined` for an anonymous caller. */
  readonly identity: Identity | undefined;
  /** When the credentials expire, in ms since the epoch; `Infinity` if they do not. */
  readonly expiresAt: number;
  /** The credentials, with which open streams are authenticated again. */
  readonly credentials: Credentials;
  /** Headers that the response must have; `undefined` without CORS. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  /** Number of changes of the authenticator before the caller was authenticated. */
  readonly changes: number;
}

/** A request that must not continue. The server writes the error in its own format. */
export interface GateRefusal {
  readonly kind: "refusal";
  /** Status of the HTTP response. */
  readonly status: 401 | 403 | 503;
  /** Code and message for the caller. It contains no secrets. */
  readonly error: CallError;
  /** Headers that the response must have, such as `www-authenticate`. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A CORS preflight of an allowed origin, to which the server replies with 204 and these headers. */
export interface Preflight {
  readonly kind: "preflight";
  readonly headers: Readonly<Record<string, string>>;
}

/** The result of a gate. */
export type Admission = Caller | GateRefusal | Preflight;

/** Options of a gate, which servers pass on. */
export type GateOptions = Pick<ServeOptions, "authenticate" | "allowPublic" | "cors" | "trustProxy">;

/** What a server adds to its gate. */
export interface GateSettings {
  /** Names of the response headers that web pages of allowed origins may read. */
  exposedHeaders?: readonly string[] | undefined;
  /** Returns further parameters of `WWW-Authenticate`, such as `resource_metadata="https://…"`. */
  challengeParameters?(request: GateRequest, info: FetchInfo | undefined): string;
}

/** A request whose sender is being identified. */
interface Attempt {
  readonly request: GateRequest;
  readonly info: FetchInfo | undefined;
  readonly credentials: Credentials;
  readonly headers: Caller["headers"];
  readonly changes: number;
}

/**
 * Decides whether a request may continue, and identifies its sender. The same for HTTP, MCP and WebSocket. Synchronous
 * unless `authenticate` returns a promise.
 */
export class Gate {
  /** The security schemes of the authenticator; without schemes for `"none"`. */
  readonly description: Readonly<AuthenticatorDescription>;
  /** Value of `Vary` for responses that depend on the caller or on its origin; `""` if none do. */
  readonly vary: string;
  /** Whether requests are answered without authentication, on this machine only. */
  readonly isUnauthenticated: boolean;
  readonly #authenticator: Authenticator | undefined;
  readonly #allowPublic: boolean;
  readonly #trustProxy: boolean;
  readonly #crossOrigin: CrossOriginRules;
  readonly #settings: GateSettings;
  readonly #watches: CredentialWatches;
  /** The last `Host` that was accepted without authentication. */
  #lastLocalHost: string | undefined = undefined;

  constructor(options: GateOptions, settings: GateSettings = {}) {
    this.#authenticator = resolveAuthenticator(options?.authenticate);
    this.#allowPublic = options.allowPublic === true;
    this.#trustProxy = options.trustProxy === true;
    this.#crossOrigin = new CrossOriginRules(options.cors, settings.exposedHeaders);
    this.#settings = settings;
    this.#watches = new CredentialWatches(this.#authenticator, (caller) => this.#isStillValid(caller));
    const authenticator = this.#authenticator;
    this.description =
      authenticator === undefined
        ? { securitySchemes: {}, headers: [] }
        : (authenticator.describe?.() ?? bearerDescription);
    this.vary = [...this.description.headers, ...(options.cors === undefined ? [] : ["origin"])].join(", ");
    this.isUnauthenticated = authenticator === undefined && !this.#allowPublic;
  }

  /** Checks a request. Never throws and never rejects. */
  readonly check = (request: GateRequest, info?: FetchInfo): Admission | Promise<Admission> => {
    const headers = info?.headers ?? request.headers;
    if (this.isUnauthenticated && info?.allowPublic !== true && !this.#isForThisMachine(request)) return foreignHost();
    const origin = headers.get("origin");
    const site = headers.get("sec-fetch-site");
    let corsHeaders: Readonly<Record<string, string>> | undefined;
    if (origin !== null || site !== null) {
      if (this.#crossOrigin.allows(origin)) {
        const preflight = this.#crossOrigin.toPreflight(request);
        if (preflight !== undefined) return { kind: "preflight", headers: preflight };
        corsHeaders = this.#crossOrigin.toHeaders(origin!);
      } else if (this.#isForeign(request, origin, site)) return foreignPage();
    }
    return this.#identify(request, info, headers, corsHeaders);
  };

  /**
   * Calls `end` once when the credentials of a caller expire or are no longer accepted, until the returned function is
   * called. Use it for every stream, session and connection. An anonymous caller is not watched.
   */
  watch(caller: Caller, end: (reason: CredentialEnd) => void): () => void {
    return this.#watches.add(caller, end);
  }

  /** Returns the value of `WWW-Authenticate` for a response with 401. `error` is a code of RFC 6750. */
  challenge(request: GateRequest, info: FetchInfo | undefined, error?: "invalid_token"): string {
    const schemes = Object.values(this.description.securitySchemes);
    const [first] = schemes;
    const isBearer = first === undefined || schemes.some(({ type }) => type === "http");
    const parameters = isBearer || first.type === "http" ? [] : [`header="${first.name}"`];
    if (error !== undefined && isBearer) parameters.push(`error="${error}"`);
    const added = this.#settings.challengeParameters?.(request, info) ?? "";
    if (added !== "") parameters.push(added);
    return `${isBearer ? "Bearer" : "ApiKey"}${parameters.length === 0 ? "" : ` ${parameters.join(", ")}`}`;
  }

  /** Returns the origin at which clients reach the server, such as `https://api.example.com`; with `trustProxy` that of the proxy. */
  publicOrigin(request: GateRequest): string | undefined {
    const forwarded = this.#trustProxy ? lastListItem(request.headers.get("x-forwarded-proto")) : undefined;
    const scheme = forwarded ?? (request.url.startsWith("https:") ? "https" : "http");
    return parseHost(this.#publicHost(request), scheme === "https" ? "https:" : "http:")?.origin;
  }

  /** Stops watching credentials. */
  close(): void {
    this.#watches.close();
  }

  #isForThisMachine(request: GateRequest): boolean {
    const [host, publicHost] = [ownHost(request), this.#publicHost(request)];
    if (host === this.#lastLocalHost && publicHost === host) return true;
    const isLocal = [host, publicHost].every((name) => isLoopbackHost(parseHost(name)?.hostname ?? ""));
    if (isLocal) this.#lastLocalHost = host;
    return isLocal;
  }

  #publicHost(request: GateRequest): string {
    const forwarded = this.#trustProxy ? lastListItem(request.headers.get("x-forwarded-host")) : undefined;
    return forwarded ?? ownHost(request);
  }

  /** Returns whether a browser sent the request for a page of another origin. */
  #isForeign(request: GateRequest, origin: string | null, site: string | null): boolean {
    // Pages cannot set this header, so `same-origin` is reliable even if a proxy changed the host.
    if (site === "same-origin") return false;
    if (site !== null && site !== "none") return true;
    if (origin === null) return false;
    const page = parseOrigin(origin);
    return page === undefined || page.host !== parseHost(this.#publicHost(request), page.protocol as "http:")?.host;
  }

  #identify(
    request: GateRequest,
    info: FetchInfo | undefined,
    sent: GateRequest["headers"],
    headers: Caller["headers"],
  ): Admission | Promise<Admission> {
    const authorization = sent.get("authorization");
    const bearer = authorization === null ? undefined : parseBearer(authorization);
    const token = bearer === undefined ? request.token : bearer;
    const remoteAddress = this.#remoteAddress(request, info);
    const credentials: Credentials = { headers: sent, token: token ?? undefined, remoteAddress };
    const attempt: Attempt = { request, info, credentials, headers, changes: this.#watches.changes };
    if (this.#authenticator === undefined) return toCaller(attempt, undefined, Number.POSITIVE_INFINITY);
    if (token === null || token === "") return this.#refuse(attempt, malformedToken());
    try {
      const result = this.#authenticator.authenticate(credentials);
      if (!isThenable(result)) return this.#admit(attempt, result);
      return withTimeLimit(result).then(
        (identity) => this.#admit(attempt, identity),
        (error) => this.#refuse(attempt, toPublicError(error, credentials)),
      );
    } catch (error) {
      return this.#refuse(attempt, toPublicError(error, credentials));
    }
  }

  /** Converts the result of `authenticate`. */
  #admit(attempt: Attempt, result: unknown): Admission {
    const expiresAt = expiryOf(result);
    if (result === undefined && !this.#hasCredentials(attempt.request)) return toCaller(attempt, undefined, expiresAt);
    const identity = expiresAt <= Date.now() ? undefined : toIdentity(result);
    if (identity !== undefined) return toCaller(attempt, identity, expiresAt);
    return this.#refuse(attempt, toDenial(result, expiresAt));
  }

  /** Returns whether a request contains credentials, also of a scheme that the authenticator does not know. */
  #hasCredentials({ headers, token }: GateRequest): boolean {
    if (token !== undefined || headers.has("authorization")) return true;
    return this.description.headers.some((name) => headers.has(name));
  }

  #remoteAddress(request: GateRequest, info: FetchInfo | undefined): string | undefined {
    const forwarded = this.#trustProxy ? lastListItem(request.headers.get("x-forwarded-for")) : undefined;
    return forwarded ?? info?.remoteAddress;
  }

  #refuse({ request, info, headers: corsHeaders }: Attempt, error: CallError): GateRefusal {
    if (error.code === "UNAVAILABLE") return { kind: "refusal", status: 503, error, headers: { ...corsHeaders } };
    const headers = { ...corsHeaders, "www-authenticate": this.challenge(request, info, "invalid_token") };
    return { kind: "refusal", status: 401, error, headers };
  }

  /** Authenticates the sender of an open stream again. */
  async #isStillValid({ credentials, identity }: Caller): Promise<boolean> {
    try {
      const result = await withTimeLimit(Promise.resolve(this.#authenticator?.authenticate(credentials)));
      return expiryOf(result) > Date.now() && JSON.stringify(toIdentity(result)) === JSON.stringify(identity);
    } catch {
      return false;
    }
  }
}

function resolveAuthenticator(given: ServeOptions["authenticate"] | undefined): Authenticator | undefined {
  if (given === "none") return undefined;
  if (typeof given === "function") return { authenticate: given satisfies IdentifyCaller };
  if (typeof given === "object" && given !== null && typeof given.authenticate === "function") return given;
  throw new TypeError(
    'The option authenticate is missing or invalid. Pass an authenticator of @alkdev/operations/auth, a function, or "none".',
  );
}

function toCaller(
  { credentials, headers, changes }: Attempt,
  identity: Identity | undefined,
  expiresAt: number,
): Caller {
  return { kind: "caller", identity, expiresAt, credentials, headers, changes };
}

function ownHost({ headers, url }: GateRequest): string {
  const host = headers.get("host");
  if (host !== null) return host;
  return URL.canParse(url) ? new URL(url).host : "";
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}

function withTimeLimit(result: PromiseLike<unknown>): Promise<unknown> {
  const toError = () =>
    unavailable(`The credentials could not be checked within ${authenticateTimeoutMs} ms. Try again later.`, {
      mayHaveRun: false,
    });
  return waitFor(Promise.resolve(result), { timeout: authenticateTimeoutMs }, toError);
}
