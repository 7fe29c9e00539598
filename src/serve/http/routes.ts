import type { ReportBuilder } from "../../from/report.ts";
import { getOwn } from "../../internal/objects.ts";
import { quote } from "../../internal/text.ts";
import { formatOperationPath, OperationType } from "../../operation/index.ts";
import type { ServedOperation } from "../visible.ts";
import { toImportedRoute } from "./imported-routes.ts";
import {
  type InputMapping,
  listProperties,
  mapToBody,
  mapToQuery,
  ParameterReader,
  primitiveTypeOf,
} from "./parameters.ts";
import { toHeaderValue } from "./response.ts";

/** Path of the OpenAPI document. */
export const documentPath = "/openapi.json";

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
  #reader: ParameterReader | undefined = undefined;
  #input: { mapping: InputMapping | undefined } | undefined = undefined;

  constructor(method: string, path: string, operation: ServedOperation, toInput: () => InputMapping | undefined) {
    this.method = method;
    this.path = path;
    this.operation = operation;
    this.headerId = toHeaderValue(operation.id);
    this.#toInput = toInput;
  }

  /** Returns the reader of the parameters. `maxDepth` limits the nesting of JSON in them. */
  reader(maxDepth: number): ParameterReader {
    this.#reader ??= new ParameterReader(this.operation.id, this.input?.parameters ?? [], maxDepth);
    return this.#reader;
  }

  /**
   * Where the properties of the input are; `undefined` if a URL cannot carry this input. Created when first read, because
   * the schema may be created then.
   */
  get input(): InputMapping | undefined {
    this.#input ??= { mapping: this.#toInput() };
    return this.#input.mapping;
  }
}

/** The routes of one path, by method. */
export class Endpoint {
  readonly #routes = new Map<string, Route>();

  /** Returns false if the method is taken. */
  add(route: Route): boolean {
    if (this.#routes.has(route.method)) return false;
    this.#routes.set(route.method, route);
    return true;
  }

  /** Finds the route of a request. `HEAD` is accepted where `GET` reads without a stream. */
  get(method: string): Route | undefined {
    const route = this.#routes.get(method === "HEAD" ? "GET" : method);
    if (route === undefined || route.input === undefined) return undefined;
    return method === "HEAD" && route.operation.isSubscription ? undefined : route;
  }

  /** Value of the header `Allow`. */
  get allow(): string {
    const methods = ["GET", "HEAD", ...this.#routes.keys()].filter((method) => this.get(method) !== undefined);
    return [...new Set(methods), "OPTIONS"].join(", ");
  }
}

/** An endpoint that a path matches, and the decoded values of its parameters in order. */
export interface RouteMatch {
  readonly endpoint: Endpoint;
  readonly values: readonly string[];
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

/** A segment of a path with parameters. */
interface TemplateNode {
  readonly literals: Map<string, TemplateNode>;
  parameter: TemplateNode | undefined;
  endpoint: Endpoint | undefined;
}

const noValues: readonly string[] = Object.freeze([]);

/** The routes of the operations that a server offers at one moment. */
export class RouteTable {
  /** Endpoints without parameters, by canonical path. */
  readonly #endpoints = new Map<string, Endpoint>();
  readonly #templates = createNode();
  /** The routes that the document describes, by operation id. */
  readonly #documented = new Map<string, Route>();

  constructor(operations: Iterable<ServedOperation>, options: RouteOptions, report: ReportBuilder) {
    const all = [...operations];
    for (const operation of all) this.#addDefaults(operation, report);
    for (const operation of all) {
      const wanted = getOwn(options.routes, operation.id) ?? definedRoute(operation);
      if (wanted !== undefined) this.#addCustom(operation, wanted, report);
      else if (options.keepRoutes === true) this.#addImported(operation, report);
    }
  }

  /** Finds the endpoint of a path, which begins with a slash and has no query. */
  match(path: string): RouteMatch | Endpoint | undefined {
    return this.#endpoints.get(path) ?? this.#matchSegments(path);
  }

  /** Returns the route of an operation that the document describes; `undefined` if it has none. */
  documented({ id, spec }: ServedOperation): Route | undefined {
    const route = this.#documented.get(id);
    if (route === undefined || route.input !== undefined || spec.type === OperationType.MUTATION) return route;
    return this.#endpoints.get(route.path)?.get("POST");
  }

  #addDefaults(operation: ServedOperation, report: ReportBuilder): void {
    const { id, spec } = operation;
    const path = formatOperationPath(spec.namespace, spec.name);
    if (path === undefined) {
      report.skipped(id, "a URL cannot have the segment . or .. of its name; rename it to serve it over HTTP");
      return;
    }
    const endpoint = new Endpoint();
    this.#endpoints.set(path, endpoint);
    const post = new Route("POST", path, operation, () => mapToBody(operation.published.inputSchema));
    const get = new Route("GET", path, operation, () => mapToQuery(operation.published.inputSchema));
    endpoint.add(post);
    const isRead = spec.type !== OperationType.MUTATION;
    if (isRead) endpoint.add(get);
    this.#documented.set(id, isRead ? get : post);
    report.imported(id);
  }

  #addCustom(operation: ServedOperation, wanted: unknown, report: ReportBuilder): void {
    const { id } = operation;
    const warn = (reason: string) => report.warn(id, `the route ${quote(String(wanted))} is not served: ${reason}`);
    const template = parseTemplate(wanted);
    if (template === undefined) return warn('a route is a method and a path, such as "GET /tasks/{id}"');
    const problem = findProblem(operation, template);
    if (problem !== undefined) return warn(problem);
    const { method, names } = template;
    const toInput = method === "GET" ? mapToQuery : mapToBody;
    if (!this.#add(operation, template, () => toInput(operation.published.inputSchema, names))) warn("it is taken");
  }

  #addImported(operation: ServedOperation, report: ReportBuilder): void {
    const imported = toImportedRoute(operation);
    if (imported === undefined) return;
    const warn = (reason: string) => report.warn(operation.id, `it keeps its default route: ${reason}`);
    if (typeof imported === "string") return warn(imported);
    const { route, input } = imported;
    const template = parseTemplate(route);
    const places = input.parameters.filter(({ in: location }) => location === "path").length;
    if (template?.names.length !== places) return warn(`${quote(route)} is not a route of this server`);
    if (!this.#add(operation, template, () => input)) warn(`${quote(route)} is taken`);
  }

  /** Adds a route that the document describes instead of the default one. Returns false if it is taken. */
  #add(operation: ServedOperation, template: Template, toInput: () => InputMapping | undefined): boolean {
    const { method, path, segments } = template;
    const route = new Route(method, path, operation, toInput);
    if (path === documentPath || !this.#endpointOf(segments).add(route)) return false;
    this.#documented.set(operation.id, route);
    return true;
  }

  /** Returns the endpoint of a path, which is created if necessary. */
  #endpointOf(segments: readonly Segment[]): Endpoint {
    if (segments.every(({ name }) => name === undefined)) {
      const path = segments.map(({ literal }) => `/${literal}`).join("");
      const endpoint = this.#endpoints.get(path) ?? new Endpoint();
      this.#endpoints.set(path, endpoint);
      return endpoint;
    }
    let node = this.#templates;
    for (const { literal, name } of segments) {
      const next = (name === undefined ? node.literals.get(literal) : node.parameter) ?? createNode();
      if (name === undefined) node.literals.set(literal, next);
      else node.parameter = next;
      node = next;
    }
    node.endpoint ??= new Endpoint();
    return node.endpoint;
  }

  #matchSegments(path: string): RouteMatch | Endpoint | undefined {
    let values: string[];
    try {
      values = path.slice(1).split("/").map(decodeURIComponent);
    } catch {
      return undefined; // It is not valid percent-encoded UTF-8.
    }
    const literals = values.map(encodeURIComponent);
    const endpoint = this.#endpoints.get(`/${literals.join("/")}`);
    return endpoint ?? findTemplate(this.#templates, literals, values, 0, noValues);
  }
}

/** Returns `http` of the definition of an operation. Sources that import operations remove it. */
function definedRoute({ spec }: ServedOperation): unknown {
  return getOwn(getOwn(spec._meta, "serve"), "http");
}

function createNode(): TemplateNode {
  return { literals: new Map(), parameter: undefined, endpoint: undefined };
}

/** Literals are preferred to parameters, from left to right. */
function findTemplate(
  node: TemplateNode,
  literals: readonly string[],
  values: readonly string[],
  index: number,
  found: readonly string[],
): RouteMatch | undefined {
  if (index === literals.length) {
    return node.endpoint === undefined ? undefined : { endpoint: node.endpoint, values: found };
  }
  const literal = node.literals.get(literals[index]!);
  const exact = literal && findTemplate(literal, literals, values, index + 1, found);
  if (exact !== undefined || node.parameter === undefined || values[index] === "") return exact;
  return findTemplate(node.parameter, literals, values, index + 1, [...found, values[index]!]);
}

/** A segment of a template: a canonical literal, or the name of a parameter. */
interface Segment {
  readonly literal: string;
  readonly name: string | undefined;
}

interface Template {
  readonly method: string;
  readonly path: string;
  readonly segments: readonly Segment[];
  readonly names: readonly string[];
}

/** Parses a route such as `GET /tasks/{id}`. Returns `undefined` for anything else. */
function parseTemplate(route: unknown): Template | undefined {
  const match = typeof route === "string" ? /^(GET|POST|PUT|PATCH|DELETE) \/([^\s?#]*)$/.exec(route) : null;
  if (match === null) return undefined;
  const [, method, rest] = match as unknown as [string, string, string];
  const segments: Segment[] = [];
  for (const text of rest.split("/")) {
    const name = /^\{([^{}]+)\}$/.exec(text)?.[1];
    if (name === undefined && (/[{}]/.test(text) || text === "." || text === "..")) return undefined;
    segments.push({ literal: name === undefined ? encodeURIComponent(decodeSafely(text)) : "", name });
  }
  const names = segments.flatMap(({ name }) => name ?? []);
  const path = segments.map(({ literal, name }) => (name === undefined ? `/${literal}` : `/{${name}}`)).join("");
  return { method, path, segments, names };
}

function decodeSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
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
