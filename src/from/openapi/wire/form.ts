import type { EncodingPlan } from "../plan.ts";
import { encodeForm, encodeReservedInQuery, toJSON, toText } from "./encode.ts";
import { identity, isMembers, presentItems, presentMembers, toPairs } from "./style.ts";

/** Whether the document asks for a style, so that the media type of the part no longer counts. */
export function hasStyle(encoding: EncodingPlan | undefined): boolean {
  return encoding?.style !== undefined || encoding?.explode !== undefined || encoding?.allowReserved !== undefined;
}

/** Spreads one property over pairs of plain names and plain values, by its style. */
export function toStyledPairs(name: string, value: unknown, encoding: EncodingPlan): Array<[string, string]> {
  const style = encoding.style ?? "form";
  const explode = encoding.explode ?? (style === "form" || style === "deepObject");
  return toPairs(name, value, { style, explode, encode: identity, encodeDelimiter: false });
}

/**
 * Writes an object as `application/x-www-form-urlencoded`. Without an encoding an array repeats its name and an object becomes
 * JSON, which are the specification's defaults.
 */
export function toForm(value: Record<string, unknown>, encodings: Record<string, EncodingPlan>): string {
  const pairs: string[] = [];
  for (const [name, member] of presentMembers(value)) {
    const encoding = Object.hasOwn(encodings, name) ? encodings[name] : undefined;
    const write = encoding?.allowReserved === true ? encodeReservedInQuery : encodeForm;
    for (const [key, text] of memberPairs(name, member, encoding)) pairs.push(`${encodeForm(key)}=${write(text)}`);
  }
  return pairs.join("&");
}

function memberPairs(name: string, value: unknown, encoding: EncodingPlan | undefined): Array<[string, string]> {
  if (encoding !== undefined && hasStyle(encoding)) return toStyledPairs(name, value, encoding);
  if (Array.isArray(value)) return presentItems(value).map((item) => [name, toText(item)]);
  return [[name, isMembers(value) ? toJSON(value) : toText(value)]];
}
