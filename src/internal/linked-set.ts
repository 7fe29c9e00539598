/** A member of a {@link LinkedSet}. Carries its own links, so that joining and leaving allocate nothing. */
export class Linked {
  /** @internal */
  declare previous: Linked | undefined;
  /** @internal */
  declare next: Linked | undefined;
  /** @internal */
  declare owner: LinkedSet<Linked> | undefined;

  // Assigned rather than defined as class fields, which is slower in a class that several others extend.
  constructor() {
    this.previous = undefined;
    this.next = undefined;
    this.owner = undefined;
  }

  /** Leaves the set it is in, if any. */
  unlink(): void {
    this.owner?.delete(this);
  }
}

/** A set of members in the order of joining; each member is in one such set at a time. */
export class LinkedSet<T extends Linked> {
  #first: Linked | undefined = undefined;
  #last: Linked | undefined = undefined;

  get isEmpty(): boolean {
    return this.#first === undefined;
  }

  add(member: T): void {
    member.unlink();
    member.owner = this as unknown as LinkedSet<Linked>;
    member.previous = this.#last;
    if (this.#last === undefined) this.#first = member;
    else this.#last.next = member;
    this.#last = member;
  }

  delete(member: T): void {
    if ((member.owner as unknown) !== this) return;
    if (member.previous === undefined) this.#first = member.next;
    else member.previous.next = member.next;
    if (member.next === undefined) this.#last = member.previous;
    else member.next.previous = member.previous;
    member.previous = member.next = member.owner = undefined;
  }

  /** Takes out and returns the oldest member. */
  shift(): T | undefined {
    const member = this.#first as T | undefined;
    if (member !== undefined) this.delete(member);
    return member;
  }

  /** From the oldest to the newest. Members must not come or go meanwhile. */
  *[Symbol.iterator](): IterableIterator<T> {
    for (let member = this.#first; member !== undefined; member = member.next) yield member as T;
  }
}
