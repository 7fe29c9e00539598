import { isObject } from "../../internal/objects.ts";
import { isSecretName } from "../../internal/secrets.ts";
import { hrefTo } from "./router.ts";

const maxLength = 8_000;

/** Returns the address of an operation with an input that its form shows; without it if it is too long. Nothing is sent. */
export function hrefWithInput(id: string, input: unknown): string {
  const text = input === undefined ? "" : encode(withoutSecrets(input));
  return hrefTo("operations", id, { input: text.length > maxLength ? "" : text });
}

/** Reads the input of an address; `undefined` if it has none. */
export function readInput(text: string): { input: unknown } | undefined {
  try {
    const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    return { input: JSON.parse(new TextDecoder().decode(bytes)) };
  } catch {
    return undefined;
  }
}

/** Links are sent to others, and stay in the history of the browser. */
function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (!isObject(value)) return value;
  const members = Object.entries(value).filter(([name, member]) => typeof member === "object" || !isSecretName(name));
  return Object.fromEntries(members.map(([name, member]) => [name, withoutSecrets(member)]));
}

function encode(input: unknown): string {
  const bytes = new TextEncoder().encode(JSON.stringify(input));
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
