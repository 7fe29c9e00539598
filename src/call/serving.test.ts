import { expect, test, vi } from "vitest";
import { OperationRegistry } from "../index.ts";
import { unavailable } from "../operation/inside.ts";
import { createInProcessTransport } from "../transport/in-process/index.ts";
import type { Transport } from "../transport/transport.ts";
import { buildCallHandler, PendingRequestMap } from "./index.ts";
import { operation } from "./testing.ts";

test("operations that are registered while the link is lost are served and announced when it is restored", async () => {
  const inner = createInProcessTransport();
  let isLost = false;
  const whileConnected = async <T>(act: () => Promise<T>): Promise<T> => {
    if (isLost) throw unavailable("The server", { mayHaveRun: false });
    return act();
  };
  const announced: string[][] = [];
  const transport: Transport = {
    name: "by hand",
    request: (id, frame, onReply) => inner.request(id, frame, onReply),
    serve: (ids, onRequest) => whileConnected(() => inner.serve(ids, onRequest)),
    announce: (specs) => whileConnected(async () => void announced.push(specs.map(({ name }) => name))),
    watchPeers: (listener) => inner.watchPeers(listener),
    close: () => inner.close(),
  };
  const map = new PendingRequestMap(transport);
  const registry = new OperationRegistry();
  registry.register(operation("old", () => "old"));
  await map.handle(buildCallHandler({ registry, callMap: map })).ready;

  isLost = true;
  registry.register(operation("new", () => "new"));
  await expect(map.call("test.new", {})).rejects.toMatchObject({ code: "OPERATION_NOT_FOUND" });
  isLost = false;

  await vi.waitFor(async () => expect((await map.call("test.new", {})).data).toBe("new"));
  await vi.waitFor(() => expect(announced.at(-1)).toEqual(["old", "new"]));
  expect((await map.call("test.old", {})).data).toBe("old");
  await map.close();
});
