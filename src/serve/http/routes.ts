import type { ReportBuilder } from "../../from/report.ts";
import { getOwn } from "../../internal/objects.ts";
import { quote } from "../../internal/text.ts";
import { decodePercent } from "../../internal/urls.ts";
import { OperationType } from "../../operation/inside.ts";
import { formatOperationPath } from "../../transport/http-form.ts";
import type { ServedOperation } from "../visible.ts";
import { toImportedRoute } from "./imported-routes.ts";
import { InputMapping, listProperties, primitiveTypeOf } from "./parameters.ts";

/** Path of the OpenAPI document. */
export const documentPath = "/openapi.json";

/** Returns whether the default route of an operation reads the same input. */
function isDefaultInput({ body, parameters }: InputMapping): boolean {
  if (body === "none") return parameters.every(({ name, property }) => name === property);
  return typeof body === "object" && "rest" in body && parameters.length === 0;
}

/** Returns an operation id as the value of a header, which must be printable ASCII. */
function toHeaderValue(text: string): string {
  return /^[!-~]+$/.test(text) ? text : encodeURIComponent(text);
}

/** One method of one path. */
export class Route {
  /** In upper case. */
  readonly method: string;
  /** The path, with the names of parameters in braces: `/tasks/{id}`. */
  readonly path: string;
  readonly operation: ServedOperation;
  /** The id of the operation as the value of a header. */
  readonly headerId: string;
  readonly #toInput: () => InputMapping | undefined;
  #input: InputMapping | null | undefined = undefined;

  constructor(method: string, path: string, operation: ServedOperation, toInput: () => InputMapping | undefined) {
    this.method = method;
    this.path = path;
    this.operation = operation;
    this.headerId = toHeaderValue(operation.id);
    this.#toInput = toInput;
  }

  /**
   * Where the properties of the input are; `undefined` if a URL cannot carry this input. Created when first read, because
   * the schema may be created then.
   */
  get input(): InputMapping | undefined {
    if (this.#input === undefined) this.#input = this.#toInput() ?? null;
    return this.#input ?? undefined;
  }
}

/** The routes of one path, by method. */
export class Endpoint extends Map<string, Route> {
  /** Finds the route of a request. `HEAD` is accepted where `GET` reads without a stream. */
  find(method: string): Route | undefined {
    const route = this.get(method === "HEAD" ? "GET" : method);
    if (route === undefined || route.input === undefined) return undefined;
    return method === "HEAD" && route.operation.isSubscription ? undefined : route;
  }

  /** Value of the header `Allow`. */
  get allow(): string {
    const methods = [...new Set(["GET", "HEAD", ...this.keys()])].filter((method) => this.find(method) !== undefined);
    return [...methods, "OPTIONS"].join(", ");
  }
}

/** Which routes operations have in addition to their default ones. */
export interface RouteOptions {
  /** Routes by operation id, such as `{ "task.get": "GET /tasks/{id}" }`. They replace the `http` of definitions. */
  routes?: Readonly<Record<string, string>> | undefined;
  /**
   * Serves operations that were imported from OpenAPI at their own methods and paths, below `/namespace`. Those with
   * parameters in headers or cookies, of another style than `form`, or with a body that is not JSON keep their default
   * routes and are reported. @default false
   */
  keepRoutes?: boolean | undefined;
}

/** The paths that begin with the same segments. Keys are canonical segments, and {@link anyValue}. */
class PathNode extends Map<string, PathNode> {
  endpoint: Endpoint | undefined = undefined;
}

/** Key of the child for a segment that is a parameter. */
const anyValue = "{}";

/** The routes of the operations that a server offers at one moment. */
export class RouteTable {
  readonly #root = new PathNode();
  /** Endpoints without parameters, by canonical path, which most requests have. */
  readonly #exact = new Map<string, Endpoint>();
  /** The routes that the document describes, by operation id. */
  readonly #documented = new Map<string, Route>();

  constructor(operations: readonly ServedOperation[], options: RouteOptions, report: ReportBuilder) {
    const served = operations.filter((operation) => this.#addDefaults(operation, report));
    const warn = (id: string, route: unknown, problem: string) =>
      report.warn(id, `the route ${quote(String(route))} is not served: ${problem}`);
    const chosen = new Map(Object.entries(options.routes ?? {}));
    for (const operation of served) {
      const wanted = chosen.get(operation.id) ?? definedRoute(operation);
      chosen.delete(operation.id);
      if (wanted !== undefined) {
        const problem = this.#addCustom(operation, wanted);
        if (problem) warn(operation.id, wanted, problem);
      } else if (options.keepRoutes === true) {
        const problem = this.#addImported(operation);
        if (problem) report.warn(operation.id, `it keeps its default route: ${problem}`);
      }
    }
    for (const [id, route] of chosen) warn(id, route, "the server has no such operation");
  }

  /** Finds the endpoint of a path, which begins with a slash and has no query. Adds the decoded parameters to `values`. */
  match(path: string, values: string[]): Endpoint | undefined {
    const exact = this.#exact.get(path);
    if (exact !== undefined) return exact;
    const segments = path.slice(1).split("/").map(decodePercent);
    return segments.includes(undefined) ? undefined : findEndpoint(this.#root, segments as string[], 0, values);
  }

  /** Returns the route of an operation that the document describes; `undefined` if it has none. */
  documented({ id, spec }: ServedOperation): Route | undefined {
    const route = this.#documented.get(id);
    if (route === undefined || route.input !== undefined || spec.type === OperationType.MUTATION) return route;
    return this.#exact.get(route.path)?.find("POST");
  }

  /** Returns whether the operation is served. */
  #addDefaults(operation: ServedOperation, report: ReportBuilder): boolean {
    const { id, spec } = operation;
    const path = formatOperationPath(spec.namespace, spec.name);
    if (path === undefined) {
      report.skipped(id, "a URL cannot have the segment . or .. of its name; rename it to serve it over HTTP");
      return false;
    }
    this.#add(operation, { method: "POST", path, names: [] });
    if (spec.type !== OperationType.MUTATION) this.#add(operation, { method: "GET", path, names: [] });
    report.imported(id);
    return true;
  }

  /** Returns why the route is not possible. */
  #addCustom(operation: ServedOperation, wanted: unknown): string | undefined {
    const template = parseTemplate(wanted);
    if (template === undefined) return 'a route is a method and a path, such as "GET /tasks/{id}"';
    return findProblem(operation, template) ?? (this.#add(operation, template) ? undefined : "it is taken");
  }

  /** Returns why the route is not kept. */
  #addImported(operation: ServedOperation): string | undefined {
    const imported = toImportedRoute(operation);
    if (imported === undefined || typeof imported === "string") return imported;
    const { route, input } = imported;
    const template = parseTemplate(route);
    const places = input.parameters.filter(({ in: location }) => location === "path").length;
    if (template?.names.length !== places) return `${quote(route)} is not a route of this server`;
    return this.#add(operation, template, input) ? undefined : `${quote(route)} is taken`;
  }

  /** Adds a route, which the document describes instead of those that were added before. Returns false if it is taken. */
  #add(operation: ServedOperation, { method, path, names }: Template, input?: InputMapping): boolean {
    const others = method === "GET" ? "query" : "body";
    const toInput = () => input ?? InputMapping.of(operation.id, operation.published.inputSchema, names, others);
    const endpoint = this.#endpointOf(path);
    const present = endpoint.get(method);
    if (present?.operation === operation && (input === undefined || isDefaultInput(input))) {
      this.#documented.set(operation.id, present);
      return true;
    }
    if (path === documentPath || present !== undefined) return false;
    const route = new Route(method, path, operation, toInput);
    endpoint.set(method, route);
    this.#documented.set(operation.id, route);
    return true;
  }

  /** Returns the endpoint of a path, which is created if necessary. */
  #endpointOf(path: string): Endpoint {
    let node = this.#root;
    for (const segment of path.slice(1).split("/")) {
      const key = segment.startsWith("{") ? anyValue : segment;
      const next = node.get(key) ?? new PathNode();
      node.set(key, next);
      node = next;
    }
    node.endpoint ??= new Endpoint();
    if (!path.includes("{")) this.#exact.set(path, node.endpoint);
    return node.endpoint;
  }
}

/** Returns `http` of the definition of an operation. Sources that import operations remove it. */
function definedRoute({ spec }: ServedOperation): unknown {
  return getOwn(getOwn(spec._meta, "serve"), "http");
}

/** Finds the endpoint of decoded segments. Literals are preferred to parameters, from left to right. */
function findEndpoint(
  node: PathNode,
  segments: readonly string[],
  index: number,
  values: string[],
): Endpoint | undefined {
  const segment = segments[index];
  if (segment === undefined) return node.endpoint;
  const literal = node.get(encodeURIComponent(segment));
  const exact = literal && findEndpoint(literal, segments, index + 1, values);
  const parameter = node.get(anyValue);
  if (exact !== undefined || parameter === undefined || segment === "") return exact;
  values.push(segment);
  const found = findEndpoint(parameter, segments, index + 1, values);
  if (found === undefined) values.pop();
  return found;
}

/** A method and a path, whose literal segments are canonical. */
interface Template {
  readonly method: string;
  readonly path: string;
  /** Names of the parameters in the path. */
  readonly names: readonly string[];
}

/** Parses a route such as `GET /tasks/{id}`. Returns `undefined` for anything else. */
function parseTemplate(route: unknown): Template | undefined {
  const match = typeof route === "string" ? /^(GET|POST|PUT|PATCH|DELETE) \/([^\s?#]*)$/.exec(route) : null;
  if (match === null) return undefined;
  const [, method, rest] = match as unknown as [string, string, string];
  const names: string[] = [];
  let path = "";
  for (const segment of rest.split("/")) {
    const name = /^\{([^{}]+)\}$/.exec(segment)?.[1];
    if (name === undefined && (/[{}]/.test(segment) || segment === "." || segment === "..")) return undefined;
    if (name !== undefined) names.push(name);
    path += `/${name === undefined ? encodeURIComponent(decodePercent(segment) ?? segment) : segment}`;
  }
  return { method, path, names };
}

/** Returns why an operation cannot have a route. */
function findProblem({ spec }: ServedOperation, { method, names }: Template): string | undefined {
  const isRead = spec.type !== OperationType.MUTATION;
  if (isRead && method !== "GET" && method !== "POST") return `a ${spec.type} is called with GET or POST`;
  if (!isRead && method === "GET") return "a mutation is not called with GET";
  if (new Set(names).size < names.length) return "it has two parameters with the same name";
  const properties = listProperties(spec.inputSchema);
  if (properties === undefined && (names.length > 0 || method === "GET")) {
    return "the input is not an object with a fixed list of properties";
  }
  for (const name of names) {
    const property = properties?.get(name);
    if (property === undefined) return `the input has no property ${quote(name)}`;
    if (primitiveTypeOf(property.schema) === undefined) {
      return `the property ${quote(name)} is not a string, a number or a boolean`;
    }
  }
  return undefined;
}
