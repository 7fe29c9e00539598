import type { OperationSource, SourceChange, SourceReport } from "../from/source.ts";
import { Emitter } from "../internal/emitter.ts";
import { createWarnOnce, logger } from "../internal/log.ts";
import {
  formatOperationId,
  type IOperationDefinition,
  type OperationContext,
  type OperationSpec,
} from "../operation/index.ts";
import { describeNesting, passOn } from "../registry/index.ts";
import type { PeerEvent, Unsubscribe } from "../transport/transport.ts";
import { markPeer } from "./origins.ts";
import type { PendingRequestMap } from "./pending-request-map.ts";
import type { PassedOnOptions } from "./request-options.ts";

const log = logger("call");
const warnOnce = createWarnOnce(log);

/** How operations of peers are taken in. */
export interface ImportPeersOptions {
  /** Shown to the peer for every call; its `authenticate` maps it to an identity. */
  token?: string | ((context: OperationContext) => string | undefined);
  /** Hears of peers that disagree. @default the log */
  onReport?: (report: SourceReport) => void;
}

/** What one peer says of an operation. */
interface Offer {
  readonly spec: OperationSpec;
  /** The spec as text, to tell whether two are the same. */
  readonly text: string;
}

/**
 * The operations that peers announce, for `registry.follow()`: each is an ordinary operation whose handler calls
 * whichever peer serves it. Kept current as peers come and go. Where peers disagree about an operation, the one that
 * was there first counts, and the other is reported.
 */
export function importPeers(callMap: PendingRequestMap, options: ImportPeersOptions = {}): OperationSource {
  return new PeerSource(callMap, options);
}

class PeerSource implements OperationSource {
  readonly name: string;
  readonly #callMap: PendingRequestMap;
  readonly #options: ImportPeersOptions;
  /** By operation, then by peer in the order of announcing. */
  readonly #offers = new Map<string, Map<string, Offer>>();
  readonly #definitions = new Map<string, { definition: IOperationDefinition; text: string }>();
  readonly #changes = new Emitter<SourceChange>((error) => log.error("A listener to peers threw: {error}", { error }));
  #stop: Unsubscribe | undefined = undefined;

  constructor(callMap: PendingRequestMap, options: ImportPeersOptions) {
    this.name = `peers:${callMap.transport.name}`;
    this.#callMap = callMap;
    this.#options = options;
  }

  /** Gives what is announced by now; what is announced later comes as a change. */
  async load(): Promise<IOperationDefinition[]> {
    this.#stop ??= this.#callMap.transport.watchPeers((event) => this.#onPeer(event));
    return Array.from(this.#definitions.values(), ({ definition }) => definition);
  }

  onChange(listener: (change: SourceChange) => void): Unsubscribe {
    return this.#changes.on(listener);
  }

  async close(): Promise<void> {
    this.#stop?.();
    this.#stop = undefined;
    this.#offers.clear();
    this.#definitions.clear();
  }

  #onPeer(event: PeerEvent): void {
    const { peerId } = event;
    const announced = event.type === "peer.announced" ? toOffers(event.specs) : new Map<string, Offer>();
    const touched = new Set(announced.keys());
    for (const [id, offers] of this.#offers) {
      if (!announced.has(id) && offers.delete(peerId)) touched.add(id);
    }
    for (const [id, offer] of announced) {
      const offers = this.#offers.get(id) ?? new Map<string, Offer>();
      offers.set(peerId, offer);
      this.#offers.set(id, offers);
    }
    this.#settle(touched);
  }

  #settle(ids: Iterable<string>): void {
    const change: SourceChange = { added: [], changed: [], removed: [] };
    for (const id of ids) {
      const offers = this.#offers.get(id);
      const first = offers?.values().next().value;
      const known = this.#definitions.get(id);
      if (first === undefined) {
        this.#offers.delete(id);
        if (this.#definitions.delete(id)) change.removed.push(id);
        continue;
      }
      this.#reportDisagreement(id, first, offers!);
      if (known?.text === first.text) continue;
      const definition = this.#define(id, first.spec);
      this.#definitions.set(id, { definition, text: first.text });
      change[known === undefined ? "added" : "changed"].push(definition);
    }
    if (change.added.length + change.changed.length + change.removed.length > 0) this.#changes.emit(change);
  }

  #define(id: string, spec: OperationSpec): IOperationDefinition {
    const callMap = this.#callMap;
    const handler: IOperationDefinition["handler"] =
      spec.type === "subscription"
        ? (input: unknown, context: OperationContext) => callMap.subscribe(id, input, this.#toOptions(context))
        : (input: unknown, context: OperationContext) => callMap.call(id, input, this.#toOptions(context));
    markPeer(handler, callMap);
    return { ...spec, handler: passOn(handler), fillDefaults: false };
  }

  #toOptions(context: OperationContext): PassedOnOptions {
    const { token } = this.#options;
    return {
      ...describeNesting(context),
      deadline: context.deadline,
      identity: context.identity,
      metadata: context.metadata,
      signal: context.abortable === false ? undefined : context.signal,
      onProgress: context.progress,
      token: typeof token === "function" ? token(context) : token,
    };
  }

  #reportDisagreement(id: string, first: Offer, offers: ReadonlyMap<string, Offer>): void {
    for (const [peerId, offer] of offers) {
      if (offer.text === first.text) continue;
      const reason = `${peerId} announces "${id}" with another spec than the peer that was there first; it is not merged.`;
      if (this.#options.onReport === undefined) warnOnce(`${peerId} ${offer.text}`, "{reason}", { reason });
      else this.#options.onReport({ imported: [], skipped: [], warnings: [{ where: id, reason }] });
    }
  }
}

/** What a peer announces, by id. What is no spec is left for the registry to refuse. */
function toOffers(specs: readonly OperationSpec[]): Map<string, Offer> {
  return new Map(
    specs.map((spec) => [formatOperationId(spec.namespace, spec.name), { spec, text: JSON.stringify(spec) }] as const),
  );
}
