/** A server says at once that nobody is there: by then, so many later requests are not yet under way. */
const size = 16_384;

/** Gives the latest requests short names, because the name of each travels with it and comes back when nobody serves it. */
export class RecentRequests {
  readonly #ids: string[] = new Array(size);
  #count = 0;

  add(requestId: string): string {
    this.#count++;
    this.#ids[this.#count % size] = requestId;
    return this.#count.toString(36);
  }

  /** The id of the request with that name, while it is one of the latest. */
  find(name: string): string | undefined {
    const number = Number.parseInt(name, 36);
    const isRecent = number > 0 && number <= this.#count && number > this.#count - size;
    return isRecent ? this.#ids[number % size] : undefined;
  }
}
