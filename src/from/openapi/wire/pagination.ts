import { readPointer } from "../../../internal/json-pointer.ts";
import type { IOperationDefinition, ResponseEnvelope } from "../../../operation/index.ts";
import type { HTTPServiceConfig, PaginationRule } from "../config.ts";
import type { EndpointPlan, ParameterPlan } from "../plan.ts";
import { findCursor, findItems } from "./page-data.ts";
import { readNextLink } from "./page-link.ts";

/** How the pages of one operation are found. `inferred` ones look for cursor and items in the answer. */
export interface PaginationPlan {
  kind: PaginationRule["kind"];
  /** The argument that is changed from page to page; absent for links. */
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

/** Tells how pages are found: as configured, else by the names of query parameters. `undefined` when there are none. */
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

/** Makes the function that gives the input of the next page. It never gives an input that equals the current one. */
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
  // A server that links its pages knows best, also about the last one.
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

/** Where counting begins: at what was asked for, else the declared default, else the first offset or page. */
function startOf(plan: EndpointPlan, rule: PaginationPlan, given: unknown): number {
  if (typeof given === "number") return given;
  const declared = plan.parameters.find(({ argument }) => argument === rule.parameter);
  return defaultOf(declared) ?? (rule.kind === "offset" ? 0 : 1);
}

function defaultOf(parameter: ParameterPlan | undefined): number | undefined {
  const value = (parameter?.schema as { default?: unknown } | null | undefined)?.default;
  return typeof value === "number" ? value : undefined;
}
