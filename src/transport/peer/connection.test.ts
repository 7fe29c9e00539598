import { afterEach, describe, expect, test, vi } from "vitest";
import { resolveLimits } from "../../operation/inside.ts";
import type { CallRequested, OnRequest, ReplyFrame } from "../transport.ts";
import { maxBufferedBytes } from "./batch-writer.ts";
import { ChannelTransport } from "./channel-transport.ts";
import type { Channel, ConnectionOptions } from "./connection.ts";
import { ServingPeer } from "./serving-peer.ts";

const transports: ChannelTransport[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const transport of transports.splice(0)) await transport.close();
});

function createTransport(): ChannelTransport {
  const transport = new ChannelTransport("test", ServingPeer);
  transports.push(transport);
  return transport;
}

/** Attaches a peer that the test plays: what it receives, and how it sends. */
function attachPeer(
  transport: ChannelTransport,
  options: Partial<ConnectionOptions> = {},
  overrides: Partial<Channel> = {},
) {
  const sent: Array<Record<string, unknown>> = [];
  const channel = {
    send: (text: string) => void sent.push(...text.split("\n").map((line) => JSON.parse(line))),
    bufferedAmount: 0,
    close: vi.fn<(reason?: Error) => void>(),
    ...overrides,
  };
  const connection = transport.attach(channel, {
    limits: resolveLimits({}),
    heartbeat: 0,
    acceptsOperations: true,
    passesIdentity: false,
    ...options,
  });
  const send = (...frames: object[]) => connection.receive(frames.map((frame) => JSON.stringify(frame)).join("\n"));
  /** Replies to every question that has arrived, as a peer does whose clock shows `clock`. */
  const answer = (clock = 0) => {
    const questions = sent.filter(({ type }) => type === "link.pinged").map(({ question }) => question);
    for (const question of questions) send({ type: "link.ponged", question, clock });
  };
  return { connection, channel, sent, send, answer };
}

function request(requestId = "r-1"): CallRequested {
  return { type: "call.requested", requestId, operationId: "test.echo", input: 1 };
}

const opened = { type: "link.opened", version: 1, peerId: "peer" };
const serveNothing: OnRequest = () => () => {};

describe("a peer with a very small maxMessage", () => {
  test.each([1, 0, -5, 1_023])("is disconnected when it announces maxMessage %d", (maxMessage) => {
    const transport = createTransport();
    const { connection, send } = attachPeer(transport);

    send({ ...opened, maxMessage });

    expect(connection.isOpen).toBe(false);
    expect(transport.peers.size).toBe(0);
  });

  test("does not receive a long list of operations, and others do", async () => {
    const transport = createTransport();
    const small = attachPeer(transport);
    const other = attachPeer(transport);
    small.send({ ...opened, maxMessage: 1_024 });
    other.send(opened);
    const ids = Array.from({ length: 100 }, (_, index) => `test.operation-${index}`);

    const serving = transport.serve(ids, serveNothing);
    await vi.waitFor(() => expect(other.sent.at(-1)).toMatchObject({ type: "link.pinged" }));
    for (const { answer } of [small, other]) answer();
    await serving;

    expect(other.sent).toContainEqual({ type: "link.serves", operationIds: ids });
  });
});

describe("a connection that ends", () => {
  test("does not affect others when its channel cannot be closed", async () => {
    const transport = createTransport();
    attachPeer(
      transport,
      {},
      {
        close() {
          throw new RangeError("no");
        },
      },
    );
    const { connection, channel } = attachPeer(transport);
    const replies: ReplyFrame[] = [];
    connection.request(request(), (reply) => replies.push(reply));

    await transport.close();

    expect(channel.close).toHaveBeenCalledOnce();
    expect(replies).toMatchObject([{ type: "call.error", code: "UNAVAILABLE" }]);
    expect(transport.peers.size).toBe(0);
  });

  test("settles every call, also when the listener of one throws", async () => {
    const transport = createTransport();
    const { connection } = attachPeer(transport);
    const replies: ReplyFrame[] = [];
    connection.request(request("r-1"), () => {
      throw new Error("not my day");
    });
    connection.request(request("r-2"), (reply) => replies.push(reply));

    connection.close(new Error("cut"));

    expect(replies).toMatchObject([{ type: "call.error", requestId: "r-2", code: "UNAVAILABLE" }]);
  });

  test("because its channel cannot send fails the request that was sent", () => {
    const send = () => {
      throw new Error("the pipe is broken");
    };
    const { connection } = attachPeer(createTransport(), {}, { send });
    const replies: ReplyFrame[] = [];

    connection.request({ ...request(), input: "x".repeat(10_000) }, (reply) => replies.push(reply));

    expect(replies).toMatchObject([{ type: "call.error", code: "UNAVAILABLE" }]);
    expect(connection.pending).toBe(0);
  });

  test("accepts no further request", () => {
    const { connection } = attachPeer(createTransport());
    connection.close();

    expect(() => connection.request(request(), () => {})).toThrow(
      expect.objectContaining({ code: "UNAVAILABLE", mayHaveRun: false }),
    );
  });

  test("is reported to its transport once, also when its channel is full", () => {
    const transport = createTransport();
    const onLost = vi.spyOn(transport, "onLost");
    const channel = { bufferedAmount: 0 };
    const { connection } = attachPeer(transport, {}, channel);
    channel.bufferedAmount = 2 * maxBufferedBytes;

    connection.close();

    expect(onLost).toHaveBeenCalledTimes(1);
  });
});

describe("a peer with more to read than may wait", () => {
  /** Attaches one that is given a request, and for which more is waiting than may. */
  function attachReader() {
    vi.useFakeTimers();
    const peer = attachPeer(createTransport());
    const replies: ReplyFrame[] = [];
    peer.channel.bufferedAmount = maxBufferedBytes - 1_000;
    peer.channel.send = (text) => {
      peer.channel.bufferedAmount += text.length;
    };
    peer.connection.request({ ...request("r-1"), input: "x".repeat(10_000) }, (reply) => replies.push(reply));
    return { ...peer, replies };
  }

  test("accepts no further call, and recovers when it has read", () => {
    const { connection, channel, replies } = attachReader();

    const refused = () => connection.request(request("r-2"), () => {});

    expect(refused).toThrow(expect.objectContaining({ code: "LIMIT_EXCEEDED", mayHaveRun: false }));
    channel.bufferedAmount = 0;
    vi.advanceTimersByTime(10_000);
    expect(refused).not.toThrow();
    expect({ isOpen: connection.isOpen, replies, timers: vi.getTimerCount() }).toEqual({
      isOpen: true,
      replies: [],
      timers: 0,
    });
  });

  test("stays connected as long as it reads", () => {
    const { connection, channel } = attachReader();

    for (let second = 0; second < 10; second++) {
      channel.bufferedAmount -= 5;
      vi.advanceTimersByTime(1_000);
    }

    expect(connection.isOpen).toBe(true);
  });

  test("is disconnected when it reads nothing for a second", () => {
    const { connection, replies } = attachReader();

    vi.advanceTimersByTime(1_000);

    expect(connection.isOpen).toBe(false);
    expect(replies).toMatchObject([{ type: "call.error", requestId: "r-1", code: "UNAVAILABLE" }]);
  });

  test("is disconnected immediately when twice as much waits", () => {
    const { connection, channel } = attachReader();

    channel.bufferedAmount = 2 * maxBufferedBytes;
    connection.send({ type: "link.ponged", question: "q".repeat(5_000) }); // leaves in this turn

    expect(connection.isOpen).toBe(false);
  });

  test("leaves no timer behind when it is closed", () => {
    const { connection } = attachReader();

    connection.close();

    expect(vi.getTimerCount()).toBe(0);
  });
});

test("the rest of a message is not read after a malformed frame", () => {
  const transport = createTransport();
  const { connection, send } = attachPeer(transport);
  const served = vi.fn(serveNothing);
  void transport.serve(["test.echo"], served);

  send(request("r-1"));
  connection.receive(`\n${JSON.stringify(request("r-2"))}`);

  expect(served.mock.calls.map(([frame]) => frame.requestId)).toEqual(["r-1"]);
  expect(connection.isOpen).toBe(false);
});

test("a late request runs after its caller has confirmed it, also when it arrives as bytes", async () => {
  const transport = createTransport();
  const { connection, sent, send, answer } = attachPeer(transport);
  const ran = vi.fn(serveNothing);
  const serving = transport.serve(["test.echo"], ran);
  const pings = () => sent.filter(({ type }) => type === "link.pinged").length;
  await vi.waitFor(() => expect(pings()).toBe(2));
  send(opened);
  answer(performance.now());
  await serving;

  connection.receive(new TextEncoder().encode(JSON.stringify({ ...request(), sentAt: 5 })));
  await vi.waitFor(() => expect(pings()).toBe(3));
  const before = ran.mock.calls.length;
  answer(performance.now());

  expect([before, ran.mock.calls.length]).toEqual([0, 1]);
});

test("a late request that its caller has withdrawn does not run", async () => {
  const transport = createTransport();
  const { sent, send } = attachPeer(transport);
  const ran = vi.fn(serveNothing);
  void transport.serve(["test.echo"], ran);
  const findQuestion = () => sent.find(({ calls }) => (calls as unknown[] | undefined)?.length === 2)?.["question"];

  send({ ...request("r-1"), sentAt: 5 }, { ...request("r-2"), sentAt: 5 });
  await vi.waitFor(() => expect(findQuestion()).toBeDefined());
  send({ type: "link.ponged", question: findQuestion(), clock: 5, withdrawn: [{ requestId: "r-1" }] });

  expect(ran.mock.calls.map(([frame]) => frame.requestId)).toEqual(["r-2"]);
});

test("a peer that may not serve receives no request, also when it is the only one", () => {
  const transport = createTransport();
  const { sent, send } = attachPeer(transport, { acceptsOperations: false });
  send(opened, { type: "link.serves", operationIds: ["test.echo"] });

  expect(() => transport.request("test.echo", request(), () => {})).toThrow(
    expect.objectContaining({ code: "OPERATION_NOT_FOUND" }),
  );
  expect(sent.map(({ type }) => type)).not.toContain("call.requested");
});

test("calls that were aborted count as pending until the peer has handled the abort", async () => {
  const transport = createTransport();
  const peers = [attachPeer(transport), attachPeer(transport)] as const;
  for (const { send } of peers) send(opened, { type: "link.serves", operationIds: ["test.echo"] });
  const counts = () => peers.map(({ connection }) => connection.pending);
  const ask = (id: string) => transport.request("test.echo", request(id), () => {});

  for (const id of ["r-1", "r-2"]) ask(id)({ type: "call.aborted", requestId: id });
  const aborted = counts();
  ask("r-3");
  const asked = counts();
  await new Promise(setImmediate);
  peers[0].answer();

  expect([aborted, asked, counts()]).toEqual([
    [1, 1],
    [2, 1],
    [1, 1],
  ]);
});

test("a peer that claims to serve more than 100,000 operations is disconnected", () => {
  const transport = createTransport();
  const { connection, send } = attachPeer(transport);
  const claim = (from: number) => Array.from({ length: 50_000 }, (_, index) => `test.o${from + index}`);

  send({ type: "link.serves", operationIds: claim(0) }, { type: "link.serves", operationIds: claim(50_000) });
  const before = connection.isOpen;
  send({ type: "link.serves", operationIds: ["test.one-more"] });

  expect([before, connection.isOpen]).toEqual([true, false]);
});

test("a producer with unlimited credit leaves time for other work", async () => {
  const transport = createTransport();
  const { send } = attachPeer(transport);
  const output = { data: "x".repeat(100), meta: { source: "local" as const, operationId: "test.echo", timestamp: 0 } };
  let seq = 0;
  void transport.serve(["test.echo"], ({ requestId }, reply) => {
    void (async () => {
      while (seq < 100_000) await reply({ type: "call.responded", requestId, output, seq: seq++ });
    })();
    return () => {};
  });

  send({ ...request(), credit: 1_000_000 });
  await new Promise(setImmediate);

  expect(seq).toBeLessThan(10_000);
  expect(seq).toBeGreaterThan(100);
});

describe("the heartbeat", () => {
  const heartbeat = 1_000;

  test("ends a connection whose peer has stopped responding", () => {
    vi.useFakeTimers();
    const { connection } = attachPeer(createTransport(), { heartbeat });

    vi.advanceTimersByTime(2 * heartbeat);

    expect(connection.isOpen).toBe(false);
  });

  test("counts a long message that is arriving as a heartbeat", () => {
    vi.useFakeTimers();
    const { connection, channel } = attachPeer(createTransport(), { heartbeat }, { receivedBytes: 0 });

    for (let step = 1; step <= 20; step++) {
      channel.receivedBytes = step * 1_000;
      vi.advanceTimersByTime(heartbeat / 2);
    }
    const whileComing = connection.isOpen;
    vi.advanceTimersByTime(2 * heartbeat);

    expect([whileComing, connection.isOpen]).toEqual([true, false]);
  });
});

describe("a transport that only makes calls", () => {
  test("refuses requests and does not serve", async () => {
    const transport = new ChannelTransport("test");
    transports.push(transport);
    const { connection, sent, send } = attachPeer(transport);

    send(opened, request(), { type: "call.aborted", requestId: "r-1" });
    await vi.waitFor(() => expect(sent.map(({ type }) => type)).toContain("call.error"));

    expect(sent.filter(({ type }) => type === "call.error")).toEqual([
      {
        type: "call.error",
        requestId: "r-1",
        code: "OPERATION_NOT_FOUND",
        message: 'No operation "test.echo".',
        details: { operationId: "test.echo" },
        retryable: false,
        mayHaveRun: false,
      },
    ]);
    expect(connection.isOpen).toBe(true);
    await expect(transport.serve(["test.echo"], serveNothing)).rejects.toThrow(
      "This transport only makes calls, and cannot serve operations.",
    );
  });
});
