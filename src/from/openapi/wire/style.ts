import type { EncodingPlan } from "../endpoint.ts";
import { encodeForm, encodeReservedInQuery, isAbsent, toJSON, toText } from "./encode.ts";

/** How a value is split into pairs of name and value. Query, cookie, form and multipart share these rules. */
export interface PairRule {
  style: string;
  explode: boolean;
  /** Encodes every single value. */
  encode: (text: string) => string;
  /** Whether the delimiter is also percent-encoded, as in a URL. */
  encodeDelimiter: boolean;
}

/** Whether a value is written member by member. Dates and binary values are single values. */
export function isMembers(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null;
}

/** Returns the own members that are present, in their order. `__proto__` is an ordinary name. */
export function presentMembers(value: Record<string, unknown>): Array<[string, unknown]> {
  return Object.entries(value).filter(([, member]) => !isAbsent(member));
}

/** Returns the elements that are present. */
export function presentItems(value: readonly unknown[]): unknown[] {
  return value.filter((item) => !isAbsent(item));
}

/** Returns the character between the elements of a value that is not exploded. */
export function delimiterOf(style: string, encoded: boolean): string {
  switch (style) {
    case "spaceDelimited":
      return encoded ? "%20" : " ";
    case "pipeDelimited":
      return encoded ? "%7C" : "|";
    case "tabDelimited":
      return encoded ? "%09" : "\t";
    default:
      return ",";
  }
}

/**
 * Splits a value into pairs of a name and an encoded value. Absent values, empty arrays and empty objects have no
 * pairs, as in RFC 6570. Nested values become JSON, except with `deepObject`, which nests with brackets and indices.
 */
export function toPairs(name: string, value: unknown, rule: PairRule): Array<[name: string, value: string]> {
  if (isAbsent(value)) return [];
  if (rule.style === "deepObject") return deepPairs(name, value, rule.encode);
  const explode = rule.explode || rule.style === "multi";
  const write = (item: unknown) => rule.encode(toText(item));
  if (Array.isArray(value)) {
    const items = presentItems(value).map(write);
    if (explode) return items.map((item) => [name, item]);
    return items.length === 0 ? [] : [[name, items.join(delimiterOf(rule.style, rule.encodeDelimiter))]];
  }
  if (isMembers(value)) {
    const members = presentMembers(value);
    if (explode) return members.map(([key, member]) => [key, write(member)]);
    const flat = members.flatMap(([key, member]) => [rule.encode(key), write(member)]);
    return flat.length === 0 ? [] : [[name, flat.join(delimiterOf(rule.style, rule.encodeDelimiter))]];
  }
  return [[name, write(value)]];
}

function deepPairs(name: string, value: unknown, encode: (text: string) => string): Array<[string, string]> {
  if (Array.isArray(value)) {
    return presentItems(value).flatMap((item, index) => deepPairs(`${name}[${index}]`, item, encode));
  }
  if (isMembers(value)) {
    return presentMembers(value).flatMap(([key, member]) => deepPairs(`${name}[${key}]`, member, encode));
  }
  return [[name, encode(toText(value))]];
}

/** Writes a value in the path and header styles: `simple`, `label` and `matrix`. */
export function toExpansion(
  name: string,
  value: unknown,
  style: string,
  explode: boolean,
  encode: (text: string) => string,
): string {
  if (style === "matrix") {
    const pairs = toPairs(name, value, { style, explode, encode, encodeDelimiter: true });
    return pairs.map(([key, text]) => (text === "" ? `;${encode(key)}` : `;${encode(key)}=${text}`)).join("");
  }
  const prefix = style === "label" ? "." : "";
  const delimiter = style === "label" && explode ? "." : delimiterOf(style, encode !== identity);
  if (Array.isArray(value)) {
    return (
      prefix +
      presentItems(value)
        .map((item) => encode(toText(item)))
        .join(delimiter)
    );
  }
  if (!isMembers(value)) return prefix + encode(toText(value));
  const glue = explode ? "=" : delimiter;
  return (
    prefix +
    presentMembers(value)
      .map(([key, member]) => `${encode(key)}${glue}${encode(toText(member))}`)
      .join(delimiter)
  );
}

/** The encoder for values that are not percent-encoded, such as headers. */
export function identity(text: string): string {
  return text;
}

/** Whether the document declares a style, so that the media type of the part does not apply. */
export function hasStyle(encoding: EncodingPlan | undefined): boolean {
  return encoding?.style !== undefined || encoding?.explode !== undefined || encoding?.allowReserved !== undefined;
}

/** Splits one property into pairs of unencoded names and values, according to its style. */
export function toStyledPairs(name: string, value: unknown, encoding: EncodingPlan): Array<[string, string]> {
  const style = encoding.style ?? "form";
  const explode = encoding.explode ?? (style === "form" || style === "deepObject");
  return toPairs(name, value, { style, explode, encode: identity, encodeDelimiter: false });
}

/**
 * Writes an object as `application/x-www-form-urlencoded`. Without an encoding, an array repeats its name and an object
 * becomes JSON, as the specification defines.
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
