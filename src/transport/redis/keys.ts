/** The workers of one operation are one group of consumers: each request goes to one of them. */
export const group = "operations";

/** Names of keys and channels below one prefix. Redis takes any character in them. */
export class Keys {
  /** Where peers tell each other what they serve. */
  readonly peers: string;
  /** What the keys of workers that are alive begin with. */
  readonly alive: string;
  /** Requests that several workers were lost with. */
  readonly dead: string;
  readonly #calls: string;
  readonly #aborts: string;
  readonly #inbox: string;

  /** @param database channels are common to all databases of a server, so their names contain its number */
  constructor(prefix: string, database: number) {
    const channels = `${prefix}:${database}`;
    this.peers = `${channels}:peers`;
    this.alive = `${prefix}:alive:`;
    this.dead = `${prefix}:dead`;
    this.#calls = `${prefix}:call:`;
    this.#aborts = `${channels}:abort:`;
    this.#inbox = `${channels}:inbox:`;
  }

  /** The stream of requests for an operation. */
  call(operationId: string): string {
    return this.#calls + operationId;
  }

  /** The channel that all who serve an operation hear. */
  abort(operationId: string): string {
    return this.#aborts + operationId;
  }

  createAddress(): string {
    return this.#inbox + crypto.randomUUID();
  }

  /** What stands in a request is a claim: answers go to inboxes and nowhere else. */
  isAddress(text: string): boolean {
    return text.startsWith(this.#inbox) && text.length < this.#inbox.length + 64;
  }
}
