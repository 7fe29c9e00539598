import { createHash } from "node:crypto";

/** Longer tokens become a hash: a server takes lines of 4,096 bytes, with both subjects of a message in them. */
const maxTokenLength = 256;
const maxAddressLength = 1_024;
/** Ids come from callers, who may make up any number of them. */
const maxRemembered = 10_000;
const unsafe = /[^A-Za-z0-9_-]/gu;

/** Names of subjects below one prefix. */
export class Subjects {
  /** Where peers tell each other what they serve. */
  readonly peers: string;
  readonly #prefix: string;
  /** Those of operations that were called before; making one takes longer than looking it up. */
  readonly #calls = new Map<string, string>();

  constructor(prefix: string) {
    this.#prefix = prefix;
    this.peers = `${prefix}.peers`;
  }

  /** Where requests for an operation go; one of the queue group of workers takes each. */
  call(operationId: string): string {
    let subject = this.#calls.get(operationId);
    if (subject !== undefined) return subject;
    subject = `${this.#prefix}.call.${encodeOperationId(operationId)}`;
    if (this.#calls.size >= maxRemembered) this.#calls.clear();
    this.#calls.set(operationId, subject);
    return subject;
  }

  /** The operation that was called at a subject, if it is not long ago. */
  calledAt(subject: string): string | undefined {
    for (const [operationId, called] of this.#calls) if (called === subject) return operationId;
    return undefined;
  }

  /** What all who serve an operation hear. */
  abort(operationId: string): string {
    return `${this.#prefix}.abort.${encodeOperationId(operationId)}`;
  }
}

/**
 * Tells whether this can be where a peer is reached. What stands in a message is a claim: nothing is sent to subjects that
 * are no inbox, or that a server would read as something else.
 */
export function isAddress(text: string): boolean {
  return text.length <= maxAddressLength && /^(?:[A-Za-z0-9_-]+\.)+[A-Za-z0-9_-]{22}$/.test(text);
}

/**
 * Two tokens, namespace and name, so that permissions can be given by namespace. Letters, digits, `_` and `-` stay;
 * every other character is `=`, its code in hexadecimal, and `=`.
 */
export function encodeOperationId(operationId: string): string {
  const dot = operationId.indexOf(".");
  if (dot < 0) return encodeToken(operationId);
  return `${encodeToken(operationId.slice(0, dot))}.${encodeToken(operationId.slice(dot + 1))}`;
}

function encodeToken(text: string): string {
  const token = text.replace(unsafe, (character) => `=${character.codePointAt(0)!.toString(16)}=`);
  if (token === "") return "=";
  if (token.length <= maxTokenLength) return token;
  return `==${createHash("sha256").update(text).digest("hex")}`;
}
