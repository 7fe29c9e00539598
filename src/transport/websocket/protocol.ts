/** The WebSocket sub-protocol that frames are spoken in. */
export const subprotocol = "alkdev.operations.v1";

/** Browsers cannot set headers, so the token comes as a second sub-protocol, which the server never echoes. */
const tokenPrefix = "alkdev.operations.bearer.";

/** What to offer in the handshake. */
export function toProtocols(token: string | undefined): string[] {
  return token === undefined ? [subprotocol] : [subprotocol, tokenPrefix + toBase64URL(token)];
}

/** The token of a handshake: from `Authorization: Bearer`, else from the offered sub-protocols. */
export function readToken(headers: Record<string, string | string[] | undefined>): string | undefined {
  const { authorization } = headers;
  const bearer = typeof authorization === "string" ? /^Bearer +(\S+)$/i.exec(authorization)?.[1] : undefined;
  if (bearer !== undefined) return bearer;
  for (const offered of String(headers["sec-websocket-protocol"] ?? "").split(",")) {
    const name = offered.trim();
    if (name.startsWith(tokenPrefix)) return fromBase64URL(name.slice(tokenPrefix.length));
  }
  return undefined;
}

function toBase64URL(text: string): string {
  const binary = Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function fromBase64URL(text: string): string | undefined {
  try {
    const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes) || undefined;
  } catch {
    return undefined;
  }
}
