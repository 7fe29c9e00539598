/** Calls of other peers: announced specs, frames and results over several transports. */

import type { Random } from "../../chaos/random.ts";
import { collect, defineKind, outcomeOf } from "../kind.ts";
import type { Library } from "../library.ts";
import { anyInput, anyOperations, define, idOf, type Operation } from "../operations.ts";

interface PeerCase {
  operations: Operation[];
  calls: Array<{ id: string; type: Operation["type"]; input: unknown; through: "registry" | "map" }>;
  identity: boolean;
  rule: string[];
}

function anyPeerCase(random: Random): PeerCase {
  const operations = anyOperations(random, 3);
  return {
    operations,
    calls: Array.from({ length: 5 }, () => {
      const { inputSchema, type, ...names } = random.pick(operations);
      const id = random.chance(0.93) ? idOf(names) : "task.unknown";
      return {
        id,
        type: random.chance(0.95) ? type : "query",
        input: anyInput(random, inputSchema),
        through: random.pick(["registry", "map"] as const),
      };
    }),
    identity: random.chance(0.6),
    rule: random.chance(0.25) ? ["read"] : random.chance(0.1) ? ["admin"] : [],
  };
}

/** Who calls over the network, in every case with an identity. */
const ada = { id: "ada", scopes: ["read"] };

function serverOf({ operations, rule }: PeerCase, library: Library) {
  const registry = new library.root.OperationRegistry({ log: false });
  for (const one of operations) {
    registry.register({ ...define(one, library), accessControl: { requiredScopes: rule } });
  }
  return registry;
}

type Transport = Parameters<Library["root"]["serveCalls"]>[1];

async function callPeer(
  one: PeerCase,
  transports: { own: () => unknown; token: string | undefined },
  library: Library,
) {
  const { root } = library;
  const { token } = transports;
  const own = (await transports.own()) as never;
  const callMap = new root.PendingRequestMap(own);
  const registry = new root.OperationRegistry({ log: false });
  const reports: unknown[] = [];
  await registry.follow(root.peerSource(callMap, { ...(token !== undefined && { token }) }), {
    onReport: (report) => reports.push(report),
  });
  await Promise.all(
    one.operations.map((operation) => registry.waitFor(idOf(operation), { timeout: 5_000 }).catch(() => {})),
  );
  const outcomes = [];
  for (const { id, type, input, through } of one.calls) {
    const options = { timeout: 5_000, ...(token !== undefined && through === "map" && { token }) };
    outcomes.push(
      await outcomeOf(async () => {
        if (through === "registry")
          return type === "subscription"
            ? collect(registry.subscribe(id, input))
            : registry.execute(id, input, options);
        return type === "subscription"
          ? collect(callMap.subscribe(id, input, options as never))
          : callMap.call(id, input, options as never);
      }),
    );
  }
  const specs = registry.getAllSpecs();
  await registry.close();
  await callMap.close();
  return { specs, outcomes, reports };
}

const authenticate = (claim: unknown) => {
  const token = typeof claim === "string" ? claim : (claim as { token?: string } | undefined)?.token;
  return token === "let-me-in" ? ada : undefined;
};

export const peer = defineKind({
  name: "peer",
  weight: 5,
  generate: (random) => ({ ...anyPeerCase(random), medium: random.pick(["bus", "bus", "event target"] as const) }),
  run: async (one, library) => {
    const { root } = library;
    const served = serverOf(one, library);
    const bus = new root.InProcessBus();
    const target = new EventTarget();
    const open = (): Transport =>
      one.medium === "bus" ? root.createInProcessTransport(bus) : root.createEventTargetTransport(target);
    const server = await root.serveCalls(served, open(), { authenticate: authenticate as never });
    const result = await callPeer(one, { own: open, token: one.identity ? "let-me-in" : undefined }, library);
    await server.close();
    await served.close();
    return result;
  },
});

export const webSocket = defineKind({
  name: "websocket",
  weight: 2,
  generate: (random) => ({ ...anyPeerCase(random), withConnect: random.chance(0.5), identity: true }),
  run: async (one, library) => {
    const { root, webSocket, node, client } = library;
    const served = serverOf(one, library);
    const listener = await node.listen(
      { "/calls": webSocket.serveWebSocket(served, { authenticate: authenticate as never }) as never },
      { port: 0 },
    );
    const url = `${listener.url.replace("http", "ws")}/calls`;
    try {
      if (!one.withConnect) {
        const own = () => webSocket.createWebSocketTransport(url, { token: "let-me-in" });
        return await callPeer(one, { own, token: undefined }, library);
      }
      const remote = client.connect(url, { token: "let-me-in", timeout: 5_000 } as never) as never as Remote;
      const outcomes = [];
      for (const { id, type, input } of one.calls) {
        const [namespace, name] = [id.slice(0, id.indexOf(".")), id.slice(id.indexOf(".") + 1)];
        const operation = remote[namespace]![name]!;
        outcomes.push(
          await outcomeOf(() => (type === "subscription" ? collect(operation.envelope(input)) : operation(input))),
        );
      }
      await (remote as never as { close(): Promise<void> }).close();
      return { outcomes };
    } finally {
      await listener.close();
      await served.close();
      void root;
    }
  },
});

type Remote = Record<
  string,
  Record<string, { (input: unknown): Promise<unknown>; envelope(input: unknown): AsyncIterable<unknown> }>
>;
