import { parseOrigin } from "../internal/http.ts";
import type { GateRequest } from "./gate.ts";
import type { CORSOptions } from "./server.ts";

/** Default time in seconds for which a browser may remember a permission. */
const defaultMaxAge = 600;

const allowedMethods = "GET, HEAD, POST, PUT, PATCH, DELETE";

/** Which web pages of other origins may send requests, and what a browser has to be told about it. */
export class CrossOriginRules {
  readonly #origins: ReadonlySet<string>;
  readonly #maxAge: string;
  readonly #exposedHeaders: string;

  constructor(cors: CORSOptions | undefined, exposedHeaders: readonly string[] = []) {
    this.#origins = new Set(cors?.origins);
    for (const origin of this.#origins) assertOrigin(origin);
    this.#maxAge = String(cors?.maxAge ?? defaultMaxAge);
    this.#exposedHeaders = exposedHeaders.join(", ");
  }

  /** Returns whether a page of this origin may send requests. */
  allows(origin: string | null): boolean {
    return origin !== null && this.#origins.has(origin);
  }

  /** Returns the headers of the response to a preflight of an allowed origin; `undefined` for any other request. */
  toPreflight({ method, headers }: GateRequest): Record<string, string> | undefined {
    if (method !== "OPTIONS" || !headers.has("access-control-request-method")) return undefined;
    const requested = headers.get("access-control-request-headers");
    return {
      "access-control-allow-origin": headers.get("origin")!,
      "access-control-allow-methods": allowedMethods,
      ...(requested === null ? {} : { "access-control-allow-headers": requested }),
      "access-control-max-age": this.#maxAge,
      vary: "origin, access-control-request-headers",
    };
  }

  /** Returns the headers of every other response to an allowed origin. The server adds `Vary`. */
  toHeaders(origin: string): Record<string, string> {
    return this.#exposedHeaders === ""
      ? { "access-control-allow-origin": origin }
      : { "access-control-allow-origin": origin, "access-control-expose-headers": this.#exposedHeaders };
  }
}

function assertOrigin(origin: unknown): void {
  if (typeof origin === "string" && parseOrigin(origin)?.origin === origin) return;
  throw new TypeError(
    `cors.origins contains ${JSON.stringify(origin)}, which is not an origin. List each origin as browsers send it, such as "https://app.example.com".`,
  );
}
