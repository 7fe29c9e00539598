import { withoutTrailingSlashes } from "../../../internal/urls.ts";
import type { EndpointPlan, ParameterPlan } from "../endpoint.ts";
import { misconfigured, refused } from "../errors.ts";
import { encodeLiteral, isAbsent } from "./encode.ts";
import { compileParameter, type ParameterWriter } from "./parameter.ts";

/** The parts of an unchecked URL. `path` begins with a slash. `query` begins with a question mark or is empty. */
export interface TargetParts {
  path: string;
  query: string;
}

/** Builds and checks the URLs of one endpoint. */
export interface TargetBuilder {
  readonly origin: string;
  /** Writes the declared arguments into the path and the query. */
  build(input: Record<string, unknown>): TargetParts;
  /** Returns the final URL. Throws if the URL parser would interpret it differently. */
  finish(parts: TargetParts): string;
}

/** One parameter of an endpoint, ready to be written. */
export interface Slot {
  name: string;
  argument: string;
  required: boolean;
  write: ParameterWriter;
}

type Segment = string | Array<string | Slot>;

// Servers do not accept longer paths, and every pointer into the document contains the path.
const maxPathLength = 4096;

/**
 * Returns why a path of a document cannot be called, because a URL parser would interpret it differently. Returns
 * `undefined` for a valid path.
 */
export function pathProblem(path: string): string | undefined {
  if (path.length > maxPathLength) return `The path is longer than ${maxPathLength} characters.`;
  if (/^[/\\]{2}/.test(path) || /^[a-z][a-z0-9+.-]*:/i.test(path)) return "The path contains a host.";
  if (/[\p{Cc}\\\p{Surrogate}]/u.test(path)) return "The path contains a character that is invalid in a URL.";
  const [template = ""] = withoutFragment(path).split("?");
  // URL parsers remove these segments, encoded or not.
  if (template.split("/").some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment))) {
    return 'The path contains the segment "." or "..".';
  }
  return undefined;
}

/** Returns an argument if it is an own property. */
export function argumentOf(input: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(input, name) ? input[name] : undefined;
}

/** Compiles the base URL, path template and query of an endpoint, so that URLs are built by joining strings. */
export function compileTarget(plan: EndpointPlan): TargetBuilder {
  const { operationId } = plan;
  const base = parseBase(plan);
  const problem = pathProblem(plan.path);
  if (problem !== undefined) throw refused(operationId, undefined, "its path is not valid in a URL");
  const [template = "", fixedQuery = ""] = withoutFragment(plan.path).split(/\?(.*)/s);
  const segments = parseSegments(template, plan);
  const queries = plan.parameters
    .filter(({ location }) => location === "query" || location === "querystring")
    .map(toSlot);
  const fixed = parseSegment(fixedQuery, plan);
  const isFixed =
    queries.length === 0 && typeof fixed === "string" && segments.every((part) => typeof part === "string");

  function build(input: Record<string, unknown>): TargetParts {
    let path = base.path;
    for (const segment of segments) path += `/${typeof segment === "string" ? segment : writeSegment(segment, input)}`;
    let query = typeof fixed === "string" ? fixed : writeParts(operationId, fixed, input);
    for (const slot of queries) {
      const text = writeSlot(operationId, slot, input);
      if (text !== undefined && text !== "") query += query === "" ? text : `&${text}`;
    }
    return { path: path === "" ? "/" : path, query: query === "" ? "" : `?${query}` };
  }

  function writeSegment(segment: Array<string | Slot>, input: Record<string, unknown>): string {
    const text = writeParts(operationId, segment, input);
    // An empty segment would address the collection instead of the member. Dots would address a parent, and cannot be
    // encoded.
    if (text === "" || text === "." || text === "..") {
      const slot = segment.find((part) => typeof part !== "string");
      throw refused(operationId, slot?.argument, "it would change the segments of the path");
    }
    return text;
  }

  let checked: string | undefined;
  function finish({ path, query }: TargetParts): string {
    const url = base.origin + path + query;
    if (url === checked) return url;
    const parsed = parseURL(url);
    if (parsed?.origin !== base.origin || parsed.pathname !== path || parsed.search !== query) {
      throw refused(operationId, undefined, "a URL parser would change its URL");
    }
    if (isFixed) checked = url;
    return url;
  }

  return { origin: base.origin, build, finish };
}

function parseBase({ baseUrl, operationId }: EndpointPlan): { origin: string; path: string } {
  const url = parseURL(baseUrl);
  if (url === undefined || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw misconfigured(operationId, "its base URL is not an absolute http or https URL; set `baseUrl`");
  }
  if (url.username !== "" || url.password !== "") {
    throw misconfigured(operationId, "its base URL contains a user name or password; use `auth` instead");
  }
  return { origin: url.origin, path: withoutTrailingSlashes(url.pathname) };
}

function parseURL(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

function withoutFragment(path: string): string {
  const hash = path.indexOf("#");
  return hash === -1 ? path : path.slice(0, hash);
}

function parseSegments(template: string, plan: EndpointPlan): Segment[] {
  const path = template.startsWith("/") ? template.slice(1) : template;
  if (path === "") return template === "" ? [] : [""];
  return path.split("/").map((segment) => parseSegment(segment, plan));
}

function parseSegment(text: string, plan: EndpointPlan): Segment {
  const pieces = text.split(/\{([^{}]+)\}/);
  if (pieces.length === 1) return encodeLiteral(text);
  return pieces
    .map((piece, index) => (index % 2 === 0 ? encodeLiteral(piece) : findSlot(piece, plan)))
    .filter((piece) => piece !== "");
}

function findSlot(name: string, plan: EndpointPlan): Slot {
  const declared = plan.parameters.find((parameter) => parameter.location === "path" && parameter.name === name);
  return toSlot({ ...(declared ?? undeclared(name)), required: true });
}

/** Creates the parameter for a template variable that the document does not declare. */
function undeclared(name: string): ParameterPlan {
  const simple = { style: "simple", explode: false, allowReserved: false, allowEmptyValue: false };
  return { name, argument: name, location: "path", required: true, ...simple };
}

/** Compiles how one parameter is written. */
export function toSlot(plan: ParameterPlan): Slot {
  return { name: plan.name, argument: plan.argument, required: plan.required, write: compileParameter(plan) };
}

function writeParts(operationId: string, parts: Array<string | Slot>, input: Record<string, unknown>): string {
  let text = "";
  for (const part of parts) text += typeof part === "string" ? part : (writeSlot(operationId, part, input) ?? "");
  return text;
}

/**
 * Writes one argument. The error for an invalid value contains only the name of the argument. `undefined` means that
 * nothing is sent.
 */
export function writeSlot(
  operationId: string,
  { argument, required, write }: Slot,
  input: Record<string, unknown>,
): string | undefined {
  const value = argumentOf(input, argument);
  let text: string | undefined;
  try {
    text = write(value);
  } catch {
    // A lone surrogate, a cycle or a bigint. The engine's message may contain the value.
    throw refused(operationId, argument, "it cannot be converted to a string");
  }
  if (text === undefined && required) {
    throw refused(operationId, argument, isAbsent(value) ? "it is missing" : "it is empty");
  }
  return text;
}
