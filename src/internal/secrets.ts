import { isObject } from "./objects.ts";

const secretName = /token|secret|key|pass|auth|credential|cookie|session|signature|jwt/i;
/** Short words, which are also parts of other words: `pin` of `shipping`. They count as a word of their own only. */
const secretWord = /(?:^|[^a-z])(?:sid|pin|otp|cvv|cvc|pwd|csrf|xsrf|saml|hmac)(?:[^a-z]|$)/i;

/** Shorter values are not secrets, and replacing them would make a message unreadable. */
const minSecretLength = 4;

/** Returns whether the name of a header, variable or parameter suggests that its value is a secret. */
export function isSecretName(name: string): boolean {
  return secretName.test(name) || secretWord.test(name.replaceAll(/([a-z\d])([A-Z])/g, "$1-$2"));
}

/** Replaces every secret in a string by `[redacted]`, such as in an error page that repeats the request. */
export function redact(text: string, secrets: Iterable<string>): string {
  let redacted = text;
  // The longest first, so that a secret that begins with another one is replaced completely.
  for (const secret of [...secrets].sort((one, other) => other.length - one.length)) {
    if (secret.length >= minSecretLength) redacted = redacted.replaceAll(secret, "[redacted]");
  }
  return redacted;
}

/** Redacts every string in a JSON value, names of properties included. */
export function redactDeep(value: unknown, secrets: readonly string[]): unknown {
  if (secrets.length === 0) return value;
  if (typeof value === "string") return redact(value, secrets);
  if (Array.isArray(value)) return value.map((item) => redactDeep(item, secrets));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [redact(key, secrets), redactDeep(member, secrets)]),
  );
}

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
