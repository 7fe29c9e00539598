import { MessageChannel } from "node:worker_threads";
import { afterEach, describe, expect, test } from "vitest";
import { operation, until } from "../../test/conformance/transport-helpers.ts";
import { OperationRegistry } from "../index.ts";
import { createEventTargetTransport, createInProcessTransport, InProcessBus } from "../transport/in-process/index.ts";
import type { Transport } from "../transport/transport.ts";
import { createWorkerTransport } from "../transport/worker/index.ts";
import { buildCallHandler, importPeers, PendingRequestMap } from "./index.ts";

const closing: Array<() => unknown> = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const pairs: Array<[string, () => [Transport, Transport]]> = [
  [
    "in process",
    () => {
      const bus = new InProcessBus();
      return [createInProcessTransport(bus), createInProcessTransport(bus)];
    },
  ],
  [
    "over an EventTarget",
    () => {
      const target = new EventTarget();
      return [createEventTargetTransport(target), createEventTargetTransport(target)];
    },
  ],
  [
    "through a port",
    () => {
      const { port1, port2 } = new MessageChannel();
      return [createWorkerTransport(port1), createWorkerTransport(port2)];
    },
  ],
];

describe.each(pairs)("%s", (_name, createPair) => {
  test.each([0, 1, 2, 3, 5, 10, 20])(
    "an operation that comes back %i turns after it was taken out is served",
    async (turns) => {
      const [near, far] = createPair();
      const worker = new OperationRegistry();
      const serving = new PendingRequestMap(far);
      const calls = new PendingRequestMap(near);
      closing.push(
        () => serving.close(),
        () => calls.close(),
      );
      worker.register(operation("echo", () => "old"));
      await serving.handle(buildCallHandler({ registry: worker, callMap: serving })).ready;
      const hub = new OperationRegistry();
      await hub.follow(importPeers(calls));

      worker.unregister("test.echo");
      for (let turn = 0; turn < turns; turn++) await null;
      worker.register({ ...operation("echo", () => "new"), version: "2.0.0" });
      await until(() => hub.getSpec("test.echo")?.version === "2.0.0");

      expect((await hub.execute("test.echo", {})).data).toBe("new");
    },
  );
});
