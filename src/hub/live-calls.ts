import { CallError, type Identity, type OperationContext, overloaded, Type } from "../operation/inside.ts";
import type { OperationRegistry, RegistryCallEvent } from "../registry/index.ts";
import { columns } from "./call-records.ts";

/** Maximum number of events that a slow reader has not read. */
const maxUnread = 1_000;
/** Maximum number of readers that have the same identity. */
const maxReaders = 10;
const tooSlow = "The reader of hub.calls is too slow. Subscribe again, or to one operation.";

const { requestId, parentRequestId, operationId, identity, via, code } = columns;

/** An event of a call that starts or ends. */
export const callEventSchema = Type.Object({
  kind: Type.Enum(["started", "succeeded", "failed"]),
  requestId: requestId.schema,
  parentRequestId: parentRequestId.schema,
  operationId: operationId.schema,
  identity: identity.schema,
  via: via.schema,
  timestamp: Type.Number({ description: "In milliseconds since the epoch." }),
  duration: Type.Optional(Type.Number({ description: "In milliseconds; missing when the call starts." })),
  code: code.schema,
});

/** Selects events of calls. */
export interface LiveFilter {
  /** Only calls of this operation. */
  operationId?: string | undefined;
  /** Only the call with this id and those that it makes. */
  requestId?: string | undefined;
}

type LiveEvent = ReturnType<typeof toLiveEvent>;

interface Reader {
  readonly identity: Identity | undefined;
  readonly unread: LiveEvent[];
  isTooSlow: boolean;
  matches(event: LiveEvent): boolean;
  wake(): void;
}

/** Reports calls to readers. Each event is created once for all of them. */
export class LiveCalls {
  readonly #registry: OperationRegistry;
  readonly #ignored: ReadonlySet<string>;
  readonly #readers = new Set<Reader>();
  #stop = () => {};

  /** @param ignored - ids of operations whose calls are not reported */
  constructor(registry: OperationRegistry, ignored: readonly string[]) {
    this.#registry = registry;
    this.#ignored = new Set(ignored);
  }

  /** Yields the events from now on: those of the caller, or of all callers. */
  async *watch(
    filter: LiveFilter,
    { identity, signal }: OperationContext,
    seesAll: boolean,
  ): AsyncGenerator<LiveEvent> {
    const own = [...this.#readers].filter((reader) => reader.identity?.id === identity?.id);
    if (own.length >= maxReaders)
      throw overloaded("Too many subscriptions of hub.calls have the same caller", maxReaders);
    const isSelected = createFilter(filter);
    const reader: Reader = {
      identity,
      unread: [],
      isTooSlow: false,
      matches: (event) => (seesAll || event.identity === identity?.id) && isSelected(event),
      wake: () => {},
    };
    const wake = () => reader.wake();
    signal.addEventListener("abort", wake);
    this.#add(reader);
    try {
      while (!signal.aborted) {
        const [...events] = reader.unread.splice(0);
        yield* events;
        if (reader.isTooSlow) throw new CallError("OVERFLOW", tooSlow);
        if (reader.unread.length === 0 && !signal.aborted) {
          await new Promise<void>((resolve) => {
            reader.wake = resolve;
          });
        }
      }
    } finally {
      signal.removeEventListener("abort", wake);
      this.#remove(reader);
    }
  }

  #add(reader: Reader): void {
    this.#readers.add(reader);
    if (this.#readers.size === 1) this.#stop = this.#registry.on("call", (event) => this.#onCall(event));
  }

  #remove(reader: Reader): void {
    if (this.#readers.delete(reader) && this.#readers.size === 0) this.#stop();
  }

  #onCall(event: RegistryCallEvent): void {
    if (event.kind === "progressed" || event.kind === "yielded" || this.#ignored.has(event.operationId)) return;
    const shared = toLiveEvent(event);
    for (const reader of this.#readers) {
      if (!reader.matches(shared)) continue;
      if (reader.unread.length < maxUnread) reader.unread.push(shared);
      else {
        reader.isTooSlow = true;
        this.#remove(reader);
      }
      reader.wake();
    }
  }
}

function createFilter({ operationId, requestId }: LiveFilter): (event: LiveEvent) => boolean {
  const tree = new Set([requestId]);
  return (event) => {
    if (operationId !== undefined && event.operationId !== operationId) return false;
    if (requestId === undefined) return true;
    const isBelow = event.parentRequestId !== undefined && tree.has(event.parentRequestId);
    if (isBelow && event.kind === "started") tree.add(event.requestId);
    const isSelected = tree.has(event.requestId);
    if (isSelected && event.kind !== "started") tree.delete(event.requestId);
    return isSelected;
  };
}

function toLiveEvent(event: Extract<RegistryCallEvent, { kind: "started" | "succeeded" | "failed" }>) {
  const { kind, requestId, parentRequestId, operationId, identity, via = "code", timestamp } = event;
  const duration = kind === "started" ? undefined : event.duration;
  const code = kind === "failed" ? event.error.code : undefined;
  return { kind, requestId, parentRequestId, operationId, identity: identity?.id, via, timestamp, duration, code };
}
