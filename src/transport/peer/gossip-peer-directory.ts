import { createWarnOnce, logger } from "../../internal/log.ts";
import { pause } from "../../internal/wait.ts";
import {
  type CallError,
  formatOperationId,
  nearestOperation,
  notServedNow,
  type OperationSpec,
  operationNotFound,
} from "../../operation/inside.ts";
import type { OtherFrame, WireFrame } from "../codec/index.ts";
import type { PeerAnnounced, PeerLeft } from "../transport.ts";
import { PeerDirectory } from "./peer-directory.ts";

const warnOnce = createWarnOnce(logger("transport", "peer"));

/** Announcements of peers above this number are ignored. */
const maxPeers = 1_000;
/** Maximum number of stored characters for all peers together. Any client of the broker can invent peers. */
const maxKeptLength = 128 * 1024 * 1024;
/** Maximum number of operations with too large specs whose ids are announced. */
const maxOmitted = 20;
/** Space for one such id in a message, in bytes. Longer ids are not announced. */
const maxOmittedBytes = 330;
/** Upper bound, in bytes, for everything besides the spec in a message with one spec. */
const maxSpecsHeader = 8 * 1024;
/** A peer that was silent for more beats than this is gone. */
const maxSilentBeats = 3;
/** Maximum time, in beats, in which a peer that served an operation and left may return. */
const restartBeats = 3;
/** In ms. A random delay spreads the replies of all peers, and one reply serves questions that arrive together. */
const maxReplyDelayMs = 50;
/** In ms. All announcements count as received when none has arrived for this time. */
const quietMs = 5 * maxReplyDelayMs;
/** In ms. Limits the wait, because peers may send announcements continuously. */
const maxQuietWaitMs = 2_000;

/** State of another peer. */
interface KnownPeer {
  /** Sequence number of the peer's announcement. */
  revision: number;
  /** Number of parts of the announcement. */
  partCount: number;
  parts: Map<number, OperationSpec[]>;
  isComplete: boolean;
  /** Ids of operations whose specs are too large to be sent. */
  omitted: string[];
  /** Total length of the messages with these parts. */
  length: number;
  lastSignAt: number;
}

/** The functions of the transport that the directory uses. */
export interface GossipHost {
  /** Maximum size of a message, in bytes. */
  readonly maxMessage: number;
  gossip(frame: WireFrame): void;
}

/**
 * The directory of peers on a broker. No central list of peers exists: each peer announces its operations and sends a
 * heartbeat at every interval, and a new peer requests the announcements of the others.
 */
export class GossipPeerDirectory extends PeerDirectory<string> {
  readonly #peerId: string;
  readonly #host: GossipHost;
  readonly #maxOperations: number;
  readonly #peers = new Map<string, KnownPeer>();
  #specs: readonly OperationSpec[] = [];
  #revision = 0;
  /** Counts beats, including those without a connection. */
  #beat: number;
  /** Counts beats with a connection. */
  #connectedBeat = 0;
  /** After this beat, every peer has had time to reconnect and to announce its operations. */
  #completeAfter = -1;
  /** After this beat, the announcements of peers that were already present have arrived. */
  #listeningAfter = -1;
  #keptLength = 0;
  /** Number of accepted messages with announcements. */
  #announcements = 0;
  #replyTimer: NodeJS.Timeout | undefined;

  /** @param maxOperations maximum number of operations of one peer */
  constructor(peerId: string, host: GossipHost, maxOperations: number) {
    super({ now: () => this.#beat, duration: restartBeats });
    this.#beat = 0;
    this.#peerId = peerId;
    this.#host = host;
    this.#maxOperations = maxOperations;
  }

  /** Announces the operations that this peer serves. */
  announce(specs: readonly OperationSpec[]): void {
    const hadSome = this.#specs.length > 0;
    this.#specs = specs;
    this.#revision++;
    if (specs.length > 0) this.#sendSpecs();
    else if (hadSome) this.#sendLeft();
  }

  /** Accepts an announcement from a message of that length. Returns false when it is malformed or too large. */
  take(frame: WireFrame, length: number): boolean {
    const { peerId, revision } = frame as unknown as { peerId?: unknown; revision?: unknown };
    if (peerId === this.#peerId && frame.type !== "link.who") return true;
    switch (frame.type) {
      case "link.who":
        if (peerId === undefined || peerId === this.#peerId) this.#sendSpecsSoon();
        return true;
      case "peer.left":
        this.#forget((frame as PeerLeft).peerId);
        return true;
      case "link.alive":
        return isName(peerId) && isCount(revision) && this.#noteAlive(peerId, revision);
      case "link.specs":
        return isName(peerId) && isCount(revision) && this.#noteSpecs(peerId, revision, frame as OtherFrame, length);
      default:
        return false;
    }
  }

  /** Sends a heartbeat, and removes peers that were silent for too long. Call it at every interval. */
  beat(isConnected: boolean): void {
    this.#beat++;
    if (!isConnected) return;
    this.#connectedBeat++;
    if (this.#specs.length > 0)
      this.#host.gossip({ type: "link.alive", peerId: this.#peerId, revision: this.#revision });
    for (const [peerId, { lastSignAt }] of [...this.#peers]) {
      if (this.#connectedBeat - lastSignAt > maxSilentBeats) this.#forget(peerId);
    }
  }

  /** Requests the announcements of other peers, and announces this one. Call it initially and after a reconnect. */
  introduce(): void {
    if (this.hasListeners) this.#host.gossip({ type: "link.who" });
    if (this.#specs.length > 0) this.#sendSpecs();
  }

  /** Announces that this peer leaves the broker. */
  leave(): void {
    clearTimeout(this.#replyTimer);
    if (this.#specs.length > 0) this.#sendLeft();
    this.#specs = [];
    this.#peers.clear();
  }

  /** Records that the connection is restored. Other peers may also have lost theirs, and return later. */
  noteRestored(): void {
    this.#completeAfter = this.#beat + 1;
  }

  /** Records that this peer receives announcements from now on. */
  noteListening(): void {
    this.#listeningAfter = this.#beat + 1;
  }

  /** Resolves when no further announcement has arrived for a short time. A paused peer may send its own later. */
  async whenQuiet(): Promise<void> {
    const end = performance.now() + maxQuietWaitMs;
    for (let seen = -1; seen !== this.#announcements && performance.now() < end; ) {
      seen = this.#announcements;
      await pause(quietMs);
    }
  }

  /** Returns whether an operation that was not announced may be announced soon. */
  mayBeAnnounced(operationId: string): boolean {
    return this.#beat <= this.#listeningAfter || this.mayReturn(operationId);
  }

  override mayReturn(operationId: string): boolean {
    return this.#beat <= this.#completeAfter || super.mayReturn(operationId);
  }

  /** Creates the error of a call when no peer serves the operation. */
  notServed(operationId: string): CallError {
    if (this.mayReturn(operationId)) return notServedNow(operationId);
    // Only operations that require no scope are suggested, because the identity of the caller is not known here.
    return operationNotFound(operationId, nearestOperation(operationId, this.specs(), undefined));
  }

  #noteAlive(peerId: string, revision: number): boolean {
    const peer = this.#peers.get(peerId);
    if (peer !== undefined) peer.lastSignAt = this.#connectedBeat;
    const isCurrent = peer?.revision === revision && peer.isComplete;
    if (!isCurrent && this.hasListeners) this.#host.gossip({ type: "link.who", peerId });
    return true;
  }

  #noteSpecs(peerId: string, revision: number, { part, parts, specs, omitted }: OtherFrame, length: number): boolean {
    if (!isCount(part) || !isCount(parts) || !Array.isArray(specs) || parts > this.#maxOperations) return false;
    let peer = this.#peers.get(peerId);
    if (peer === undefined && this.#peers.size >= maxPeers) return false;
    // A lower revision after a higher one does not come from that peer. Another peer has used its id.
    if (peer === undefined || revision !== peer.revision || parts !== peer.partCount) {
      this.#keptLength -= peer?.length ?? 0;
      peer = { revision, partCount: parts, parts: new Map(), isComplete: false, omitted: [], length: 0, lastSignAt: 0 };
      this.#peers.set(peerId, peer);
    }
    peer.lastSignAt = this.#connectedBeat;
    if (peer.isComplete || part >= parts || peer.parts.has(part)) return true; // repeated for another peer
    if (this.#keptLength + length > maxKeptLength) return false;
    this.#announcements++;
    this.#keptLength += length;
    peer.length += length;
    peer.parts.set(part, specs.filter(isNamed));
    if (Array.isArray(omitted)) peer.omitted = omitted.filter(isName).slice(0, maxOmitted);
    if (peer.parts.size === parts) this.#complete(peerId, peer);
    return true;
  }

  #complete(peerId: string, peer: KnownPeer): void {
    const all = [...peer.parts].sort(([a], [b]) => a - b).flatMap(([, part]) => part);
    const specs = all.slice(0, this.#maxOperations);
    peer.parts.clear();
    peer.isComplete = true;
    const ids = new Set(specs.map(toId));
    for (const spec of this.get(peerId)?.specs ?? []) if (!ids.has(toId(spec))) this.noteWithdrawn(toId(spec));
    const event: PeerAnnounced = { type: "peer.announced", peerId, specs };
    this.set(peerId, peer.omitted.length > 0 ? { ...event, omitted: peer.omitted } : event);
  }

  #forget(peerId: string): void {
    for (const spec of this.get(peerId)?.specs ?? []) this.noteServed(toId(spec));
    this.#keptLength -= this.#peers.get(peerId)?.length ?? 0;
    this.#peers.delete(peerId);
    this.delete(peerId);
  }

  #sendSpecsSoon(): void {
    if (this.#specs.length === 0 || this.#replyTimer !== undefined) return;
    this.#replyTimer = setTimeout(() => {
      this.#replyTimer = undefined;
      this.#sendSpecs();
    }, Math.random() * maxReplyDelayMs);
    this.#replyTimer.unref(); // a reply must not keep the process alive
  }

  #sendSpecs(): void {
    const { maxMessage } = this.#host;
    const maxPart = maxMessage / 4;
    const { parts, omitted } = splitSpecs(this.#specs, maxPart, Math.max(maxPart, maxMessage - maxSpecsHeader));
    if (parts.length === 0) parts.push([]);
    for (const [part, specs] of parts.entries()) {
      const frame = {
        type: "link.specs" as const,
        peerId: this.#peerId,
        revision: this.#revision,
        part,
        parts: parts.length,
      };
      const named = part === 0 && omitted.length > 0 ? { omitted: nameOmitted(omitted, maxPart) } : {};
      this.#host.gossip({ ...frame, specs, ...named });
    }
  }

  #sendLeft(): void {
    this.#host.gossip({ type: "peer.left", peerId: this.#peerId });
  }
}

/**
 * Splits specs into lists that fit into a message of about `maxPart` bytes. A larger spec is sent alone, in a message
 * of up to `maxSpec` bytes. A spec above that is omitted and reported.
 */
function splitSpecs(
  specs: readonly OperationSpec[],
  maxPart: number,
  maxSpec: number,
): { parts: OperationSpec[][]; omitted: string[] } {
  const parts: OperationSpec[][] = [];
  const omitted: string[] = [];
  let room = 0;
  for (const spec of specs) {
    const size = Buffer.byteLength(JSON.stringify(spec));
    if (size > maxSpec) {
      const operationId = toId(spec);
      omitted.push(operationId);
      const message = "{operationId} is not announced: its spec has {size} bytes, and a message may have {maxSpec}.";
      warnOnce(operationId, message, { operationId, size, maxSpec: Math.floor(maxSpec) });
      continue;
    }
    if (size > room) {
      parts.push([]);
      room = maxPart;
    }
    parts.at(-1)!.push(spec);
    room -= size;
  }
  return { parts, omitted };
}

/** Returns as many ids as a message can contain besides specs. */
function nameOmitted(ids: readonly string[], maxPart: number): string[] {
  const max = Math.min(maxOmitted, Math.floor(maxPart / maxOmittedBytes));
  return ids.filter((id) => Buffer.byteLength(JSON.stringify(id)) < maxOmittedBytes).slice(0, max);
}

function toId({ namespace, name }: OperationSpec): string {
  return formatOperationId(namespace, name);
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= 256;
}

/** Checks only the name. The registry checks the rest of a spec. */
function isNamed(value: unknown): value is OperationSpec {
  const { namespace, name } = (value ?? {}) as Partial<OperationSpec>;
  return typeof namespace === "string" && typeof name === "string";
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
