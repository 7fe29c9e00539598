import type {
  CallHandlerOptions,
  PendingRequestMap,
  PendingRequestMapOptions,
  StopHandling,
} from "../../src/call/index.ts";
import type { Identity, IOperationDefinition, OperationRegistry } from "../../src/index.ts";
import type { Transport } from "../../src/transport/transport.ts";

/** Peers that can reach each other over one kind of transport. */
export interface TransportNetwork {
  /** A new peer that asks, as somebody where connections have identities. */
  asker(identity?: Identity): Promise<Transport>;
  /** A new peer that serves; askers made before or after reach it. */
  server(): Promise<Transport>;
  /** Breaks every link, without a word to either side, and lets it come back. Absent where there is no link. */
  reconnect?(): Promise<void>;
  /** Bytes that a message may have; absent where there is no limit. Tests want it small, such as 64 KiB. */
  maxMessage?: number;
  /** Ends what is left. Peers have been closed before. */
  close(): Promise<void>;
}

/** What the tests of a transport are written with. Everything that is made is closed after the test. */
export interface TransportSuite {
  /** A test that a transport can opt out of by its title. */
  check(title: string, run: () => Promise<void>): void;
  /** A map that asks. */
  ask(options?: PendingRequestMapOptions): Promise<PendingRequestMap>;
  /** A map that serves these operations. */
  serve(
    definitions: IOperationDefinition[],
    options?: Partial<CallHandlerOptions>,
  ): Promise<{ map: PendingRequestMap; registry: OperationRegistry; stop: StopHandling }>;
  rawAsker(): Promise<Transport>;
  rawServer(): Promise<Transport>;
  /** The network of the running test. */
  network(): TransportNetwork;
}
