import type { MCPClientConfig } from "../config.ts";

/** Takes secrets out of foreign text, such as an error page that repeats the request. */
export function redact(text: string, secrets: Iterable<string>): string {
  let clean = text;
  for (const secret of secrets) {
    // A very short one would blacken half the text, and is no secret.
    if (secret.length >= 4) clean = clean.replaceAll(secret, "[redacted]");
  }
  return clean;
}

const telling = /token|secret|key|pass|auth|credential|cookie/i;

/** What of a configuration must not show up in errors and logs. Values that functions give are not known yet. */
export function secretsOf(config: MCPClientConfig): Set<string> {
  const secrets = new Set<string>();
  for (const [name, value] of Object.entries(config.env ?? {})) if (telling.test(name)) secrets.add(value);
  if (typeof config.headers === "object") addHeaders(secrets, config.headers);
  const { auth } = config;
  if (auth?.type === "bearer" && typeof auth.token === "string") secrets.add(auth.token);
  if (auth?.type === "clientCredentials") secrets.add(auth.clientSecret);
  return secrets;
}

/** Adds the values of headers that hold credentials, with and without their scheme. */
export function addHeaders(secrets: Set<string>, headers: Record<string, string>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (!telling.test(name)) continue;
    secrets.add(value);
    const [, credential] = value.split(" ", 2);
    if (credential) secrets.add(credential);
  }
}
