import { toBase64 } from "../../../internal/base64.ts";
import { CallError } from "../../../operation/index.ts";
import { readBody } from "../../../transport/http-body.ts";
import type { HTTPAuth, Secret } from "../config.ts";
import { encodeForm } from "./encode.ts";

interface Token {
  value: string;
  /** Time at which a new token is requested, in ms since the epoch. It is before the token expires. */
  staleAt: number;
}

const tokenTimeout = 30_000;
const tokenBytes = 1024 * 1024;

/** Requests and caches tokens with OAuth 2 client credentials. Concurrent calls share one request. */
export class TokenSource {
  readonly #auth: HTTPAuth;
  readonly #fetch: typeof fetch;
  #token: Token | undefined;
  #pending: Promise<string> | undefined;

  constructor(auth: HTTPAuth, fetchToken: typeof fetch) {
    this.#auth = auth;
    this.#fetch = fetchToken;
  }

  /** Returns the current token. Requests one if it is missing or about to expire. */
  get(): string | Promise<string> {
    if (this.#token !== undefined && Date.now() < this.#token.staleAt) return this.#token.value;
    this.#pending ??= this.#request().finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  /** Drops a token that the service refused. A newer token is kept. */
  drop(value: string): void {
    if (this.#token?.value === value) this.#token = undefined;
  }

  async #request(): Promise<string> {
    const { tokenUrl = "", clientId = "", clientSecret = "", scopes } = this.#auth;
    if (!URL.canParse(tokenUrl)) {
      const message = "The access token cannot be requested: `auth.tokenUrl` is not a URL.";
      throw new CallError("EXECUTION_ERROR", message, undefined, { mayHaveRun: false });
    }
    const id = encodeForm(await reveal(clientId));
    const secret = encodeForm(await reveal(clientSecret));
    const scope = scopes === undefined || scopes.length === 0 ? "" : `&scope=${encodeForm(scopes.join(" "))}`;
    const response = await this.#post(
      tokenUrl,
      `Basic ${encodeBasic(`${id}:${secret}`)}`,
      `grant_type=client_credentials${scope}`,
    );
    const { access_token: value, expires_in: seconds } = response;
    if (typeof value !== "string" || value === "")
      throw tokenFailure("the response of the token server has no access_token");
    const lifetime = Number(seconds ?? Number.NaN) * 1000;
    // A token without an expiry is replaced when it is refused, any other shortly before it expires.
    const margin = Math.min(30_000, lifetime / 10);
    this.#token = {
      value,
      staleAt: Number.isFinite(lifetime) ? Date.now() + lifetime - margin : Number.POSITIVE_INFINITY,
    };
    return value;
  }

  async #post(url: string, authorization: string, body: string): Promise<Record<string, unknown>> {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), tokenTimeout);
    try {
      const headers = {
        authorization,
        accept: "application/json",
        "content-type": "application/x-www-form-urlencoded",
      };
      // Do not follow redirects: the client's secret must only be sent to the configured URL.
      const request = { method: "POST", redirect: "manual", signal: controller.signal, headers, body } as const;
      const response = await this.#fetch(url, request);
      const bytes = await readBody(response, tokenBytes);
      if (!response.ok) throw tokenFailure(`the token server responded with ${response.status}`, response.status);
      const parsed: unknown = JSON.parse(new TextDecoder().decode(bytes));
      return typeof parsed === "object" && parsed !== null ? (parsed as Record<string, unknown>) : {};
    } catch (error) {
      if (error instanceof CallError) throw error;
      throw tokenFailure("the token server could not be reached, or returned an invalid response");
    } finally {
      clearTimeout(timer);
    }
  }
}

function tokenFailure(reason: string, status?: number): CallError {
  const denied = status === 400 || status === 401 || status === 403;
  const retryable = !denied && (status === undefined || status === 429 || status >= 500);
  const details = status === undefined ? undefined : { status };
  return new CallError(
    denied ? "UPSTREAM_DENIED" : "UNAVAILABLE",
    `The access token could not be requested: ${reason}.`,
    details,
    {
      retryable,
      mayHaveRun: false,
    },
  );
}

/** Returns the value of a secret, which may be a function. */
export function reveal(secret: Secret): string | Promise<string> {
  return typeof secret === "function" ? secret() : secret;
}

/** Encodes `user:password` for HTTP Basic: the base64 of its UTF-8 bytes. */
export function encodeBasic(credential: string): string {
  return toBase64(new TextEncoder().encode(credential));
}
