import type { OperationSource, SourceChange, Unsubscribe } from "../from/source.ts";
import { formatOperationId, type IOperationDefinition, type OperationSpec } from "../operation/index.ts";
import { toCallerView } from "../schema/index.ts";
import { reportRefused, reportTaken } from "./reports.ts";
import type { ChangeEvent, Following, OperationRegistry } from "./types.ts";

type Target = Pick<
  OperationRegistry,
  "get" | "getHandler" | "has" | "on" | "register" | "registerHandler" | "registerSpec" | "replace" | "unregister"
>;

/**
 * Keeps in a registry what a source has. Only operations that came from the source are ever replaced or removed by it;
 * one whose id is taken waits until the id is free, and one that is refused leaves the others alone.
 */
export class Follower implements Following {
  readonly #target: Target;
  readonly #source: OperationSource;
  /** What of the source is in the registry, by id. */
  readonly #own = new Map<string, IOperationDefinition>();
  /** Of these, the ones that only added their handler to a registered spec without one. */
  readonly #lent = new Set<string>();
  /** What is not in the registry because its id is taken. */
  readonly #waiting = new Map<string, IOperationDefinition>();
  readonly #early: SourceChange[] = [];
  readonly #stops: Array<Unsubscribe | undefined> = [];
  #state: "loading" | "following" | "closed" = "loading";
  #closing: Promise<void> | undefined = undefined;

  constructor(target: Target, source: OperationSource) {
    this.#target = target;
    this.#source = source;
  }

  /** Whether the operation of this id is the source's. */
  holds(id: string): boolean {
    return this.#own.has(id);
  }

  /** Whether the source may have an operation in a moment that it does not have now. */
  mayHave(id: string): boolean {
    return this.#source.isIncomplete?.(id) ?? false;
  }

  async start(signal: AbortSignal): Promise<void> {
    // Listening starts before loading, so that no change in between is lost.
    this.#stops.push(
      this.#source.onChange?.((change) => {
        if (this.#state === "loading") this.#early.push(change);
        else if (this.#state === "following") this.#apply(change);
      }),
    );
    try {
      const definitions = await this.#source.load({ signal });
      if (this.#state === "closed") return;
      this.#stops.push(this.#target.on("change", (event) => this.#onChange(event)));
      for (const definition of definitions) this.#add(definition);
    } catch (error) {
      for (const stop of this.#stops) stop?.();
      if (signal.aborted) await this.close(); // the registry is closed: there is no second attempt
      throw error;
    }
    this.#state = "following";
    for (const change of this.#early.splice(0)) this.#apply(change);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    this.#state = "closed";
    for (const stop of this.#stops) stop?.();
    this.#waiting.clear();
    for (const id of [...this.#own.keys()]) this.#remove(id);
    await this.#source.close();
  }

  #apply({ added, changed, removed }: SourceChange): void {
    for (const id of removed) this.#remove(id);
    for (const definition of [...changed, ...added]) this.#add(definition);
  }

  #add(definition: IOperationDefinition): void {
    let id = "(not an operation)";
    try {
      id = formatOperationId(definition.namespace, definition.name);
      if (this.#lent.has(id)) this.#remove(id);
      if (this.#own.has(id)) this.#claim(id, definition, () => this.#target.replace(definition));
      else this.#place(id, definition);
    } catch (error) {
      reportRefused(this.#source.name, id, error);
    }
  }

  #place(id: string, definition: IOperationDefinition): void {
    const known = this.#target.get(id);
    this.#waiting.delete(id);
    if (known === undefined) this.#claim(id, definition, () => this.#target.register(definition));
    else if (known.handler === undefined && isAlike(known, definition)) {
      this.#lent.add(id);
      this.#claim(id, definition, () => this.#target.registerHandler(id, definition.handler));
    } else {
      this.#waiting.set(id, definition);
      reportTaken(this.#source.name, id, isAlike(known, definition));
    }
  }

  /** What is ours is written down before it is registered, because listeners to changes may act immediately. */
  #claim(id: string, definition: IOperationDefinition, register: () => void): void {
    const before = this.#own.get(id);
    this.#own.set(id, definition);
    try {
      register();
    } catch (error) {
      if (before === undefined) this.#own.delete(id);
      else this.#own.set(id, before);
      throw error;
    }
  }

  #remove(id: string): void {
    this.#waiting.delete(id);
    const isLent = this.#lent.delete(id);
    if (!this.#own.delete(id)) return;
    const known = this.#target.get(id);
    this.#target.unregister(id);
    if (!isLent || known === undefined) return;
    const { handler: _handler, ...spec } = known;
    this.#target.registerSpec(spec);
  }

  /** Reacts to changes of the registry. Those of this follower are recognised by the handlers that it has noted. */
  #onChange({ kind, operationId: id }: ChangeEvent): void {
    const own = this.#own.get(id);
    if (own === undefined) {
      const waiting = this.#waiting.get(id);
      if (kind === "removed" && waiting !== undefined && !this.#target.has(id)) this.#add(waiting);
      return;
    }
    if (this.#target.getHandler(id) === own.handler) return;
    this.#own.delete(id);
    this.#lent.delete(id);
    // What was taken out by hand stays out until the source changes it; what was replaced waits.
    if (kind !== "removed") this.#add(own);
  }
}

/**
 * Whether two specs have the same input and output, so that one can replace the other. What a peer announces is the
 * caller's view of its input.
 */
function isAlike(one: OperationSpec, other: OperationSpec): boolean {
  const shape = ({ type, inputSchema, outputSchema }: OperationSpec) =>
    JSON.stringify([type, toCallerView(inputSchema), outputSchema]);
  try {
    return shape(one) === shape(other);
  } catch {
    return false; // a schema that is made when it is read, and cannot be
  }
}
