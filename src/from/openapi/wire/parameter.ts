import type { ParameterPlan } from "../endpoint.ts";
import { encode, encodeForm, encodeReservedInPath, encodeReservedInQuery, isAbsent, toJSON, toText } from "./encode.ts";
import { isJSON } from "./media-type.ts";
import { identity, isMembers, presentItems, presentMembers, toExpansion, toPairs } from "./style.ts";

/** Writes one value, encoded for its place. `undefined` means that nothing is sent. */
export type ParameterWriter = (value: unknown) => string | undefined;

/**
 * Compiles how one parameter is written, following the "Style Examples" of OpenAPI 3.0.4 and 3.1.1.
 *
 * `undefined` and `null` are not sent, even inside arrays and objects (RFC 6570, 2.3), except `null` in a parameter
 * that is written as JSON. Empty arrays and empty objects are not sent either, except in a query with
 * `allowEmptyValue`. Other falsy values (`""`, `0`, `false`) are sent.
 */
export function compileParameter(plan: ParameterPlan): ParameterWriter {
  const write = writerFor(plan);
  const isNullWritten = plan.contentType !== undefined && isJSON(plan.contentType);
  return (value) => {
    if (value === null && isNullWritten) return write(value);
    return isAbsent(value) || (isEmpty(value) && plan.contentType === undefined) ? empty(plan, value) : write(value);
  };
}

function writerFor(plan: ParameterPlan): ParameterWriter {
  switch (plan.location) {
    case "path":
      return pathWriter(plan);
    case "header":
      return headerWriter(plan);
    case "cookie":
      return cookieWriter(plan);
    case "querystring":
      return querystringWriter(plan);
    default:
      return queryWriter(plan);
  }
}

function pathWriter({ name, style, explode, allowReserved, contentType }: ParameterPlan): ParameterWriter {
  const encodeValue = allowReserved ? encodeReservedInPath : encode;
  if (contentType !== undefined) return (value) => encode(contentText(value, contentType));
  return (value) => toExpansion(name, value, style, explode, encodeValue);
}

function headerWriter({ name, style, explode, contentType }: ParameterPlan): ParameterWriter {
  if (contentType !== undefined) return (value) => contentText(value, contentType);
  return (value) => toExpansion(name, value, style, explode, identity);
}

function queryWriter({ name, style, explode, allowReserved, contentType }: ParameterPlan): ParameterWriter {
  const encodedName = encode(name);
  const encodeValue = allowReserved ? encodeReservedInQuery : encode;
  if (contentType !== undefined) return (value) => `${encodedName}=${encodeValue(contentText(value, contentType))}`;
  const rule = { style, explode, encode: encodeValue, encodeDelimiter: true };
  return (value) => {
    if (typeof value === "string") return `${encodedName}=${encodeValue(value)}`;
    if (typeof value !== "object") return `${encodedName}=${encodeValue(String(value))}`;
    return toPairs(name, value, rule)
      .map(([key, text]) => `${encode(key)}=${text}`)
      .join("&");
  };
}

// RFC 6570 joins exploded cookies with "&" for `form`, which would produce a single cookie. This writer always uses ";
// ".
function cookieWriter({ name, style, explode, contentType }: ParameterPlan): ParameterWriter {
  const isUnencoded = style === "cookie";
  const encodeValue = isUnencoded ? cookieText : encode;
  if (contentType !== undefined) return (value) => `${name}=${encode(contentText(value, contentType))}`;
  const rule = { style: "form", explode, encode: encodeValue, encodeDelimiter: !isUnencoded };
  return (value) =>
    toPairs(name, value, rule)
      .map(([key, text]) => `${isUnencoded ? cookieName(key) : encode(key)}=${text}`)
      .join("; ");
}

/** Checks the value of a cookie that is not encoded: it must not begin another cookie. */
function cookieText(text: string): string {
  if (text.includes(";")) throw new TypeError("contains a semicolon, which would end the cookie");
  if (/^ | $/.test(text)) throw new TypeError("begins or ends with a space, which a cookie would lose");
  return text;
}

function cookieName(name: string): string {
  if (name.includes("=")) throw new TypeError("contains an equals sign, which would end the name of the cookie");
  return cookieText(name);
}

/**
 * Writes the whole query (OpenAPI 3.2): a form of the object's members, or one encoded string in another media type.
 */
function querystringWriter({ contentType }: ParameterPlan): ParameterWriter {
  return (value) => {
    const isForm = contentType === undefined || contentType === "application/x-www-form-urlencoded";
    if (!isForm || !isMembers(value)) return encode(contentText(value, contentType ?? "text/plain"));
    return presentMembers(value)
      .flatMap(([key, member]) =>
        Array.isArray(member) ? presentItems(member).map((item) => [key, item]) : [[key, member]],
      )
      .map(([key, member]) => `${encodeForm(key as string)}=${encodeForm(toText(member))}`)
      .join("&");
  };
}

function contentText(value: unknown, contentType: string): string {
  return isJSON(contentType) ? (value === undefined ? "" : toJSON(value)) : toText(value);
}

function isEmpty(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return presentItems(value).length === 0;
  return isMembers(value) && presentMembers(value).length === 0;
}

function empty(plan: ParameterPlan, value: unknown): string | undefined {
  const asked = plan.allowEmptyValue && plan.location === "query" && value !== undefined;
  return asked ? `${encode(plan.name)}=` : undefined;
}
