import { readPointer } from "../../../internal/json-pointer.ts";
import type { IOperationDefinition, ResponseEnvelope } from "../../../operation/index.ts";
import type { HTTPServiceConfig, PaginationRule } from "../config.ts";
import type { EndpointPlan, ParameterPlan } from "../endpoint.ts";

/** The pagination rule of one operation. Inferred rules search for the cursor and the items in the response. */
export interface PaginationPlan {
  kind: PaginationRule["kind"];
  /** The argument that changes from page to page. Absent for links. */
  parameter?: string;
  limitParameter?: string;
  cursor?: string;
  items?: string;
  inferred: boolean;
}

type Input = Record<string, unknown>;

const cursorNames =
  /^(?:(?:page|next|continuation|list)?_?(?:cursor|token|marker)|after|starting_?after|start_?cursor|page\[(?:cursor|after)\])$/i;
const offsetNames = /^(?:\$?skip|offset|start_?at|start_?index|page\[offset\])$/i;
const pageNames = /^(?:page|page_?(?:no|num|number|index)|page\[number\]|p)$/i;
const limitNames = /^(?:\$?top|limit|count|per_?page|page_?size|max_?results|size|page\[(?:size|limit)\])$/i;

/**
 * Returns the configured pagination rule, or one inferred from the names of query parameters, or `undefined` without
 * pages.
 */
export function findPagination(plan: EndpointPlan, config: HTTPServiceConfig): PaginationPlan | undefined {
  const { pagination } = config;
  if (pagination === false || (plan.method !== "GET" && plan.method !== "QUERY")) return undefined;
  const rule = pagination === undefined ? undefined : configuredRule(plan, pagination);
  if (rule === undefined) return infer(plan);
  if (rule.kind === "link") return { kind: "link", inferred: false };
  const { argument } =
    plan.parameters.find(({ argument, name }) => argument === rule.parameter || name === rule.parameter) ?? {};
  return argument === undefined ? undefined : { ...rule, parameter: argument, inferred: false };
}

function configuredRule(
  plan: EndpointPlan,
  setting: Exclude<HTTPServiceConfig["pagination"], false | undefined>,
): PaginationRule | undefined {
  if ("kind" in setting) return setting;
  const { operationId } = plan;
  const name = operationId.slice(operationId.indexOf(".") + 1);
  const key = [operationId, name].find((candidate) => Object.hasOwn(setting.operations, candidate));
  return key === undefined ? undefined : setting.operations[key];
}

function infer(plan: EndpointPlan): PaginationPlan | undefined {
  const named = (pattern: RegExp) =>
    plan.parameters.find(({ location, name }) => location === "query" && pattern.test(name))?.argument;
  const limit = named(limitNames);
  const limitParameter = limit === undefined ? {} : { limitParameter: limit };
  const cursor = named(cursorNames);
  if (cursor !== undefined) return { kind: "cursor", parameter: cursor, inferred: true };
  const offset = named(offsetNames);
  if (offset !== undefined) return { kind: "offset", parameter: offset, ...limitParameter, inferred: true };
  const page = named(pageNames);
  return page === undefined ? undefined : { kind: "page", parameter: page, ...limitParameter, inferred: true };
}

/**
 * Creates the function that returns the input of the next page. It never returns an input that equals the current one.
 */
export function compilePages(plan: EndpointPlan, rule: PaginationPlan): NonNullable<IOperationDefinition["nextPage"]> {
  return (input: Input | undefined, envelope: ResponseEnvelope) => {
    const current = input ?? {};
    const changes = nextArguments(plan, rule, current, envelope);
    if (changes === undefined) return undefined;
    const isNew = Object.entries(changes).some(([name, value]) => current[name] !== value);
    return isNew ? { ...current, ...changes } : undefined;
  };
}

function nextArguments(
  plan: EndpointPlan,
  rule: PaginationPlan,
  input: Input,
  { data, meta }: ResponseEnvelope,
): Input | undefined {
  const link = meta.source === "http" ? meta.headers["link"] : undefined;
  // Links of the server take precedence. A missing link marks the last page.
  if (link !== undefined && (rule.inferred || rule.kind === "link")) return readNextLink(plan, link, input);
  const { parameter } = rule;
  if (parameter === undefined) return undefined;
  if (rule.kind === "cursor") return nextCursor(rule, parameter, input, data);
  const items = rule.items === undefined ? findItems(data) : readPointer(data, rule.items);
  if (!Array.isArray(items) || items.length === 0) return undefined;
  const limit = rule.limitParameter === undefined ? undefined : input[rule.limitParameter];
  if (typeof limit === "number" && items.length < limit) return undefined;
  const step = rule.kind === "offset" ? items.length : 1;
  return { [parameter]: startOf(plan, rule, input[parameter]) + step };
}

function nextCursor(rule: PaginationPlan, parameter: string, input: Input, data: unknown): Input | undefined {
  const value = rule.cursor === undefined ? findCursor(data) : readPointer(data, rule.cursor);
  if ((typeof value !== "string" && typeof value !== "number") || value === "" || value === input[parameter])
    return undefined;
  return { [parameter]: value };
}

/** Returns the start value: the argument, the declared default, or the first offset or page. */
function startOf(plan: EndpointPlan, rule: PaginationPlan, given: unknown): number {
  if (typeof given === "number") return given;
  const declared = plan.parameters.find(({ argument }) => argument === rule.parameter);
  return defaultOf(declared) ?? (rule.kind === "offset" ? 0 : 1);
}

function defaultOf(parameter: ParameterPlan | undefined): number | undefined {
  const value = (parameter?.schema as { default?: unknown } | null | undefined)?.default;
  return typeof value === "number" ? value : undefined;
}

/** Returns the items of a page: the data itself, or its first property that is an array. */
export function findItems(data: unknown): unknown[] | undefined {
  if (Array.isArray(data)) return data;
  if (typeof data !== "object" || data === null) return undefined;
  return Object.values(data).find((value) => Array.isArray(value));
}

const cursorKeys = /^(?:next_?(?:page)?_?(?:cursor|token|marker)|continuation_?token|end_?cursor|last_?id)$/i;
const holders = /^(?:meta|response_?metadata|page_?info|paging|pagination|cursors?|page|links)$/i;

/** Searches for the cursor of the next page in the properties that APIs commonly use. */
export function findCursor(data: unknown): string | number | undefined {
  if (typeof data !== "object" || data === null || Array.isArray(data)) return undefined;
  const members = Object.entries(data);
  if (members.some(([key, value]) => /^(?:has_?(?:more|next_?page|next))$/i.test(key) && value === false))
    return undefined;
  for (const [key, value] of members) {
    if (cursorKeys.test(key) && isCursor(value)) return value;
  }
  for (const [key, value] of members) {
    const found = holders.test(key) ? (findCursor(value) ?? afterOf(value)) : undefined;
    if (found !== undefined) return found;
  }
  return lastIdOf(data as Record<string, unknown>);
}

/** Reads `{ paging: { cursors: { after } } }` and `{ paging: { next: { after } } }`. */
function afterOf(value: unknown): string | number | undefined {
  for (const pointer of ["/after", "/next/after", "/cursors/after", "/next"]) {
    const found = readPointer(value, pointer);
    if (isCursor(found) && !/^https?:/.test(String(found))) return found;
  }
  return undefined;
}

/** With `has_more` and without a cursor, returns the id of the last item. */
function lastIdOf(data: Record<string, unknown>): string | number | undefined {
  if (data["has_more"] !== true && data["hasMore"] !== true) return undefined;
  const id = readPointer(findItems(data)?.at(-1), "/id");
  return isCursor(id) ? id : undefined;
}

function isCursor(value: unknown): value is string | number {
  return (typeof value === "string" && value !== "") || typeof value === "number";
}

/**
 * Reads the arguments of the next page from a `Link` header (RFC 8288). Only declared query parameters are used, and
 * only from links to the service's own origin. The link itself is never requested.
 */
export function readNextLink(
  plan: EndpointPlan,
  header: string,
  input: Record<string, unknown>,
): Record<string, unknown> | undefined {
  const target = nextTarget(header);
  if (target === undefined || !URL.canParse(target, plan.baseUrl)) return undefined;
  const url = new URL(target, plan.baseUrl);
  if (url.origin !== new URL(plan.baseUrl).origin) return undefined;
  const found: Record<string, unknown> = {};
  for (const parameter of plan.parameters) {
    if (parameter.location !== "query") continue;
    const texts = url.searchParams.getAll(parameter.name);
    if (texts.length === 1) found[parameter.argument] = toArgument(texts[0]!, parameter, input[parameter.argument]);
  }
  return found;
}

function nextTarget(header: string): string | undefined {
  for (const [, target, parameters] of header.matchAll(/<([^<>]*)>([^<]*)/g)) {
    const rel = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/i.exec(parameters ?? "");
    const relations = (rel?.[1] ?? rel?.[2] ?? "").toLowerCase().split(/\s+/);
    if (relations.includes("next")) return target;
  }
  return undefined;
}

/** Converts a string of a query into an argument of the declared type, or of the type of the current argument. */
function toArgument(text: string, { schema }: ParameterPlan, given: unknown): unknown {
  if (Array.isArray(given) && given.map(String).join(",") === text) return given;
  const declared = (schema as { type?: unknown } | null | undefined)?.type ?? typeof given;
  const types = Array.isArray(declared) ? declared : [declared];
  const isNumber = types.includes("number") || types.includes("integer");
  if (isNumber && text.trim() !== "" && Number.isFinite(Number(text))) return Number(text);
  if (types.includes("boolean") && (text === "true" || text === "false")) return text === "true";
  return text;
}
