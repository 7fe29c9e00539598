/** Takes secrets out of foreign text, such as an error page that repeats the request. */
export function redact(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) {
    // A very short one would blacken half the text, and is no secret.
    if (secret.length >= 4) clean = clean.replaceAll(secret, "[redacted]");
  }
  return clean;
}

/** Takes secrets out of every text in a JSON value, names of properties included. */
export function redactDeep(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === "string") return redact(value, secrets);
  if (typeof value !== "object" || value === null || secrets.length === 0) return value;
  if (Array.isArray(value)) return value.map((item) => redactDeep(item, secrets));
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [redact(key, secrets), redactDeep(member, secrets)]),
  );
}
