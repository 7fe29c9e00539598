import { isSecretName } from "../internal/secrets.ts";

/** User and password of a URL, or the name and the value of one of its parameters. */
const secretsInURL = /\/\/[^\s/?#]*@|([?&;])([^\s=&#;]{1,64})=[^\s&#;]*/g;

/** Replaces what is secret in the URLs in a string: users with passwords, and parameters with secret names. */
export function redactText(text: string): string {
  return text.replace(secretsInURL, (found: string, separator?: string, name = "") => {
    if (separator === undefined) return "//[redacted]@";
    return isSecretName(name) ? `${separator}${name}=[redacted]` : found;
  });
}

/**
 * For `JSON.stringify`: replaces the values of secret names, also in `{ name, value }` and `[name, value]`, and secrets in
 * URLs. A bigint becomes its digits.
 */
export function redactMember(this: unknown, key: string, member: unknown): unknown {
  if (typeof member === "bigint") return String(member);
  if (member === null || member === undefined) return member;
  if (isSecretName(key) || isValueOfSecret(this, key)) return "[redacted]";
  return typeof member === "string" ? redactText(member) : member;
}

function isValueOfSecret(holder: unknown, key: string): boolean {
  if (Array.isArray(holder)) return key === "1" && holder.length === 2 && isSecret(holder[0]);
  if (!/^(?:value|values|content|data|text)$/i.test(key)) return false;
  const { name, key: other, header } = holder as Record<string, unknown>;
  return [name, other, header].some(isSecret);
}

function isSecret(name: unknown): boolean {
  return typeof name === "string" && name.length <= 256 && isSecretName(name);
}
