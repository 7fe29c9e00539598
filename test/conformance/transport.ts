import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { buildCallHandler, PendingRequestMap } from "../../src/call/index.ts";
import { OperationRegistry } from "../../src/index.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { checkCalls } from "./transport-calls.ts";
import { checkEnds } from "./transport-ends.ts";
import { checkFaults } from "./transport-faults.ts";
import { checkStreams } from "./transport-streams.ts";
import type { TransportNetwork, TransportSuite } from "./transport-suite.ts";

export type { TransportNetwork } from "./transport-suite.ts";

/** Options of `describeTransport`. */
export interface TransportSuiteOptions {
  /** Titles of tests that do not apply to the transport, each with the reason. They are not registered. */
  without?: Record<string, string>;
  /** Whether every peer receives every frame. @default false */
  broadcasts?: boolean;
}

/** What every transport does. One file per transport calls this with a maker of networks. */
export function describeTransport(
  name: string,
  createNetwork: () => Promise<TransportNetwork>,
  { without = {}, broadcasts = false }: TransportSuiteOptions = {},
): void {
  const unknown = new Set(Object.keys(without));
  const check = (title: string, run: () => Promise<void>) => {
    if (!unknown.delete(title)) test(title, run);
  };

  describe(`${name} as a transport`, () => {
    let network: TransportNetwork;
    let maps: PendingRequestMap[];
    let transports: Transport[];

    beforeEach(async () => {
      network = await createNetwork();
      maps = [];
      transports = [];
    });
    afterEach(async () => {
      await Promise.all(maps.map((map) => map.close()));
      await Promise.all(transports.map((transport) => transport.close()));
      await network.close();
    });

    const rawCaller: TransportSuite["rawCaller"] = async (identity) => track(await network.caller(identity));
    const rawServer = async () => track(await network.server());
    const track = (transport: Transport) => {
      transports.push(transport);
      return transport;
    };
    const ask: TransportSuite["ask"] = async (options) => {
      const map = new PendingRequestMap(await network.caller(), options);
      maps.push(map);
      return map;
    };
    const serve: TransportSuite["serve"] = async (definitions, options = {}) => {
      const map = new PendingRequestMap(await network.server());
      maps.push(map);
      const registry = new OperationRegistry();
      registry.registerAll(definitions);
      const stop = map.handle(buildCallHandler({ registry, callMap: map, trustedBus: true, ...options }));
      await stop.ready;
      return { map, registry, stop };
    };

    const suite: TransportSuite = { check, ask, serve, rawCaller, rawServer, network: () => network, broadcasts };
    checkCalls(suite);
    checkStreams(suite);
    checkEnds(suite);
    checkFaults(suite);

    test("leaves out only tests that exist", () => {
      expect([...unknown]).toEqual([]);
    });
  });
}
