import { toJSONSafe } from "../../internal/json-safe.ts";

const longestData = 4_000;

/** An object as JSON has it. */
export type JSONObject = Record<string, unknown>;

/** Tells objects from lists and everything else. */
export function isObject(value: unknown): value is JSONObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A text of foreign data; `undefined` when it is something else. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Leaves out what is `undefined`, so that an object reads as JSON has it. */
export function defined<T extends object>(object: T): T {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as T;
}

/** What a server added to its error, unless it is too much to pass on. */
export function boundedData({ data }: { data?: unknown }): { data?: unknown } {
  if (data === undefined) return {};
  const safe = toJSONSafe(data);
  return JSON.stringify(safe ?? null).length > longestData ? {} : { data: safe };
}
