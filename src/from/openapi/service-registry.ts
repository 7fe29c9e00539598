import { CallError, type IOperationDefinition } from "../../operation/index.ts";
import type { OperationSource, SourceChange, Unsubscribe } from "../source.ts";
import { OpenAPIService, type OpenAPIServiceChange, type OpenAPIServiceOptions } from "./service.ts";

/**
 * Holds imported HTTP services and is one source of all their operations: follow it with `registry.follow(services)`, and
 * services that are added, removed or change later are applied. Each service is a source of its own as well.
 */
export class OpenAPIServiceRegistry implements OperationSource {
  readonly name = "openapi";
  readonly #services = new Map<string, { service: OpenAPIService; unsubscribe: Unsubscribe }>();
  readonly #listeners = new Set<(change: SourceChange) => void>();

  /** Adds a service and reads its document. Nothing is added when that fails, or when the namespace is taken. */
  async add(options: OpenAPIServiceOptions): Promise<OpenAPIService> {
    const { namespace } = options;
    this.#assertFree(namespace);
    const service = new OpenAPIService(options);
    await service.load();
    // Another one may have come in while this one was read.
    this.#assertFree(namespace);
    const unsubscribe = service.onChange((change) => this.#tell(change));
    this.#services.set(namespace, { service, unsubscribe });
    this.#tell({ added: service.operations(), changed: [], removed: [] });
    return service;
  }

  /** Closes a service and takes its operations away. `false` when there is none of that namespace. */
  async remove(namespace: string): Promise<boolean> {
    const held = this.#services.get(namespace);
    if (held === undefined) return false;
    this.#services.delete(namespace);
    held.unsubscribe();
    await held.service.close();
    this.#tell({ added: [], changed: [], removed: Object.keys(held.service.hashes()) });
    return true;
  }

  get(namespace: string): OpenAPIService | undefined {
    return this.#services.get(namespace)?.service;
  }

  /** Namespaces of the services, in the order they were added. */
  list(): string[] {
    return [...this.#services.keys()];
  }

  /** Tells every change from now on: services that come and go, and documents that change. */
  follow(listener: (change: SourceChange) => void): Unsubscribe {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** The operations of all services as they are known. */
  async load(): Promise<IOperationDefinition[]> {
    return [...this.#services.values()].flatMap(({ service }) => service.operations());
  }

  onChange(listener: (change: SourceChange) => void): Unsubscribe {
    return this.follow(listener);
  }

  /** Closes every service. */
  async close(): Promise<void> {
    const held = [...this.#services.values()];
    this.#services.clear();
    this.#listeners.clear();
    for (const { unsubscribe } of held) unsubscribe();
    await Promise.all(held.map(({ service }) => service.close()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #assertFree(namespace: string): void {
    if (!this.#services.has(namespace)) return;
    throw new CallError("VALIDATION_ERROR", `A service of the namespace "${namespace}" is there already.`, undefined, {
      mayHaveRun: false,
    });
  }

  #tell(change: SourceChange | OpenAPIServiceChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}
