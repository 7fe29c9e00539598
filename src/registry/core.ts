import { Emitter } from "../internal/emitter.ts";
import { nearest } from "../internal/nearest.ts";
import {
  handlerMissing,
  type Limits,
  type OperationEnv,
  type OperationSpec,
  type OutputPolicy,
  type Progress,
  resolveLimits,
} from "../operation/index.ts";
import type { CallContext, ContextHost } from "./call-context.ts";
import type { Entry } from "./entry.ts";
import { createTrustedEnv } from "./env.ts";
import { raise } from "./failures.ts";
import { Guard } from "./guard.ts";
import { MiddlewareList } from "./middleware.ts";
import { describeCall } from "./observe.ts";
import { Prepared } from "./prepared.ts";
import { reportListener } from "./reports.ts";
import type { ChangeEvent, CustomAuth, RegistryCallEvent, RegistryOptions } from "./types.ts";

/** What the steps of a call see of the registry that runs it. */
export class RegistryCore implements ContextHost {
  readonly limits: Required<Limits>;
  readonly calls = new Emitter<RegistryCallEvent>((error) => reportListener("call", error));
  readonly changes = new Emitter<ChangeEvent>((error) => reportListener("change", error));
  readonly middleware = new MiddlewareList(() => {
    for (const entry of this.#entries.values()) {
      if (entry.prepared !== undefined) entry.prepared.middleware = this.middleware.select(entry.id, entry.spec);
    }
  });
  isClosed = false;
  /** Whether a followed source may have an operation in a moment that is not here. */
  mayAppear: (id: string) => boolean = () => false;
  readonly #entries = new Map<string, Entry>();
  /** Made when somebody first asks by namespace, and kept up to date from then on. */
  #namespaces: Map<string, Map<string, Entry>> | undefined = undefined;
  readonly #customAuth: Readonly<Record<string, CustomAuth>>;
  readonly #outputPolicy: OutputPolicy;

  constructor({ customAuth = {}, outputPolicy = "cast", limits }: RegistryOptions) {
    this.#customAuth = customAuth;
    this.#outputPolicy = outputPolicy;
    this.limits = resolveLimits(limits);
  }

  entry(id: string): Entry | undefined {
    return this.#entries.get(id);
  }

  entries(): Iterable<Entry> {
    return this.#entries.values();
  }

  *specs(): Iterable<OperationSpec> {
    for (const { spec } of this.#entries.values()) yield spec;
  }

  namesIn(namespace: string): ReadonlyMap<string, Entry> | undefined {
    return this.#index().get(namespace);
  }

  namespaces(): Iterable<string> {
    return this.#index().keys();
  }

  /** Puts an operation in, in the place of the one with its id if there is one. */
  put(entry: Entry): void {
    const kind = this.#entries.has(entry.id) ? "changed" : "added";
    this.#entries.set(entry.id, entry);
    if (this.#namespaces !== undefined) addTo(this.#namespaces, entry);
    if (this.changes.hasListeners) this.changes.emit({ kind, operationId: entry.id, spec: entry.spec });
  }

  remove(id: string): boolean {
    const entry = this.#entries.get(id);
    if (entry === undefined) return false;
    const { namespace, name } = entry.spec;
    this.#entries.delete(id);
    const names = this.#namespaces?.get(namespace);
    names?.delete(name);
    if (names?.size === 0) this.#namespaces?.delete(namespace);
    this.changes.emit({ kind: "removed", operationId: id, spec: entry.spec });
    return true;
  }

  #index(): Map<string, Map<string, Entry>> {
    if (this.#namespaces === undefined) {
      this.#namespaces = new Map();
      for (const entry of this.#entries.values()) addTo(this.#namespaces, entry);
    }
    return this.#namespaces;
  }

  nearestId(id: string): string | undefined {
    return nearest(id, this.#entries.keys());
  }

  customAuth(name: string): CustomAuth | undefined {
    return Object.hasOwn(this.#customAuth, name) ? this.#customAuth[name] : undefined;
  }

  /** Compiles what a call of the operation needs. Throws a `CallError` when it cannot be called. */
  prepare(entry: Entry): Prepared {
    const { handler, id } = entry;
    if (handler === undefined) throw raise(id, handlerMissing(id));
    entry.prepared = new Prepared(entry, handler, entry.spec.outputPolicy ?? this.#outputPolicy);
    entry.prepared.middleware = this.middleware.select(id, entry.spec);
    return entry.prepared;
  }

  createGuard(operationId: string): Guard {
    return new Guard(operationId);
  }

  createEnv(context: CallContext): OperationEnv {
    return createTrustedEnv(this, context, "trust");
  }

  reportProgress(context: CallContext, operationId: string, progress: Progress): void {
    if (this.calls.hasListeners) {
      this.calls.emit({ kind: "progressed", ...describeCall(context, operationId), progress });
    }
  }
}

function addTo(namespaces: Map<string, Map<string, Entry>>, entry: Entry): void {
  const { namespace, name } = entry.spec;
  let names = namespaces.get(namespace);
  if (names === undefined) {
    names = new Map();
    namespaces.set(namespace, names);
  }
  names.set(name, entry);
}
