/** A member of a {@link LinkedSet}. Contains its own links, so that adding and removing it allocates nothing. */
export class Linked {
  /** @internal */
  declare previous: Linked | undefined;
  /** @internal */
  declare next: Linked | undefined;
  /** @internal */
  declare owner: LinkedSet<Linked> | undefined;

  // Assigned here, because class fields are slower in a class with several subclasses.
  constructor() {
    this.previous = undefined;
    this.next = undefined;
    this.owner = undefined;
  }

  /** Removes the member from its set, if it is in one. */
  unlink(): void {
    this.owner?.delete(this);
  }
}

/** A set of members in the order in which they were added; a member is in one such set at a time. */
export class LinkedSet<T extends Linked> {
  #first: Linked | undefined = undefined;
  #last: Linked | undefined = undefined;

  get isEmpty(): boolean {
    return this.#first === undefined;
  }

  add(member: T): void {
    if (member.owner !== undefined) member.unlink();
    member.owner = this as unknown as LinkedSet<Linked>;
    member.previous = this.#last;
    const last = this.#last;
    this.#last = member;
    if (last === undefined) this.#first = member;
    else last.next = member;
  }

  delete(member: T): void {
    if ((member.owner as unknown) !== this) return;
    if (member.previous === undefined) this.#first = member.next;
    else member.previous.next = member.next;
    if (member.next === undefined) this.#last = member.previous;
    else member.next.previous = member.previous;
    member.previous = member.next = member.owner = undefined;
  }

  /** Removes and returns the oldest member. */
  shift(): T | undefined {
    const member = this.#first as T | undefined;
    if (member !== undefined) this.delete(member);
    return member;
  }

  /** Iterates from the oldest to the newest. Members must not be added or removed during the iteration. */
  *[Symbol.iterator](): IterableIterator<T> {
    for (let member = this.#first; member !== undefined; member = member.next) yield member as T;
  }
}
