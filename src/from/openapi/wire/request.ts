import { isSecretName } from "../../../internal/secrets.ts";
import type { OperationContext } from "../../../operation/index.ts";
import type { HTTPServiceConfig } from "../config.ts";
import type { EndpointPlan } from "../endpoint.ts";
import { misconfigured, refused } from "../errors.ts";
import type { Credentials } from "./auth.ts";
import { compileBody, type EncodedBody } from "./body.ts";
import { isCallerHeader, isConnectionHeader, isExactHeaderValue, isHeaderName, isHeaderValue } from "./headers.ts";
import { isMembers } from "./style.ts";
import { argumentOf, compileTarget, toSlot, writeSlot } from "./url.ts";

/** One request, checked and ready to be sent. */
export interface WireRequest {
  url: string;
  origin: string;
  method: string;
  headers: Record<string, string>;
  body?: BodyInit;
  /** Whether the request can be sent again. */
  replayable: boolean;
  /** Values that must not appear in errors about this request. */
  secrets: readonly string[];
}

/** Builds a request from the input of a call. Throws before anything is sent if this cannot be done safely. */
export type RequestBuilder = (
  input: Record<string, unknown>,
  context: Pick<OperationContext, "metadata" | "remote">,
  credentials: Credentials | undefined,
) => WireRequest | Promise<WireRequest>;

/** The properties of a request that a caller may set in `metadata.http`. */
interface RequestOverrides {
  headers?: Record<string, unknown>;
  contentType?: string;
}

const withoutBody = new Set(["GET", "HEAD"]);
const forbiddenMethods = new Set(["CONNECT", "TRACE", "TRACK"]);

/** Whether `fetch` can send requests with a method. */
export function canSend(method: string): boolean {
  return !forbiddenMethods.has(method.toUpperCase());
}

/**
 * Compiles how requests of an endpoint are built. The configuration takes precedence over the caller: `headers` over
 * parameters and `metadata.http.headers`, and credentials over everything.
 */
export function compileRequest(plan: EndpointPlan, config: HTTPServiceConfig): RequestBuilder {
  const { operationId, method } = plan;
  if (!canSend(method)) throw refused(operationId, undefined, `fetch cannot send ${method}`);
  const target = compileTarget(plan);
  const headerSlots = plan.parameters
    .filter(({ location, name }) => location === "header" && isCallerHeader(name))
    .map((parameter) => toSlot({ ...parameter, required: parameter.required && !isConfigured(parameter.name) }));
  const cookieSlots = plan.parameters.filter(({ location }) => location === "cookie").map(toSlot);
  const writeBody = plan.body && compileBody(operationId, plan.body);
  const accept = plan.accept.length === 0 ? "*/*" : plan.accept.join(", ");
  const hasPathAndQueryOnly =
    headerSlots.length + cookieSlots.length === 0 && plan.body === undefined && config.headers === undefined;

  const remoteHeaders = new Set(config.remoteHeaders?.map((name) => name.toLowerCase()));

  return (input, { metadata, remote }, credentials) => {
    const requested = readOverrides(metadata);
    const overrides = remote === true && requested !== undefined ? restrict(requested, remoteHeaders) : requested;
    if (hasPathAndQueryOnly && overrides === undefined && (credentials === undefined || isHeadersOnly(credentials))) {
      return simpleRequest(input, credentials);
    }
    const parts = target.build(input);
    const headers: Record<string, string> = Object.assign(Object.create(null), { accept });
    for (const slot of headerSlots) {
      const text = writeSlot(operationId, slot, input);
      const problem = () => refused(operationId, slot.argument, badValue);
      if (text !== undefined) setCallerHeader(headers, slot.name, text, problem);
    }
    if (overrides?.headers !== undefined) addOverrides(headers, overrides.headers);
    const cookies = writeCookies(input);
    const encoded = encodeBody(input, overrides);
    const finish = (body: EncodedBody | undefined, configured: Record<string, string>): WireRequest => {
      addConfigured(headers, configured, cookies);
      if (body?.contentType !== undefined) {
        setHeader(headers, "content-type", body.contentType, () => refused(operationId, plan.body?.argument, badType));
      }
      const query =
        credentials === undefined ? parts.query : addCredentials(headers, parts.query, cookies, credentials);
      if (cookies.length > 0) {
        setHeader(headers, "cookie", cookies.join("; "), () => refused(operationId, undefined, "a cookie is invalid"));
      }
      const url = target.finish({ path: parts.path, query });
      const { origin } = target;
      const secrets = [...(credentials?.secrets ?? []), ...secretsOf(configured)];
      const request = { url, origin, method, headers, replayable: true, secrets };
      return body === undefined ? request : { ...request, body: body.body, replayable: body.replayable };
    };
    const configured = readConfigured();
    if (!(encoded instanceof Promise) && !(configured instanceof Promise)) return finish(encoded, configured);
    return Promise.all([encoded, configured]).then(([body, given]) => finish(body, given));
  };

  /**
   * Returns the configured headers. Never throws, because the rejection of a body that is being written would not be
   * handled.
   */
  function readConfigured(): Record<string, string> | Promise<Record<string, string>> {
    if (typeof config.headers !== "function") return config.headers ?? {};
    try {
      return config.headers();
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Builds the most common request: a URL, `Accept` and a credential in a header. */
  function simpleRequest(input: Record<string, unknown>, credentials: Credentials | undefined): WireRequest {
    const url = target.finish(target.build(input));
    const headers: Record<string, string> = { accept };
    if (credentials !== undefined) for (const [name, value] of credentials.headers) headers[name] = value;
    const { origin } = target;
    return { url, origin, method, headers, replayable: true, secrets: credentials?.secrets ?? noSecrets };
  }

  function isConfigured(name: string): boolean {
    if (typeof config.headers !== "object") return typeof config.headers === "function";
    return Object.keys(config.headers).some((key) => key.toLowerCase() === name.toLowerCase());
  }

  function addOverrides(headers: Record<string, string>, overrides: Record<string, unknown>): void {
    for (const [name, value] of Object.entries(overrides)) {
      if (typeof value !== "string" || !isCallerHeader(name)) continue;
      setCallerHeader(headers, name, value, () =>
        refused(operationId, undefined, "a header in `metadata.http` is invalid"),
      );
    }
  }

  function addConfigured(headers: Record<string, string>, configured: Record<string, string>, cookies: string[]): void {
    for (const [name, value] of Object.entries(configured)) {
      const lower = name.toLowerCase();
      if (isConnectionHeader(lower) || lower === "content-type") continue;
      if (lower === "cookie") cookies.unshift(value);
      else setHeader(headers, lower, value, () => misconfigured(operationId, "a header in `headers` is invalid"));
    }
  }

  /** Adds credentials, and removes values of the caller in the same places. Returns the query. */
  function addCredentials(
    headers: Record<string, string>,
    query: string,
    cookies: string[],
    given: Credentials,
  ): string {
    for (const [name, value] of given.headers) headers[name] = value;
    for (const [name, value] of given.cookies) {
      const others = cookies.flatMap((text) => text.split("; ")).filter((pair) => !pair.startsWith(`${name}=`));
      cookies.splice(0, cookies.length, ...others, `${name}=${value}`);
    }
    if (given.query.length === 0) return query;
    const pairs = query === "" ? [] : query.slice(1).split("&");
    const kept = pairs.filter((pair) => !given.query.some(([name]) => pair === name || pair.startsWith(`${name}=`)));
    return `?${[...kept, ...given.query.map(([name, value]) => `${name}=${value}`)].join("&")}`;
  }

  function writeCookies(input: Record<string, unknown>): string[] {
    const cookies: string[] = [];
    for (const slot of cookieSlots) {
      const text = writeSlot(operationId, slot, input);
      if (text === undefined) continue;
      if (/[^\x20-\x7e]/.test(text)) throw refused(operationId, slot.argument, "it is not a valid cookie value");
      cookies.push(text);
    }
    return cookies;
  }

  function encodeBody(
    input: Record<string, unknown>,
    overrides: RequestOverrides | undefined,
  ): ReturnType<NonNullable<typeof writeBody>> | undefined {
    if (plan.body === undefined || writeBody === undefined) return undefined;
    const { argument, required } = plan.body;
    const value = withDefaults(argumentOf(input, argument), required ? undefined : {});
    if (value === undefined) {
      if (required && !withoutBody.has(method)) throw refused(operationId, argument, "it is missing");
      return undefined;
    }
    if (withoutBody.has(method)) throw refused(operationId, argument, `fetch cannot send a body with ${method}`);
    return writeBody(value, overrides?.contentType);
  }

  /** Adds defaults that the caller omitted, such as the property that selects a stream. */
  function withDefaults(value: unknown, absent: object | undefined): unknown {
    const { bodyDefaults } = plan;
    const given = bodyDefaults === undefined ? value : (value ?? absent);
    if (bodyDefaults === undefined || !isMembers(given)) return value;
    const passed = Object.entries(given).filter(([, member]) => member !== undefined);
    return { ...bodyDefaults, ...Object.fromEntries(passed) };
  }
}

const noSecrets: readonly string[] = [];

function isHeadersOnly({ query, cookies }: Credentials): boolean {
  return query.length + cookies.length === 0;
}

const badValue = "it is not a valid header value";
const badType = "its type is not a valid header value";

/** Returns the values of configured headers that look like credentials. */
function secretsOf(configured: Record<string, string>): string[] {
  return Object.keys(configured)
    .filter(isSecretName)
    .flatMap((name) => {
      const value = String(configured[name]);
      if (/cookie/i.test(name)) return value.split(";").map((pair) => pair.slice(pair.indexOf("=") + 1).trim());
      // Also return the token without the `Bearer` prefix.
      return [value, value.slice(value.indexOf(" ") + 1)];
    });
}

function setHeader(headers: Record<string, string>, name: string, value: string, problem: () => Error): void {
  if (!isHeaderName(name) || typeof value !== "string" || !isHeaderValue(value)) throw problem();
  headers[name.toLowerCase()] = value;
}

/** Sets a header of a caller, whose leading and trailing spaces are data. In configured headers they are ignored. */
function setCallerHeader(headers: Record<string, string>, name: string, value: string, problem: () => Error): void {
  if (!isExactHeaderValue(value)) throw problem();
  setHeader(headers, name, value, problem);
}

/** Restricts the overrides of a caller outside this process, because the request carries the operator's credentials. */
function restrict(
  { headers, contentType }: RequestOverrides,
  allowed: ReadonlySet<string>,
): RequestOverrides | undefined {
  if (allowed.size === 0) return undefined;
  const kept = Object.entries(headers ?? {}).filter(([name]) => allowed.has(name.toLowerCase()));
  const isTypeKept = contentType !== undefined && allowed.has("content-type");
  return { headers: Object.fromEntries(kept), ...(isTypeKept && { contentType }) };
}

function readOverrides(metadata: OperationContext["metadata"] | undefined): RequestOverrides | undefined {
  if (metadata === undefined || !Object.hasOwn(metadata, "http")) return undefined;
  const { http } = metadata;
  if (typeof http !== "object" || http === null) return undefined;
  const { headers, contentType } = http as Record<string, unknown>;
  return {
    ...(typeof headers === "object" && headers !== null ? { headers: headers as Record<string, unknown> } : {}),
    ...(typeof contentType === "string" ? { contentType } : {}),
  };
}
