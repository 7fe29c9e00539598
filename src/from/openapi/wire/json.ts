import { isNestedDeeper } from "../../../transport/json-depth.ts";

/** Thrown by {@link parseForeign} for JSON that is nested too deeply. */
export class TooDeep extends Error {}

/** `JSON.parse` that first checks the depth. A leading byte order mark is skipped. */
export function parseForeign(text: string, maxDepth: number): unknown {
  const json = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  if (isNestedDeeper(json, maxDepth)) throw new TooDeep();
  return JSON.parse(json);
}
