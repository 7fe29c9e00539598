/** Takes secrets out of foreign text, such as an error page that repeats the request. */
export function redact(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) {
    // A very short one would blacken half the text, and is no secret.
    if (secret.length >= 4) clean = clean.replaceAll(secret, "[redacted]");
  }
  return clean;
}
