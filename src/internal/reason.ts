/** What an error says, as the end of a sentence. Errors about several addresses of one name say nothing but their code. */
export function toReason(error: unknown): string {
  const { message, code } = (error ?? {}) as { message?: unknown; code?: unknown };
  return String(message || code || error).replace(/\.$/, "");
}
