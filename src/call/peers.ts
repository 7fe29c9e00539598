import { ReportBuilder } from "../from/report.ts";
import {
  isEmptyChange,
  type OperationSource,
  type SourceChange,
  type SourceLoadOptions,
  type SourceReport,
  type SourceTraits,
} from "../from/source.ts";
import { Emitter, notify } from "../internal/emitter.ts";
import { logger } from "../internal/log.ts";
import { quote } from "../internal/text.ts";
import {
  type AccessControl,
  assertValidSpec,
  type ForwardedCall,
  formatOperationId,
  type Identity,
  type IOperationDefinition,
  isOperator,
  type Limits,
  mapError,
  type OperationContext,
  type OperationSpec,
  resolveLimits,
  toPublicSpec,
} from "../operation/inside.ts";
import { Call, markAsForwarding } from "../registry/inside.ts";
import type { PeerAnnounced, PeerEvent, Transport, Unsubscribe } from "../transport/transport.ts";
import { PendingRequestMap, type PendingRequestMapOptions, toTransport } from "./pending-request-map.ts";

const log = logger("call");

/** Maximum number of problems of one announcement that are reported individually. */
const maxReportedProblems = 20;

/** Options of {@link peerSource}. */
export interface PeerSourceOptions {
  /** Token that is sent with every call. `authenticate` of the peer maps it to an identity. */
  token?: string | ((context: OperationContext) => string | undefined);
  /**
   * Receives a report of skipped specs: invalid specs, and specs that differ from those of another peer. @default they
   * are logged
   */
  onReport?: (report: SourceReport) => void;
  /** `operations` is the maximum number of operations that one peer may announce. */
  limits?: Pick<Limits, "operations">;
}

/**
 * Creates a source with the operations that the peers of a transport announce, for `registry.follow()`. Each is an
 * ordinary operation whose handler calls one of the peers that serve it. The source is updated as peers join and leave.
 * If peers announce different specs for an operation, the first one is used and the others are reported. Closing the
 * source closes the transport.
 *
 * On a broker, `follow` waits briefly for the peers to announce themselves. `registry.waitFor(id)` waits for one
 * operation.
 *
 * @example
 * await registry.follow(peerSource(await createNATSTransport({ servers: "nats://127.0.0.1:4222" })));
 */
export function peerSource(
  transport: Transport,
  options?: PeerSourceOptions & PendingRequestMapOptions,
): OperationSource & AsyncDisposable;
/** Creates the source from a map that you also use for other purposes. You have to close the map yourself. */
export function peerSource(callMap: PendingRequestMap, options?: PeerSourceOptions): OperationSource & AsyncDisposable;
export function peerSource(
  peers: PendingRequestMap | Transport,
  options: PeerSourceOptions & PendingRequestMapOptions = {},
): OperationSource & AsyncDisposable {
  if (peers instanceof PendingRequestMap) return new PeerSource(peers, options);
  const callMap = new PendingRequestMap(toTransport(peers, "peerSource()"), options);
  return new PeerSource(callMap, options, () => callMap.close());
}

/** One peer's announcement of an operation. */
interface Offer {
  readonly spec: OperationSpec;
  /** The spec as JSON, for comparisons. */
  readonly json: string;
}

class PeerSource implements OperationSource, AsyncDisposable {
  readonly name: string;
  readonly traits: SourceTraits;
  readonly #callMap: PendingRequestMap;
  readonly #options: PeerSourceOptions;
  #onReport: ((report: SourceReport) => void) | undefined;
  readonly #maxOperations: number;
  readonly #onClose: (() => Promise<void>) | undefined;
  /** Offers by operation, then by peer in the order of their announcements. */
  readonly #offers = new Map<string, Map<string, Offer>>();
  readonly #definitions = new Map<string, { definition: IOperationDefinition; json: string }>();
  /** Ids that each peer announces, in its order. */
  readonly #announced = new Map<string, readonly string[]>();
  /** The last report about each peer. */
  readonly #reports = new Map<string, ReportBuilder>();
  readonly #changes = new Emitter<SourceChange>((error) =>
    log.error("A listener for peer changes failed: {error}", { error }),
  );
  #stop: Unsubscribe | undefined = undefined;
  /** Whether changes are emitted. Announcements before the end of the first load are part of its result. */
  #isLoaded = false;

  constructor(callMap: PendingRequestMap, options: PeerSourceOptions, onClose?: () => Promise<void>) {
    this.name = `peers:${callMap.transport.name}`;
    this.traits = { foreignIds: true, mayHave: (id) => callMap.transport.isIncomplete?.(id) ?? false };
    this.#callMap = callMap;
    this.#options = options;
    this.#onReport = options.onReport;
    this.#maxOperations = resolveLimits(options.limits).operations;
    this.#onClose = onClose;
  }

  /** Resolves with the operations that the current peers announce. Later announcements are reported as changes. */
  async load({ onReport }: SourceLoadOptions = {}): Promise<IOperationDefinition[]> {
    const { transport } = this.#callMap;
    this.#onReport ??= onReport;
    this.#stop ??= transport.watchPeers((event) => this.#onPeer(event));
    await transport.whenPeersKnown?.();
    this.#isLoaded = true;
    return this.#inOrder();
  }

  onChange(listener: (change: SourceChange) => void): Unsubscribe {
    return this.#changes.on(listener);
  }

  async close(): Promise<void> {
    this.#stop?.();
    this.#stop = undefined;
    this.#offers.clear();
    this.#definitions.clear();
    this.#announced.clear();
    this.#reports.clear();
    await this.#onClose?.();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /**
   * Returns the operations of each peer in the order of its announcement. Peers reply in any order, so they are sorted
   * by their announcements. The result is the same in every run.
   */
  #inOrder(): IOperationDefinition[] {
    const lists = Array.from(this.#announced.values(), (ids) => ({ ids, key: ids.join("\n") }));
    lists.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
    const ids = new Set(lists.flatMap((list) => list.ids));
    return Array.from(ids, (id) => this.#definitions.get(id)!.definition);
  }

  #onPeer(event: PeerEvent): void {
    const { peerId } = event;
    const report = new ReportBuilder();
    const announced = event.type === "peer.announced" ? this.#read(event, report) : new Map<string, Offer>();
    const touched = new Set<string>();
    for (const id of this.#announced.get(peerId) ?? []) {
      if (!announced.has(id) && this.#offers.get(id)?.delete(peerId)) touched.add(id);
    }
    for (const [id, offer] of announced) {
      const offers = this.#offers.get(id) ?? new Map<string, Offer>();
      if (offers.get(peerId) !== offer) {
        offers.set(peerId, offer);
        this.#offers.set(id, offers);
        touched.add(id);
      }
      if (offers.values().next().value?.json === offer.json) continue;
      report.warn(
        id,
        `The peer ${quote(peerId)} announces ${quote(id)} with a different spec than the first peer. Its spec is ignored.`,
      );
    }
    this.#note(peerId, event.type === "peer.left" ? undefined : [...announced.keys()], report);
    this.#settle(touched);
  }

  #note(peerId: string, ids: readonly string[] | undefined, report: ReportBuilder): void {
    const previous = this.#reports.get(peerId)?.report;
    if (ids === undefined) {
      this.#announced.delete(peerId);
      this.#reports.delete(peerId);
    } else {
      this.#announced.set(peerId, ids);
      this.#reports.set(peerId, report);
    }
    if (report.isClean) return;
    notify(
      () => report.deliver({ source: this.name, onReport: this.#onReport, log, previous }),
      (error) => log.error("onReport of {name} failed: {error}", { name: this.name, error }),
    );
  }

  #read({ peerId, specs, omitted = [] }: PeerAnnounced, report: ReportBuilder): Map<string, Offer> {
    for (const id of omitted) {
      report.skipped(id, `The peer ${quote(peerId)} cannot announce ${quote(id)}: its spec is too large.`);
    }
    const offers = new Map<string, Offer>();
    let problems = 0;
    const skip = (where: string, reason: string) => {
      problems += 1;
      if (problems <= maxReportedProblems) report.skipped(where, reason);
    };
    for (const [index, announced] of specs.entries()) {
      if (offers.size >= this.#maxOperations) {
        const reason = `A peer announces more than ${this.#maxOperations} operations. The rest is skipped. Raise limits.operations.`;
        report.skipped("specs", reason);
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
    if (unreported > 0) report.skipped("specs", `${unreported} more operations of this announcement were skipped.`);
    return offers;
  }

  /** Returns the known offer if it is the same, because comparing takes much less time and memory than checking. */
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
    if (this.#isLoaded && !isEmptyChange(change)) this.#changes.emit(change);
  }

  #define(id: string, spec: OperationSpec): IOperationDefinition {
    const callMap = this.#callMap;
    const handler: IOperationDefinition["handler"] =
      spec.type === "subscription"
        ? (input: unknown, context: OperationContext) => callMap.subscribe(id, input, this.#toOptions(spec, context))
        : (input: unknown, context: OperationContext) => callMap.call(id, input, this.#toOptions(spec, context));
    // A peer that identifies callers by their connection checks its own rules. It does not receive the identity of this
    // call.
    const checkedRule = callMap.transport.capabilities?.carriesIdentity === true ? spec.accessControl : undefined;
    const returnsEnvelopes = callMap.transport.capabilities?.sharesObjects !== true;
    markAsForwarding(handler, { checkedRule, returnsEnvelopes, through: callMap });
    return { ...spec, handler, fillDefaults: false };
  }

  #toOptions({ accessControl }: OperationSpec, context: OperationContext): ForwardedCall {
    const { token } = this.#options;
    const options: ForwardedCall = Call.forward(context);
    const sharesObjects = this.#callMap.transport.capabilities?.sharesObjects === true;
    if (!sharesObjects) options.identity = toPeerIdentity(options.identity, accessControl);
    if (token !== undefined) options.token = typeof token === "function" ? token(context) : token;
    return options;
  }
}

/**
 * Returns the identity that a peer receives for a call of an operation with this access rule. A peer cannot recognise an
 * operator, so that it receives an ordinary identity with exactly the rights that the rule requires.
 */
export function toPeerIdentity(identity: Identity | undefined, access: AccessControl): Identity | undefined {
  if (identity === undefined || !isOperator(identity)) return identity;
  const { requiredScopes, requiredScopesAny = [], resourceType, resourceAction } = access;
  const scopes = [...requiredScopes, ...requiredScopesAny];
  if (resourceType === undefined || resourceAction === undefined) return { id: identity.id, scopes };
  return { id: identity.id, scopes, resources: { [`${resourceType}:*`]: [resourceAction] } };
}
