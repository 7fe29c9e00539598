import type { EndpointPlan, ParameterPlan } from "../plan.ts";

/**
 * Reads the arguments of the next page from a `Link` header (RFC 8288). Only declared query parameters are taken, and only from links to
 * the service's own origin: the link never becomes a request by itself.
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

/** A query is text: the declared type, else the type of what was asked for, tells numbers apart. */
function toArgument(text: string, { schema }: ParameterPlan, given: unknown): unknown {
  if (Array.isArray(given) && given.map(String).join(",") === text) return given;
  const declared = (schema as { type?: unknown } | null | undefined)?.type ?? typeof given;
  const types = Array.isArray(declared) ? declared : [declared];
  const isNumber = types.includes("number") || types.includes("integer");
  if (isNumber && text.trim() !== "" && Number.isFinite(Number(text))) return Number(text);
  if (types.includes("boolean") && (text === "true" || text === "false")) return text === "true";
  return text;
}
