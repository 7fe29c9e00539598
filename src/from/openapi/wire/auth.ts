import type { HTTPAuth, HTTPServiceConfig, Secret } from "../config.ts";
import type { EndpointPlan, SecuritySchemePlan } from "../endpoint.ts";
import { misconfigured } from "../errors.ts";
import { encode } from "./encode.ts";
import { isConnectionHeader, isHeaderName, isHeaderValue } from "./headers.ts";
import { encodeBasic, reveal, TokenSource } from "./oauth.ts";

/** The parts of one request that contain the operator's credentials. */
export interface Credentials {
  /** Names in lower case. */
  headers: Array<[name: string, value: string]>;
  /** Encoded pairs by their encoded name. */
  query: Array<[name: string, value: string]>;
  cookies: Array<[name: string, value: string]>;
  /** Values that must not appear in errors. */
  secrets: string[];
  /** Called if the service refused the credentials. Returns `true` if the next request gets new ones. */
  refresh?: () => boolean;
}

/** Returns the credentials of one request. Synchronous unless a function has to be awaited. */
export type Authenticator = () => Credentials | Promise<Credentials>;

const sources = new WeakMap<HTTPAuth, TokenSource>();

/** Compiles the credentials of an endpoint. Returns `undefined` if none are configured. */
export function compileAuth(plan: EndpointPlan, config: HTTPServiceConfig): Authenticator | undefined {
  const { auth } = config;
  if (auth === undefined) return undefined;
  if (typeof auth === "function") {
    return async () => {
      const given = await auth();
      return given === undefined ? none() : join([await credentialsOf(given, documented(plan, given))]);
    };
  }
  if ("schemes" in auth) return bySchemes(auth.schemes);
  return remember(() => credentialsOf(auth, documented(plan, auth)), isFixed(auth));

  /**
   * Uses the first alternative whose schemes are all configured. An empty alternative is used only if there is no
   * other.
   */
  function bySchemes(schemes: Record<string, HTTPAuth>): Authenticator | undefined {
    const chosen = plan.security.find(
      (alternative) => alternative.length > 0 && alternative.every(({ scheme }) => Object.hasOwn(schemes, scheme)),
    );
    if (chosen === undefined) return undefined;
    const parts = chosen.map(({ scheme }) => ({ auth: schemes[scheme]!, place: plan.securitySchemes.get(scheme) }));
    const make = async () => join(await Promise.all(parts.map((part) => credentialsOf(part.auth, part.place))));
    return remember(
      make,
      parts.every((part) => isFixed(part.auth)),
    );
  }

  function credentialsOf(method: HTTPAuth, place: SecuritySchemePlan | undefined): Credentials | Promise<Credentials> {
    switch (method.type) {
      case "basic":
        return basic(method);
      case "oauth2":
        return oauth(method);
      case "apiKey":
        return then(demand(method.token), (token) => inPlace(method, place, token));
      default:
        return then(demand(method.token), (token) => inHeader(method, "authorization", "Bearer", token));
    }
  }

  function oauth(method: HTTPAuth): Credentials | Promise<Credentials> {
    let source = sources.get(method);
    if (source === undefined) {
      source = new TokenSource(method, config.fetch ?? fetch);
      sources.set(method, source);
    }
    const tokens = source;
    return then(tokens.get(), (token) => ({
      ...inHeader(method, "authorization", "Bearer", token),
      refresh: () => {
        tokens.drop(token);
        return true;
      },
    }));
  }

  function basic(method: HTTPAuth): Credentials | Promise<Credentials> {
    const { token, username, password } = method;
    const write = (text: string, ...secrets: string[]): Credentials => {
      const credentials = inHeader(method, "authorization", "Basic", text);
      return { ...credentials, secrets: [...credentials.secrets, ...secrets] };
    };
    // The token may be an encoded base64 string. A token with a colon is not encoded yet.
    if (username === undefined) {
      return then(demand(token), (text) => (text.includes(":") ? write(encodeBasic(text), text) : write(text)));
    }
    return then(reveal(username), (name) =>
      then(reveal(password ?? ""), (word) => write(encodeBasic(`${name}:${word}`), `${name}:${word}`, word)),
    );
  }

  function inHeader(method: HTTPAuth, header: string, prefix: string, token: string): Credentials {
    const name = (method.headerName ?? header).toLowerCase();
    const before = (method.prefix ?? prefix).trim();
    const value = before === "" ? token : `${before} ${token}`;
    if (!isHeaderName(name) || isConnectionHeader(name))
      throw misconfigured(plan.operationId, "`auth.headerName` is not a valid header name");
    if (!isHeaderValue(value)) throw misconfigured(plan.operationId, "its credential is not a valid header value");
    return { ...none(), headers: [[name, value]], secrets: [token] };
  }

  function inPlace(method: HTTPAuth, place: SecuritySchemePlan | undefined, token: string): Credentials {
    const location = method.headerName === undefined ? (method.in ?? place?.in ?? "header") : "header";
    const name = method.name ?? place?.name;
    if (location === "header") return inHeader(method, name ?? "X-API-Key", "", token);
    const pair: [string, string] = [encode(name ?? "api_key"), encode(token)];
    const secrets = [token, pair[1]];
    return location === "query" ? { ...none(), query: [pair], secrets } : { ...none(), cookies: [pair], secrets };
  }

  /** Returns a secret. An empty secret is a configuration error, which sending the call without it would hide. */
  function demand(secret: Secret | undefined): string | Promise<string> {
    return then(secret === undefined ? "" : reveal(secret), (text) => {
      if (typeof text !== "string" || text === "") throw misconfigured(plan.operationId, "its credential is empty");
      return text;
    });
  }
}

/** Returns the security scheme that a single credential belongs to. Schemes of the operation take precedence. */
function documented(plan: EndpointPlan, auth: HTTPAuth): SecuritySchemePlan | undefined {
  if (auth.type !== "apiKey") return undefined;
  const named = plan.security.flat().map(({ scheme }) => plan.securitySchemes.get(scheme));
  return [...named, ...plan.securitySchemes.values()].find((scheme) => scheme?.type === "apiKey");
}

function isFixed(auth: HTTPAuth): boolean {
  if (auth.type === "oauth2") return false;
  return [auth.token, auth.username, auth.password].every((secret) => typeof secret !== "function");
}

function remember(make: Authenticator, fixed: boolean): Authenticator {
  if (!fixed) return make;
  let known: Credentials | undefined;
  return () => known ?? then(make(), (made) => (known = made));
}

function then<T, R>(value: T | Promise<T>, use: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(use) : use(value);
}

function none(): Credentials {
  return { headers: [], query: [], cookies: [], secrets: [] };
}

function join(parts: Credentials[]): Credentials {
  const refreshers = parts.flatMap(({ refresh }) => refresh ?? []);
  const joined = {
    headers: parts.flatMap(({ headers }) => headers),
    query: parts.flatMap(({ query }) => query),
    cookies: parts.flatMap(({ cookies }) => cookies),
    secrets: parts.flatMap(({ secrets }) => secrets),
  };
  if (refreshers.length === 0) return joined;
  return { ...joined, refresh: () => refreshers.map((refresh) => refresh()).some(Boolean) };
}
