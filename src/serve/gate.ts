import { logger, warnVisibly } from "../internal/log.ts";
import { redact } from "../internal/secrets.ts";
import { isLoopbackHost } from "../internal/urls.ts";
import { waitFor } from "../internal/wait.ts";
import {
  CallError,
  expiryOf,
  type Identity,
  isCallError,
  mapError,
  toIdentity,
  unavailable,
} from "../operation/inside.ts";
import {
  type Authenticator,
  type AuthenticatorDescription,
  bearerDescription,
  type Credentials,
} from "./authenticator.ts";
import { type CredentialEnd, CredentialWatches } from "./credential-watches.ts";
import { isForeignPage, parseHost, readOrigins, toPreflightHeaders } from "./cross-origin.ts";
import { denied, foreignPage, HTTPError, notLocal } from "./refusals.ts";
import type { ServeOptions } from "./server.ts";

const log = logger("serve");

/** Maximum duration of `authenticate`, in ms. */
const authenticateTimeoutMs = 10_000;

/** The part of a request that a gate reads: of an HTTP exchange, or of the handshake of a WebSocket. */
export interface GateRequest {
  /** Method, in upper case. */
  readonly method: string;
  /** The absolute URL. It is used only when the `Host` header is missing. */
  readonly url: string;
  /** The headers. Repeated ones are joined with a comma. */
  readonly headers: HeaderReader;
  /** A token that was sent without a header, by a browser that opens a WebSocket. */
  readonly token?: string | undefined;
  /** Address of the connection, if the host knows it. */
  readonly remoteAddress?: string | undefined;
  /** Whether the operator allowed public access without authentication. @default false */
  readonly allowPublic?: boolean | undefined;
}

type HeaderReader = Credentials["headers"];

/** A request that may continue, and its sender. */
export interface Caller {
  readonly kind: "caller";
  /** A frozen snapshot; `undefined` for an anonymous caller. */
  readonly identity: Identity | undefined;
  /** Whose share of the limits of a server the request uses: the id of the identity, or the address of an anonymous caller. */
  readonly owner: string;
  /** When the credentials expire, in ms since the epoch; `Infinity` if they do not. */
  readonly expiresAt: number;
  /** The credentials, with which open streams are authenticated again. */
  readonly credentials: Credentials;
  /** Headers that the response must have; `undefined` without CORS. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** A CORS preflight of an allowed origin, to which the server replies with 204 and these headers. */
export interface Preflight {
  readonly kind: "preflight";
  readonly headers: Readonly<Record<string, string>>;
}

/** The result of a gate. A request with an `HTTPError` must not continue. */
export type Admission = Caller | HTTPError | Preflight;

/** Options of a gate, which servers pass on. */
export type GateOptions = Pick<ServeOptions, "authenticate" | "allowAnonymous" | "cors" | "trustProxy">;

/** Decides whether a request may continue, and identifies its sender. The same for HTTP, MCP and WebSocket. */
export class Gate {
  /** The security schemes of the authenticator; without schemes for `"none"`. */
  readonly description: Readonly<AuthenticatorDescription>;
  /** Value of `Vary` for responses that depend on the caller or on its origin; `""` if none do. */
  readonly vary: string;
  /** Whether requests are answered without authentication, on this machine only. */
  readonly isUnauthenticated: boolean;
  /** Whether callers without credentials may call operations that require no rights. */
  readonly allowsAnonymous: boolean;
  /** Absent for `"none"`. */
  readonly #authenticator: Authenticator | undefined;
  readonly #watches: CredentialWatches;
  readonly #trustProxy: boolean;
  readonly #origins: ReadonlySet<string>;
  readonly #exposedHeaders: string;

  /** @param exposedHeaders - names of the response headers that web pages of allowed origins may read */
  constructor(options: GateOptions, exposedHeaders: readonly string[] = []) {
    const authenticator = resolveAuthenticator(options?.authenticate);
    this.#authenticator = authenticator;
    this.#watches = new CredentialWatches(authenticator, (credentials) => this.#identify(credentials));
    this.isUnauthenticated = authenticator === undefined;
    this.allowsAnonymous = authenticator === undefined || options.allowAnonymous === true;
    this.#trustProxy = options.trustProxy === true;
    this.#origins = readOrigins(options.cors);
    this.#exposedHeaders = exposedHeaders.join(", ");
    this.description = authenticator === undefined ? noCredentials : (authenticator.describe?.() ?? bearerDescription);
    this.vary = [...this.description.headers, ...(options.cors === undefined ? [] : ["origin"])].join(", ");
  }

  /** Rejects if the authenticator can never accept anyone. */
  async ready(): Promise<void> {
    await this.#authenticator?.ready?.();
  }

  /** Checks a request. Never rejects. */
  readonly check = async (request: GateRequest): Promise<Admission> => {
    const { method, headers } = request;
    if (this.isUnauthenticated && request.allowPublic !== true && !this.#isLocal(request)) return notLocal();

    const origin = headers.get("origin");
    const site = headers.get("sec-fetch-site");
    let corsHeaders: Caller["headers"];
    if (origin === null || !this.#origins.has(origin)) {
      const isForeign =
        (origin ?? site) !== null && isForeignPage(origin, site, this.#publicHost(headers, request.url));
      if (isForeign) return foreignPage();
    } else if (method === "OPTIONS" && headers.has("access-control-request-method")) {
      const requested = headers.get("access-control-request-headers");
      return { kind: "preflight", headers: toPreflightHeaders(origin, requested) };
    } else {
      const exposed = this.#exposedHeaders;
      corsHeaders = { "access-control-allow-origin": origin, "access-control-expose-headers": exposed };
    }

    const authorization = headers.get("authorization");
    const bearer = authorization === null ? undefined : parseBearer(authorization);
    const token = bearer === undefined ? request.token : bearer;
    const forwarded = this.#trustProxy ? this.#forwarded(headers, "for") : undefined;
    const credentials = { headers, token: token ?? undefined, remoteAddress: forwarded ?? request.remoteAddress };
    try {
      if (!this.isUnauthenticated && (token === null || token === "")) throw malformedToken();
      const caller = await this.#identify(credentials);
      if (caller.identity === undefined && !this.allowsAnonymous) {
        return new HTTPError(401, denied(missingCredentials), corsHeaders);
      }
      return corsHeaders === undefined ? caller : { ...caller, headers: corsHeaders };
    } catch (thrown) {
      const error = mapError(thrown);
      if (error.code === "UNAVAILABLE") return new HTTPError(503, error, corsHeaders);
      return new HTTPError(401, error, { ...corsHeaders, "www-authenticate": this.challenge([invalidToken]) });
    }
  };

  /**
   * Calls `end` once when the credentials of a caller expire, are no longer accepted or have fewer rights, until the
   * returned function is called. Use it for every stream, session and connection. An anonymous caller is not watched.
   */
  watch(caller: Caller, end: (reason: CredentialEnd) => void): () => void {
    return this.#watches.watch(caller, end);
  }

  /** Returns the value of `WWW-Authenticate` for a response with 401. The parameters are those of the scheme `Bearer`. */
  challenge(parameters: readonly string[] = []): string {
    const schemes = Object.values(this.description.securitySchemes);
    const [first] = schemes;
    if (first?.type === "apiKey" && !schemes.some(({ type }) => type === "http")) {
      return `ApiKey header="${first.name}"`;
    }
    return parameters.length === 0 ? "Bearer" : `Bearer ${parameters.join(", ")}`;
  }

  /** Returns the origin at which clients reach the server, such as `https://api.example.com`; with `trustProxy` that of the proxy. */
  publicOrigin({ url, headers }: GateRequest): string | undefined {
    const isSecure = (this.#forwarded(headers, "proto") ?? url.split(":", 1)[0]) === "https";
    return parseHost(this.#publicHost(headers, url), isSecure ? "https:" : "http:")?.origin;
  }

  /** Stops watching credentials. */
  close(): void {
    this.#watches.close();
  }

  /** Authenticates a caller. Rejects with a `CallError` if it is refused. */
  async #identify(credentials: Credentials): Promise<Caller> {
    if (this.#authenticator === undefined) return anonymous(credentials);
    try {
      const identified = this.#authenticator.authenticate(credentials);
      const isPending = typeof (identified as Partial<PromiseLike<unknown>> | undefined)?.then === "function";
      const result: unknown = isPending
        ? await waitFor(Promise.resolve(identified), { timeout: authenticateTimeoutMs }, checkTimedOut)
        : identified;
      if (result === undefined) {
        if (!this.#hasCredentials(credentials)) return anonymous(credentials);
        throw denied("The server does not accept these credentials. Check the token or key.");
      }
      const identity = toIdentity(result);
      if (identity === undefined) throw notAnIdentity();
      const expiresAt = expiryOf(result);
      if (expiresAt <= Date.now()) throw denied("The credentials have expired. Authenticate again.");
      return { kind: "caller", identity, owner: identity.id, expiresAt, credentials };
    } catch (error) {
      throw toRefusal(error, credentials);
    }
  }

  /** Returns whether a request contains credentials, also of a scheme that the authenticator does not know. */
  #hasCredentials({ headers, token }: Credentials): boolean {
    if (token !== undefined || headers.has("authorization")) return true;
    return this.description.headers.some((name) => headers.has(name));
  }

  /** Returns whether a request is from this machine and for it. The host may not know the address of the client. */
  #isLocal({ headers, url, remoteAddress }: GateRequest): boolean {
    if (remoteAddress !== undefined && !isLoopbackHost(remoteAddress)) return false;
    const isLocalHost = (host: string) => isLoopbackHost(parseHost(host)?.hostname ?? "");
    const publicHost = this.#forwarded(headers, "host");
    return isLocalHost(ownHost(headers, url)) && (publicHost === undefined || isLocalHost(publicHost));
  }

  #publicHost(headers: HeaderReader, url: string): string {
    return this.#forwarded(headers, "host") ?? ownHost(headers, url);
  }

  /** Returns what the nearest proxy reports about a request: it adds the last element of a list. */
  #forwarded(headers: HeaderReader, name: "host" | "proto" | "for"): string | undefined {
    const value = this.#trustProxy ? headers.get(`x-forwarded-${name}`) : null;
    return value?.slice(value.lastIndexOf(",") + 1).trim() || undefined;
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

/** The parameter of a challenge after invalid credentials (RFC 6750, section 3.1). */
export const invalidToken = 'error="invalid_token"';

function malformedToken(): CallError {
  return denied("The Authorization header is malformed or repeated. Send one header: Authorization: Bearer <token>.");
}

function anonymous(credentials: Credentials): Caller {
  const owner = `address ${credentials.remoteAddress ?? ""}`;
  return { kind: "caller", identity: undefined, owner, expiresAt: Number.POSITIVE_INFINITY, credentials };
}

/** The description of `"none"`. */
const noCredentials: AuthenticatorDescription = { securitySchemes: {}, headers: [] };

const missingCredentials = "Authentication is required. Send a token or key that this server accepts.";

function notAnIdentity(): CallError {
  const message =
    "authenticate returned a value that is not an identity. Return an object with id and scopes, or undefined.";
  warnVisibly(log, [{ message, properties: {} }], "error");
  return denied("The credentials were refused.");
}

/** Returns the error for the caller. The message of an error that is not a `CallError` stays on this machine. */
function toRefusal(error: unknown, { token }: Credentials): CallError {
  if (isCallError(error)) {
    const { code, message, retryable } = error;
    if (code !== "UNAVAILABLE") return denied(message);
    return new CallError(code, message, undefined, { retryable, mayHaveRun: false });
  }
  const reason = redact(mapError(error).message, token === undefined ? [] : [token]);
  log.warn("authenticate refused a caller: {reason}", { reason });
  return denied("The credentials were refused.");
}

function checkTimedOut(): CallError {
  const message = `The credentials could not be checked within ${authenticateTimeoutMs} ms. Try again later.`;
  return unavailable(message, { mayHaveRun: false });
}

function resolveAuthenticator(given: ServeOptions["authenticate"] | undefined): Authenticator | undefined {
  if (given === "none") return undefined;
  if (typeof given === "function") return { authenticate: given };
  if (typeof given === "object" && given !== null && typeof given.authenticate === "function") return given;
  throw new TypeError(
    'The option authenticate is missing or invalid. Pass an authenticator of @alkdev/operations/auth, a function, or "none".',
  );
}

function ownHost(headers: HeaderReader, url: string): string {
  return headers.get("host") ?? (URL.canParse(url) ? new URL(url).host : "");
}
