import { toBase64 } from "../../../internal/base64.ts";
import { CallError } from "../../../operation/index.ts";
import type { HTTPAuth, Secret } from "../config.ts";
import { encodeForm } from "./encode.ts";
import { readBody } from "./read-body.ts";

interface Token {
  value: string;
  /** When it is taken for out of date, in ms since the epoch; before the server does. */
  staleAt: number;
}

const tokenTimeout = 30_000;
const tokenBytes = 1024 * 1024;

/** Gets and keeps tokens by OAuth 2 client credentials. One request at a time, however many calls wait for it. */
export class TokenSource {
  readonly #auth: HTTPAuth;
  readonly #fetch: typeof fetch;
  #token: Token | undefined;
  #pending: Promise<string> | undefined;

  constructor(auth: HTTPAuth, fetchToken: typeof fetch) {
    this.#auth = auth;
    this.#fetch = fetchToken;
  }

  /** Returns the current token; requests one when it is missing or about to expire. */
  get(): string | Promise<string> {
    if (this.#token !== undefined && Date.now() < this.#token.staleAt) return this.#token.value;
    this.#pending ??= this.#request().finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  /** Drops a token that the service refused. A newer one stays. */
  drop(value: string): void {
    if (this.#token?.value === value) this.#token = undefined;
  }

  async #request(): Promise<string> {
    const { tokenUrl = "", clientId = "", clientSecret = "", scopes } = this.#auth;
    if (!URL.canParse(tokenUrl)) {
      const message = "No access token: `auth.tokenUrl` is not a URL.";
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
    if (typeof value !== "string" || value === "") throw tokenFailure("the response has no access_token");
    const lifetime = Number(seconds ?? Number.NaN) * 1000;
    // A token without an expiry is requested again when it is refused; others shortly before they expire.
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
      // Redirects are not followed: the client's secret goes only to the configured address.
      const request = { method: "POST", redirect: "manual", signal: controller.signal, headers, body } as const;
      const response = await this.#fetch(url, request);
      const bytes = await readBody(response, tokenBytes);
      if (!response.ok) throw tokenFailure(`the token server responded with ${response.status}`, response.status);
      const parsed: unknown = JSON.parse(new TextDecoder().decode(bytes));
      return typeof parsed === "object" && parsed !== null ? (parsed as Record<string, unknown>) : {};
    } catch (error) {
      if (error instanceof CallError) throw error;
      throw tokenFailure("the token server could not be reached or understood");
    } finally {
      clearTimeout(timer);
    }
  }
}

function tokenFailure(reason: string, status?: number): CallError {
  const denied = status === 400 || status === 401 || status === 403;
  const retryable = !denied && (status === undefined || status === 429 || status >= 500);
  const details = status === undefined ? undefined : { status };
  return new CallError(denied ? "UPSTREAM_DENIED" : "UNAVAILABLE", `No access token: ${reason}.`, details, {
    retryable,
    mayHaveRun: false,
  });
}

/** Asks for a secret that may be a function. */
export function reveal(secret: Secret): string | Promise<string> {
  return typeof secret === "function" ? secret() : secret;
}

/** Base64 of the UTF-8 bytes of `user:password`, as HTTP Basic needs it. */
export function encodeBasic(credential: string): string {
  return toBase64(new TextEncoder().encode(credential));
}
