import type { OperationSource, SourceChange, SourceReport } from "../from/source.ts";
import { Emitter, notify } from "../internal/emitter.ts";
import { createWarnOnce, logger } from "../internal/log.ts";
import { quote, truncate } from "../internal/text.ts";
import {
  assertValidSpec,
  formatOperationId,
  type IOperationDefinition,
  type Limits,
  mapError,
  type OperationContext,
  type OperationSpec,
  resolveLimits,
  toPublicSpec,
} from "../operation/index.ts";
import { describeForwarded, markAsForwarding } from "../registry/index.ts";
import type { PeerAnnounced, PeerEvent, Transport, Unsubscribe } from "../transport/transport.ts";
import type { ForwardedOptions } from "./outgoing/index.ts";
import { PendingRequestMap, type PendingRequestMapOptions } from "./pending-request-map.ts";

const log = logger("call");
const warnOnce = createWarnOnce(log);

/** How many problems of one announcement are reported one by one. */
const maxReportedProblems = 20;

/** How operations of peers are imported. */
export interface ImportPeersOptions {
  /** Sent with every call; `authenticate` of the peer maps it to an identity. */
  token?: string | ((context: OperationContext) => string | undefined);
  /** Receives what was skipped: specs that differ from those of another peer, and those that are invalid. @default the log */
  onReport?: (report: SourceReport) => void;
  /** `operations` is the maximum that one peer may announce. */
  limits?: Pick<Limits, "operations">;
}

/**
 * The operations that peers announce, for `registry.follow()`: each is an ordinary operation whose handler calls one of the
 * peers that serve it. Updated as peers join and leave. Where peers announce different specs for an operation, the first one
 * is used, and the others are reported. Closing the map is left to you.
 */
export function importPeers(callMap: PendingRequestMap, options?: ImportPeersOptions): OperationSource;
/**
 * The same over a transport that has no other user, such as a pool of workers: closing the source, or the registry that
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

/** What one peer announces about an operation. */
interface Offer {
  readonly spec: OperationSpec;
  /** The spec as JSON, to compare two of them. */
  readonly json: string;
}

class PeerSource implements OperationSource {
  readonly name: string;
  readonly #callMap: PendingRequestMap;
  readonly #options: ImportPeersOptions;
  readonly #maxOperations: number;
  readonly #onClose: (() => Promise<void>) | undefined;
  /** By operation, then by peer in the order of announcing. */
  readonly #offers = new Map<string, Map<string, Offer>>();
  readonly #definitions = new Map<string, { definition: IOperationDefinition; json: string }>();
  readonly #changes = new Emitter<SourceChange>((error) =>
    log.error("A listener of peer changes threw: {error}", { error }),
  );
  #stop: Unsubscribe | undefined = undefined;

  constructor(callMap: PendingRequestMap, options: ImportPeersOptions, onClose?: () => Promise<void>) {
    this.name = `peers:${callMap.transport.name}`;
    this.#callMap = callMap;
    this.#options = options;
    this.#maxOperations = resolveLimits(options.limits).operations;
    this.#onClose = onClose;
  }

  /** Resolves with what is announced at this time. Later announcements are reported as changes. */
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
    const offers = new Map<string, Offer>();
    let problems = 0;
    const skip = (where: string, reason: string) => {
      problems += 1;
      if (problems <= maxReportedProblems) this.#report("skipped", where, reason);
    };
    for (const [index, announced] of specs.entries()) {
      if (offers.size >= this.#maxOperations) {
        const reason = `A peer announces more than ${this.#maxOperations} operations. The rest is skipped. Raise limits.operations.`;
        this.#report("skipped", "specs", reason);
        break;
      }
      try {
        const offer = this.#toOffer(peerId, announced);
        const id = formatOperationId(offer.spec.namespace, offer.spec.name);
        if (offers.has(id)) skip(id, `A peer announces ${quote(id)} twice. The first one is used.`);
        else offers.set(id, offer);
      } catch (error) {
        skip(`specs/${index}`, `A peer announces an invalid operation: ${mapError(error).message}`);
      }
    }
    const unreported = problems - maxReportedProblems;
    if (unreported > 0) {
      this.#report("skipped", "specs", `${unreported} more operations of this announcement were skipped.`);
    }
    return offers;
  }

  /** Returns the known offer if it is the same: comparing takes much less time than checking, and memory. */
  #toOffer(peerId: string, announced: OperationSpec): Offer {
    const spec = toPublicSpec(announced);
    const json = JSON.stringify(spec);
    const offers = this.#offers.get(`${spec.namespace}.${spec.name}`);
    for (const known of [offers?.get(peerId), offers?.values().next().value]) if (known?.json === json) return known;
    assertValidSpec(announced);
    return { spec, json };
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
      if (known?.json === first.json) continue;
      const definition = this.#define(id, first.spec);
      this.#definitions.set(id, { definition, json: first.json });
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
    // A peer that identifies callers by the connection checks its own rules; the identity of this call does not reach it.
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

  #compare(id: string, peerId: string, { json }: Offer, offers: ReadonlyMap<string, Offer>): void {
    const first = offers.values().next().value;
    if (first === undefined || first.json === json) return;
    const reason = `The peer ${quote(peerId)} announces ${quote(id)} with a different spec than the first peer. It is not merged.`;
    this.#report("warnings", id, reason);
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
