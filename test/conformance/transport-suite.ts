import type {
  CallHandlerOptions,
  PendingRequestMap,
  PendingRequestMapOptions,
  StopHandling,
} from "../../src/call/index.ts";
import type { Identity, IOperationDefinition, OperationRegistry } from "../../src/index.ts";
import type { Transport } from "../../src/transport/transport.ts";

/** Peers that reach each other over one transport. */
export interface TransportNetwork {
  /** A new peer that calls, with an identity where connections have one. */
  caller(identity?: Identity): Promise<Transport>;
  /** A new peer that serves. Callers that exist and later ones reach it. */
  server(): Promise<Transport>;
  /** Breaks every link without notice to either end, and lets it be restored. Absent where there is no link. */
  reconnect?(): Promise<void>;
  /** Maximum size of a message in bytes; absent where there is no limit. Tests need a small one, such as 64 KiB. */
  maxMessage?: number;
  /** Ends the network. Its peers were closed before. */
  close(): Promise<void>;
}

/** Helpers of the tests of a transport. Everything that they create is closed after the test. */
export interface TransportSuite {
  /** Registers a test, unless the transport leaves it out by its title. */
  check(title: string, run: () => Promise<void>): void;
  /** A map that calls. */
  ask(options?: PendingRequestMapOptions): Promise<PendingRequestMap>;
  /** A map that serves these operations. */
  serve(
    definitions: IOperationDefinition[],
    options?: Partial<CallHandlerOptions>,
  ): Promise<{ map: PendingRequestMap; registry: OperationRegistry; stop: StopHandling }>;
  /** A transport that calls, with an identity where connections have one. */
  rawCaller(identity?: Identity): Promise<Transport>;
  rawServer(): Promise<Transport>;
  /** The network of the running test. */
  network(): TransportNetwork;
  /** Whether every peer receives every frame. */
  readonly broadcasts: boolean;
}
