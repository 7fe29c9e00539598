import { afterEach, expect, test, vi } from "vitest";
import { WebSocket as NodeSocket } from "ws";
import { PendingRequestMap } from "../../call/index.ts";
import { startServer } from "./testing.ts";
import { createWebSocketTransport } from "./web-socket-client.ts";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.doUnmock("ws");
});

test("Node uses ws where it is installed, because only ws reports why a server refuses", async () => {
  const server = await startServer({ authenticate: () => undefined });
  const other = vi.fn();
  vi.stubGlobal("WebSocket", other);

  const refused = createWebSocketTransport(server.url, { token: "wrong" });

  await expect(refused).rejects.toMatchObject({ code: "UPSTREAM_DENIED", details: { status: 401 } });
  expect(other).not.toHaveBeenCalled();
  await server.close();
});

test("Node uses its own class where a bundler has chosen the entry of ws for browsers, which has none", async () => {
  const server = await startServer();
  const opened: string[] = [];
  vi.stubGlobal(
    "WebSocket",
    class extends NodeSocket {
      constructor(url: string, protocols: string[]) {
        super(url, protocols);
        opened.push(url);
      }
    },
  );
  vi.doMock("ws", () => ({ WebSocket: undefined }));

  const calls = new PendingRequestMap(await createWebSocketTransport(server.url));

  expect((await calls.call("test.echo", 1)).data).toBe(1);
  expect(opened).toEqual([server.url]);
  await calls.close();
  await server.close();
});

/** Like the socket of a browser whose server does not respond: it cannot be destroyed, and its close is never confirmed. */
class Unanswered extends EventTarget {
  static readonly made: NodeSocket[] = [];
  readonly #socket: NodeSocket;

  constructor(url: string, protocols: string[]) {
    super();
    this.#socket = new NodeSocket(url, protocols);
    Unanswered.made.push(this.#socket);
    this.#socket.on("open", () => this.dispatchEvent(new Event("open")));
    this.#socket.on("message", (data) => this.dispatchEvent(new MessageEvent("message", { data: String(data) })));
  }

  get readyState(): number {
    return this.#socket.readyState;
  }

  get bufferedAmount(): number {
    return this.#socket.bufferedAmount;
  }

  set binaryType(_type: string) {}

  send(text: string): void {
    this.#socket.send(text);
  }

  close(): void {}
}

test("a socket that cannot be terminated counts as closed when its close has no reply", async () => {
  const server = await startServer();
  const transport = await createWebSocketTransport(server.url, { WebSocket: Unanswered as never, reconnect: false });
  const calls = new PendingRequestMap(transport);
  expect((await calls.call("test.echo", 1)).data).toBe(1);

  await calls.close();

  await expect(calls.call("test.echo", 1)).rejects.toMatchObject({ code: "UNAVAILABLE" });
  for (const socket of Unanswered.made.splice(0)) socket.terminate();
  await server.close();
});

test("a client connects again although its abandoned socket is never closed", async () => {
  const server = await startServer();
  const options = { WebSocket: Unanswered as never, heartbeat: 500, reconnect: { first: 10, max: 10 } };
  const calls = new PendingRequestMap(await createWebSocketTransport(server.url, options));
  const pending = calls.call("test.hang", {}).catch((error) => error);

  const [first] = Unanswered.made;
  first!.pause(); // from here on the server seems to stand still

  expect(await pending).toMatchObject({ code: "UNAVAILABLE", mayHaveRun: true });
  await vi.waitFor(async () => expect((await calls.call("test.echo", 2)).data).toBe(2));
  await calls.close();
  for (const socket of Unanswered.made.splice(0)) socket.terminate();
  await server.close();
});
