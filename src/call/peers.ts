import type { OperationSource, SourceChange, SourceReport } from "../from/source.ts";
import { Emitter, notify } from "../internal/emitter.ts";
import { createWarnOnce, logger } from "../internal/log.ts";
import { quote, truncate } from "../internal/text.ts";
import {
  type IOperationDefinition,
  type Limits,
  type OperationContext,
  type OperationSpec,
  resolveLimits,
} from "../operation/index.ts";
import { describeForwarded, markAsForwarding } from "../registry/index.ts";
import type { PeerAnnounced, PeerEvent, Transport, Unsubscribe } from "../transport/transport.ts";
import { type Offer, toOffers } from "./offers.ts";
import { PendingRequestMap, type PendingRequestMapOptions } from "./pending-request-map.ts";
import type { ForwardedOptions } from "./request-frame.ts";

const log = logger("call");
const warnOnce = createWarnOnce(log);

/** How operations of peers are taken in. */
export interface ImportPeersOptions {
  /** Shown to the peer for every call; its `authenticate` maps it to an identity. */
  token?: string | ((context: OperationContext) => string | undefined);
  /** Hears of peers that disagree, and of what they announce that is no operation. @default the log */
  onReport?: (report: SourceReport) => void;
  /** `operations` is the most that one peer may announce. */
  limits?: Pick<Limits, "operations">;
}

/**
 * The operations that peers announce, for `registry.follow()`: each is an ordinary operation whose handler calls
 * whichever peer serves it. Kept current as peers come and go. Where peers disagree about an operation, the one that
 * was there first counts, and the other is reported. The map stays yours to close.
 */
export function importPeers(callMap: PendingRequestMap, options?: ImportPeersOptions): OperationSource;
/**
 * The same over a transport that nobody else uses, such as a pool of workers: closing the source, or the registry that
 * follows it, closes the transport.
 */
export function importPeers(
  transport: Transport,
  options?: ImportPeersOptions & PendingRequestMapOptions,
): OperationSource;
export function importPeers(
  peers: PendingRequestMap | Transport,
  options: ImportPeersOptions & PendingRequestMapOptions = {},
): OperationSource {
  if (peers instanceof PendingRequestMap) return new PeerSource(peers, options);
  const callMap = new PendingRequestMap(peers, options);
  return new PeerSource(callMap, options, () => callMap.close());
}

class PeerSource implements OperationSource {
  readonly name: string;
  readonly #callMap: PendingRequestMap;
  readonly #options: ImportPeersOptions;
  readonly #maxOperations: number;
  readonly #onClose: (() => Promise<void>) | undefined;
  /** By operation, then by peer in the order of announcing. */
  readonly #offers = new Map<string, Map<string, Offer>>();
  readonly #definitions = new Map<string, { definition: IOperationDefinition; text: string }>();
  readonly #changes = new Emitter<SourceChange>((error) => log.error("A listener to peers threw: {error}", { error }));
  #stop: Unsubscribe | undefined = undefined;

  constructor(callMap: PendingRequestMap, options: ImportPeersOptions, onClose?: () => Promise<void>) {
    this.name = `peers:${callMap.transport.name}`;
    this.#callMap = callMap;
    this.#options = options;
    this.#maxOperations = resolveLimits(options.limits).operations;
    this.#onClose = onClose;
  }

  /** Gives what is announced by now; what is announced later comes as a change. */
  async load(): Promise<IOperationDefinition[]> {
    this.#stop ??= this.#callMap.transport.watchPeers((event) => this.#onPeer(event));
    return Array.from(this.#definitions.values(), ({ definition }) => definition);
  }

  onChange(listener: (change: SourceChange) => void): Unsubscribe {
    return this.#changes.on(listener);
  }

  isIncomplete(operationId: string): boolean {
    return this.#callMap.transport.isIncomplete?.(operationId) ?? false;
  }

  async close(): Promise<void> {
    this.#stop?.();
    this.#stop = undefined;
    this.#offers.clear();
    this.#definitions.clear();
    await this.#onClose?.();
  }

  #onPeer(event: PeerEvent): void {
    const { peerId } = event;
    const announced = event.type === "peer.announced" ? this.#read(event) : new Map<string, Offer>();
    const touched = new Set<string>();
    for (const [id, offers] of this.#offers) {
      if (!announced.has(id) && offers.delete(peerId)) touched.add(id);
    }
    for (const [id, offer] of announced) {
      const offers = this.#offers.get(id) ?? new Map<string, Offer>();
      if (offers.get(peerId) === offer) continue;
      offers.set(peerId, offer);
      this.#offers.set(id, offers);
      touched.add(id);
      this.#compare(id, peerId, offer, offers);
    }
    this.#settle(touched);
  }

  #read({ peerId, specs, omitted = [] }: PeerAnnounced): Map<string, Offer> {
    for (const id of omitted) {
      this.#report("skipped", id, `The peer ${quote(peerId)} cannot announce ${quote(id)}: its spec is too large.`);
    }
    return toOffers(specs, this.#maxOperations, {
      // Peers tend to announce what they, or others like them, have announced before.
      find: (id, text) => {
        const offers = this.#offers.get(id);
        const own = offers?.get(peerId);
        const known = own?.text === text ? own : offers?.values().next().value;
        return known?.text === text ? known : undefined;
      },
      report: (where, reason) => this.#report("skipped", where, reason),
    });
  }

  #settle(ids: Iterable<string>): void {
    const change: SourceChange = { added: [], changed: [], removed: [] };
    for (const id of ids) {
      const first = this.#offers.get(id)?.values().next().value;
      const known = this.#definitions.get(id);
      if (first === undefined) {
        this.#offers.delete(id);
        if (this.#definitions.delete(id)) change.removed.push(id);
        continue;
      }
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
    // A peer that knows who calls by the connection checks its rules itself; an identity given here would not reach it.
    const checkedRule = callMap.transport.capabilities?.carriesIdentity === true ? spec.accessControl : undefined;
    const returnsEnvelopes = callMap.transport.capabilities?.sharesObjects !== true;
    markAsForwarding(handler, { checkedRule, returnsEnvelopes, through: callMap });
    return { ...spec, handler, fillDefaults: false };
  }

  #toOptions(context: OperationContext): ForwardedOptions {
    const { token } = this.#options;
    const options = describeForwarded(context);
    if (token !== undefined) options.token = typeof token === "function" ? token(context) : token;
    return options;
  }

  #compare(id: string, peerId: string, { text }: Offer, offers: ReadonlyMap<string, Offer>): void {
    const first = offers.values().next().value;
    if (first === undefined || first.text === text) return;
    const reason = "with another spec than the peer that was there first; it is not merged.";
    this.#report("warnings", id, `The peer ${quote(peerId)} announces ${quote(id)} ${reason}`);
  }

  #report(kind: "skipped" | "warnings", where: string, text: string): void {
    const { onReport } = this.#options;
    const reason = truncate(text, 500);
    if (onReport === undefined) return warnOnce(`${where} ${reason}`, "{where}: {reason}", { where, reason });
    const report: SourceReport = { imported: [], skipped: [], warnings: [] };
    report[kind].push({ where, reason });
    notify(
      () => onReport(report),
      (error) => log.error("onReport of {name} threw: {error}", { name: this.name, error }),
    );
  }
}
