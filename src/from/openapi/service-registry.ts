import { Emitter } from "../../internal/emitter.ts";
import { logger } from "../../internal/log.ts";
import type { IOperationDefinition } from "../../operation/index.ts";
import type { OperationSource, SourceChange, Unsubscribe } from "../source.ts";
import { badConfig } from "./document-error.ts";
import { OpenAPIService, type OpenAPIServiceOptions } from "./service.ts";

const log = logger("from", "openapi");

/**
 * Holds imported HTTP services and is one source of all their operations: follow it with `registry.follow(services)`, and
 * services that are added, removed or change later are applied. Each service is a source of its own as well.
 */
export class OpenAPIServiceRegistry implements OperationSource {
  readonly name = "openapi";
  readonly #services = new Map<string, { service: OpenAPIService; unsubscribe: Unsubscribe }>();
  readonly #changes = new Emitter<SourceChange>((error) =>
    log.error("A listener to OpenAPI services failed: {error}", { error }),
  );

  /** Adds a service and reads its document. Nothing is added when that fails, or when the namespace is taken. */
  async add(options: OpenAPIServiceOptions): Promise<OpenAPIService> {
    const { namespace } = options;
    this.#assertFree(namespace);
    const service = new OpenAPIService(options);
    await service.load();
    // Another one may have been added while this one was read.
    this.#assertFree(namespace);
    const unsubscribe = service.onChange((change) => this.#changes.emit(change));
    this.#services.set(namespace, { service, unsubscribe });
    this.#changes.emit({ added: service.operations(), changed: [], removed: [] });
    return service;
  }

  /** Closes a service and removes its operations. `false` when there is no service with that namespace. */
  async remove(namespace: string): Promise<boolean> {
    const held = this.#services.get(namespace);
    if (held === undefined) return false;
    this.#services.delete(namespace);
    held.unsubscribe();
    await held.service.close();
    this.#changes.emit({ added: [], changed: [], removed: Object.keys(held.service.hashes()) });
    return true;
  }

  /** The service with a namespace. */
  get(namespace: string): OpenAPIService | undefined {
    return this.#services.get(namespace)?.service;
  }

  /** Namespaces of the services, in the order they were added. */
  list(): string[] {
    return [...this.#services.keys()];
  }

  /** The operations of all services as they are known. */
  async load(): Promise<IOperationDefinition[]> {
    return [...this.#services.values()].flatMap(({ service }) => service.operations());
  }

  /** Emits every change from now on: services that are added or removed, and documents that change. */
  onChange(listener: (change: SourceChange) => void): Unsubscribe {
    return this.#changes.on(listener);
  }

  /** Closes every service. */
  async close(): Promise<void> {
    const held = [...this.#services.values()];
    this.#services.clear();
    for (const { unsubscribe } of held) unsubscribe();
    await Promise.all(held.map(({ service }) => service.close()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #assertFree(namespace: string): void {
    if (this.#services.has(namespace)) throw badConfig(`There is already a service with the namespace "${namespace}".`);
  }
}
