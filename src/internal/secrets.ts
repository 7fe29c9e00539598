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
