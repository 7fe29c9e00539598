import { findUnsendable } from "../../../transport/unsendable.ts";

const notUnreserved = /[!'()*]/g;
const tripleOrReserved = /%25([0-9A-Fa-f]{2})|%(?:3A|2F|3F|40|21|24|28|29|2A|2B|2C|3B|3D)/g;
const reservedInPath = /%(?:3A|5B|5D|40|21|24|26|27|28|29|2A|2B|2C|3B|3D)/g;
const encodedTriple = /%25([0-9A-Fa-f]{2})/g;

/** Percent-encodes everything but RFC 3986's unreserved characters. Throws for a lone surrogate. */
export function encode(text: string): string {
  return encodeURIComponent(text).replace(notUnreserved, percent);
}

/**
 * Percent-encodes a query value with `allowReserved`. Reserved characters and percent triples are kept. Encoded are `&`
 * and `#`, which would end the value, and the brackets and quotes that a URL must not contain.
 */
export function encodeReservedInQuery(text: string): string {
  return encode(text).replace(tripleOrReserved, (match, triple?: string) =>
    triple === undefined ? decodeURIComponent(match) : `%${triple}`,
  );
}

/**
 * Percent-encodes a path value with `allowReserved`. `/`, `?`, `#` and `%` are still encoded, because they would change
 * the path.
 */
export function encodeReservedInPath(text: string): string {
  return encode(text).replace(reservedInPath, decodeURIComponent);
}

/** Percent-encodes for `application/x-www-form-urlencoded`, where a space becomes `+`. */
export function encodeForm(text: string): string {
  return encode(text).replaceAll("%20", "+");
}

/** Encodes a string of the document for a URL without changing its percent triples. */
export function encodeLiteral(text: string): string {
  return encodeURI(text).replace(encodedTriple, "%$1").replaceAll("'", "%27");
}

function percent(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

/** Converts a single value to a string. Objects and arrays become JSON. */
export function toText(value: unknown): string {
  if (typeof value === "string") return value;
  if (value instanceof Date) return value.toISOString();
  if (typeof value === "object" && value !== null) return toJSON(value);
  return String(value);
}

/** Converts a value to JSON. Throws a `TypeError` if JSON would silently lose a part of it, such as a `Blob`. */
export function toJSON(value: unknown): string {
  const found = findUnsendable(value);
  if (found !== undefined) throw new TypeError(`contains a value that cannot be sent: ${found.reason}`);
  return JSON.stringify(value);
}

/** Whether a value counts as absent, as in RFC 6570: `undefined` and `null`. */
export function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}
