import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { WebSocket } from "ws";
import { bearerTokens, createToken } from "../../auth/index.ts";
import { createRegistry } from "../../registry/index.ts";
import { serveWebSocket } from "./index.ts";

// The limit of a server is 10,000 connections, which a test cannot open.
vi.mock("../../call/fair-share.ts", async (importOriginal) => {
  const { FairShare } = await importOriginal<typeof import("../../call/fair-share.ts")>();
  class SmallShare extends FairShare {
    constructor() {
      super(4);
    }
  }
  return { FairShare: SmallShare };
});

test("one identity cannot have most of the connections of a server", async () => {
  const [ada, bob] = [createToken(), createToken()];
  const authenticate = bearerTokens([
    { hash: ada.hash, identity: { id: "ada", scopes: [] } },
    { hash: bob.hash, identity: { id: "bob", scopes: [] } },
  ]);
  const server = serveWebSocket(createRegistry(), { authenticate });
  const http = createServer().on("upgrade", server.upgrade).listen(0, "127.0.0.1");
  await once(http, "listening");
  onTestFinished(async () => {
    await server.close({ timeout: 0 });
    http.close();
  });
  const { port } = http.address() as AddressInfo;
  const open = async (token: string) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/`, { headers: { authorization: `Bearer ${token}` } });
    onTestFinished(() => socket.terminate());
    await once(socket, "open");
    return socket;
  };
  for (let count = 0; count < 3; count++) await open(ada.token);

  const [code] = (await once(await open(ada.token), "close")) as [number];
  const other = await open(bob.token);
  other.ping();
  await once(other, "pong");

  expect([code, other.readyState]).toEqual([1013, WebSocket.OPEN]);
});
