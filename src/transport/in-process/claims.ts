/** How many ended requests are remembered, at least. */
const minRemembered = 10_000;
/** Requests that are never answered are forgotten, oldest first, above this many. */
const maxOpen = 20_000;

/**
 * The requests at one event target that a server has claimed, by request id: every server at the target receives every
 * request, and one of them runs it.
 */
export class Claims {
  readonly #open = new Set<string>();
  #ended = new Set<string>();
  #endedBefore = new Set<string>();

  /** True for the first server that claims a request. Later ones, and repeated requests, get false. */
  add(requestId: string): boolean {
    if (this.has(requestId)) return false;
    this.#open.add(requestId);
    if (this.#open.size > maxOpen) this.end(this.#open.values().next().value!);
    return true;
  }

  has(requestId: string): boolean {
    return this.#open.has(requestId) || this.#ended.has(requestId) || this.#endedBefore.has(requestId);
  }

  /**
   * The request has ended, claimed or not. Its id stays claimed for a while: other servers at the target may receive the
   * request only now.
   */
  end(requestId: string): void {
    this.#open.delete(requestId);
    this.#ended.add(requestId);
    if (this.#ended.size < minRemembered) return;
    this.#endedBefore = this.#ended;
    this.#ended = new Set();
  }
}

/** Shared by all copies of this package in the process, because they may share a target. */
const registryKey = Symbol.for("@alkdev/operations.claims");

function claimsByTarget(): WeakMap<object, Claims> {
  const existing: unknown = Reflect.get(globalThis, registryKey);
  if (existing instanceof WeakMap) return existing;
  const created = new WeakMap<object, Claims>();
  Object.defineProperty(globalThis, registryKey, { value: created });
  return created;
}

/** The claims at a target, the same for everybody who asks. */
export function claimsOf(target: object): Claims {
  const all = claimsByTarget();
  let claims = all.get(target);
  if (claims === undefined) {
    claims = new Claims();
    all.set(target, claims);
  }
  return claims;
}
