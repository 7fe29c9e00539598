import { createHash } from "node:crypto";
import { BoundedMap } from "../../internal/bounded.ts";

/** Longer tokens become a hash: a server accepts lines of 4,096 bytes, with both subjects of a message in them. */
const maxTokenLength = 256;
const maxAddressLength = 1_024;
/** Callers can invent any number of ids. */
const maxRemembered = 10_000;
const unsafe = /[^A-Za-z0-9_-]/gu;

/** The subjects below one prefix. */
export class Subjects {
  /** Where peers announce what they serve. */
  readonly peers: string;
  readonly #prefix: string;
  /** The subjects of operations that were called before: encoding one takes longer than looking it up. */
  readonly #calls = new BoundedMap<string, string>(maxRemembered);

  constructor(prefix: string) {
    this.#prefix = prefix;
    this.peers = `${prefix}.peers`;
  }

  /** The subject of requests for an operation; each goes to one of the queue group of workers. */
  call(operationId: string): string {
    let subject = this.#calls.get(operationId);
    if (subject !== undefined) return subject;
    subject = `${this.#prefix}.call.${encodeOperationId(operationId)}`;
    this.#calls.set(operationId, subject);
    return subject;
  }

  /** The operation of a subject, if it was called recently. */
  calledAt(subject: string): string | undefined {
    for (const [operationId, called] of this.#calls) if (called === subject) return operationId;
    return undefined;
  }

  /** The subject that all workers of an operation subscribe to. */
  abort(operationId: string): string {
    return `${this.#prefix}.abort.${encodeOperationId(operationId)}`;
  }
}

/**
 * Returns whether a subject can be the address of a peer. An address in a message is a claim: nothing is sent to subjects
 * that are not an inbox, or that have a meaning for the server.
 */
export function isAddress(subject: string): boolean {
  return subject.length <= maxAddressLength && /^(?:[A-Za-z0-9_-]+\.)+[A-Za-z0-9_-]{22}$/.test(subject);
}

/**
 * Two tokens, namespace and name, so that permissions can be set by namespace. Letters, digits, `_` and `-` stay;
 * every other character is `=`, its code in hexadecimal, and `=`.
 */
function encodeOperationId(operationId: string): string {
  const dot = operationId.indexOf(".");
  if (dot < 0) return encodeToken(operationId);
  return `${encodeToken(operationId.slice(0, dot))}.${encodeToken(operationId.slice(dot + 1))}`;
}

function encodeToken(name: string): string {
  const token = name.replace(unsafe, (character) => `=${character.codePointAt(0)!.toString(16)}=`);
  if (token === "") return "=";
  if (token.length <= maxTokenLength) return token;
  return `==${createHash("sha256").update(name).digest("hex")}`;
}
