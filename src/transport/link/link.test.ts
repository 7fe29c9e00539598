import { afterEach, describe, expect, test, vi } from "vitest";
import type { CallRequested, OnRequest, ReplyFrame } from "../transport.ts";
import type { Channel } from "./channel.ts";
import { LinkHub } from "./link-hub.ts";
import { type LinkOptions, toLinkLimits } from "./options.ts";

const hubs: LinkHub[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const hub of hubs.splice(0)) await hub.close();
});

function createHub(): LinkHub {
  const hub = new LinkHub("test");
  hubs.push(hub);
  return hub;
}

/** Attaches a peer that is played by the test: what it is sent, and what it says. */
function attachPeer(hub: LinkHub, options: Partial<LinkOptions> = {}, overrides: Partial<Channel> = {}) {
  const sent: Array<Record<string, unknown>> = [];
  const channel = {
    send: (text: string) => void sent.push(...text.split("\n").map((line) => JSON.parse(line))),
    bufferedAmount: 0,
    close: vi.fn<(reason?: Error) => void>(),
    ...overrides,
  };
  const link = hub.attach(channel, {
    ...toLinkLimits(undefined),
    heartbeat: 0,
    acceptsOperations: true,
    passesIdentity: false,
    ...options,
  });
  const say = (...frames: object[]) => link.receive(frames.map((frame) => JSON.stringify(frame)).join("\n"));
  return { link, channel, sent, say };
}

function request(requestId = "r-1"): CallRequested {
  return { type: "call.requested", requestId, operationId: "test.echo", input: 1 };
}

const opened = { type: "link.opened", version: 1, peerId: "peer" };
const serveNothing: OnRequest = () => () => {};

describe("a peer that claims to take next to nothing", () => {
  test.each([1, 0, -5, 1_023])("is dropped when it says maxMessage %d", (maxMessage) => {
    const hub = createHub();
    const { link, say } = attachPeer(hub);

    say({ ...opened, maxMessage });

    expect(link.isOpen).toBe(false);
    expect(hub.links.size).toBe(0);
  });

  test("does not hear of a long list of operations, and others do", async () => {
    const hub = createHub();
    const small = attachPeer(hub);
    const other = attachPeer(hub);
    small.say({ ...opened, maxMessage: 1_024 });
    other.say(opened);
    const ids = Array.from({ length: 100 }, (_, index) => `test.operation-${index}`);

    const serving = hub.serve(ids, serveNothing);
    await vi.waitFor(() => expect(other.sent.at(-1)).toEqual({ type: "link.pinged" }));
    for (const { say } of [small, other]) say({ type: "link.ponged" });
    await serving;

    expect(other.sent).toContainEqual({ type: "link.serves", operationIds: ids });
  });
});

describe("a link that ends", () => {
  test("takes nobody with it when its channel cannot be closed", async () => {
    const hub = createHub();
    attachPeer(
      hub,
      {},
      {
        close() {
          throw new RangeError("no");
        },
      },
    );
    const { link, channel } = attachPeer(hub);
    const replies: ReplyFrame[] = [];
    link.request(request(), (reply) => replies.push(reply));

    await hub.close();

    expect(channel.close).toHaveBeenCalledOnce();
    expect(replies).toMatchObject([{ type: "call.error", code: "UNAVAILABLE" }]);
    expect(hub.links.size).toBe(0);
  });

  test("settles every call, also when one of those who wait throws", async () => {
    const hub = createHub();
    const { link } = attachPeer(hub);
    const replies: ReplyFrame[] = [];
    link.request(request("r-1"), () => {
      throw new Error("not my day");
    });
    link.request(request("r-2"), (reply) => replies.push(reply));

    link.close(new Error("cut"));

    expect(replies).toMatchObject([{ type: "call.error", requestId: "r-2", code: "UNAVAILABLE" }]);
  });

  test("because its channel cannot send settles the request that found out", () => {
    const send = () => {
      throw new Error("the pipe is broken");
    };
    const { link } = attachPeer(createHub(), {}, { send });
    const replies: ReplyFrame[] = [];

    link.request({ ...request(), input: "x".repeat(10_000) }, (reply) => replies.push(reply));

    expect(replies).toMatchObject([{ type: "call.error", code: "UNAVAILABLE" }]);
    expect(link.pending).toBe(0);
  });

  test("takes no request any more", () => {
    const { link } = attachPeer(createHub());
    link.close();

    expect(() => link.request(request(), () => {})).toThrow(
      expect.objectContaining({ code: "UNAVAILABLE", mayHaveRun: false }),
    );
  });

  test("is told to its owner once, also when there is no room for its last words", () => {
    const onLost = vi.fn();
    const hub = new LinkHub("test", { onLost });
    const channel = { bufferedAmount: 0 };
    const { link } = attachPeer(hub, { bufferedBytes: 1_000 }, channel);
    channel.bufferedAmount = 2_000;

    link.close();

    expect(onLost).toHaveBeenCalledTimes(1);
  });
});

describe("a peer with more to read than may wait", () => {
  const limit = 10_000;
  const large = { ...request("r-1"), input: "x".repeat(limit) };

  /** Attaches one that is given a request of the whole limit. */
  function attachReader() {
    vi.useFakeTimers();
    const peer = attachPeer(createHub(), { bufferedBytes: limit });
    const replies: ReplyFrame[] = [];
    peer.channel.send = (text) => {
      peer.channel.bufferedAmount += text.length;
    };
    peer.link.request(large, (reply) => replies.push(reply));
    return { ...peer, replies };
  }

  test("takes no further call, and all is well when it has read", () => {
    const { link, channel, replies } = attachReader();

    const refused = () => link.request(request("r-2"), () => {});

    expect(refused).toThrow(expect.objectContaining({ code: "LIMIT_EXCEEDED", mayHaveRun: false }));
    channel.bufferedAmount = 0;
    vi.advanceTimersByTime(10_000);
    expect(refused).not.toThrow();
    expect({ isOpen: link.isOpen, replies, timers: vi.getTimerCount() }).toEqual({
      isOpen: true,
      replies: [],
      timers: 0,
    });
  });

  test("is given time as long as it reads", () => {
    const { link, channel } = attachReader();

    for (let second = 0; second < 10; second++) {
      channel.bufferedAmount -= 5;
      vi.advanceTimersByTime(1_000);
    }

    expect(link.isOpen).toBe(true);
  });

  test("is given up when it reads nothing for a second", () => {
    const { link, replies } = attachReader();

    vi.advanceTimersByTime(1_000);

    expect(link.isOpen).toBe(false);
    expect(replies).toMatchObject([{ type: "call.error", requestId: "r-1", code: "UNAVAILABLE" }]);
  });

  test("is given up at once when there is twice as much", () => {
    const { link, channel } = attachReader();

    channel.bufferedAmount = 2 * limit;
    link.send({ type: "link.ponged" });

    expect(link.isOpen).toBe(false);
  });

  test("leaves no timer behind when it goes", () => {
    const { link } = attachReader();

    link.close();

    expect(vi.getTimerCount()).toBe(0);
  });
});

test("nothing of a message is read after what is no frame", () => {
  const hub = createHub();
  const { link, say } = attachPeer(hub);
  const served = vi.fn(serveNothing);
  void hub.serve(["test.echo"], served);

  say(request("r-1"));
  link.receive(`\n${JSON.stringify(request("r-2"))}`);

  expect(served.mock.calls.map(([frame]) => frame.requestId)).toEqual(["r-1"]);
  expect(link.isOpen).toBe(false);
});

test("a late request is asked about, and run, also when it comes as bytes", async () => {
  const hub = createHub();
  const { link, sent, say } = attachPeer(hub);
  const ran = vi.fn(serveNothing);
  const serving = hub.serve(["test.echo"], ran);
  const pings = () => sent.filter(({ type }) => type === "link.pinged").length;
  await vi.waitFor(() => expect(pings()).toBe(2));
  say(opened, { type: "link.ponged" }, { type: "link.ponged" });
  await serving;

  link.receive(new TextEncoder().encode(JSON.stringify({ ...request(), sentAt: 5 })));
  await vi.waitFor(() => expect(pings()).toBe(3));
  say({ type: "link.ponged", clock: 5 });

  expect(ran).toHaveBeenCalledTimes(1);
});

test("a peer that may not serve is asked nothing, also when it is the only one", () => {
  const hub = createHub();
  const { sent, say } = attachPeer(hub, { acceptsOperations: false });
  say(opened, { type: "link.serves", operationIds: ["test.echo"] });

  expect(() => hub.request("test.echo", request(), () => {})).toThrow(
    expect.objectContaining({ code: "OPERATION_NOT_FOUND" }),
  );
  expect(sent.map(({ type }) => type)).not.toContain("call.requested");
});

test("a peer that has not heard that calls were given up counts as busy with them", () => {
  const hub = createHub();
  const peers = [attachPeer(hub), attachPeer(hub)] as const;
  for (const { say } of peers) {
    say(opened, { type: "link.serves", operationIds: ["test.echo"] }, { type: "link.ponged" }, { type: "link.ponged" });
  }
  const counts = () => peers.map(({ link }) => link.pending);
  const ask = (id: string) => hub.request("test.echo", request(id), () => {});

  for (const id of ["r-1", "r-2"]) ask(id)({ type: "call.aborted", requestId: id });
  const givenUp = counts();
  ask("r-3");
  const asked = counts();
  peers[0].say({ type: "link.ponged" });

  expect([givenUp, asked, counts()]).toEqual([
    [1, 1],
    [2, 1],
    [1, 1],
  ]);
});

test("a peer that claims more operations than anybody has is dropped", () => {
  const hub = createHub();
  const { link, say } = attachPeer(hub);
  const claim = (from: number) => Array.from({ length: 50_000 }, (_, index) => `test.o${from + index}`);

  say({ type: "link.serves", operationIds: claim(0) }, { type: "link.serves", operationIds: claim(50_000) });
  const before = link.isOpen;
  say({ type: "link.serves", operationIds: ["test.one-more"] });

  expect([before, link.isOpen]).toEqual([true, false]);
});

test("a producer that is never short of credit lets others have their turn", async () => {
  const hub = createHub();
  const { say } = attachPeer(hub);
  const output = { data: "x".repeat(100), meta: { source: "local" as const, operationId: "test.echo", timestamp: 0 } };
  let seq = 0;
  void hub.serve(["test.echo"], ({ requestId }, reply) => {
    void (async () => {
      while (seq < 100_000) await reply({ type: "call.responded", requestId, output, seq: seq++ });
    })();
    return () => {};
  });

  say({ ...request(), credit: 1_000_000 });
  await new Promise(setImmediate);

  expect(seq).toBeLessThan(10_000);
  expect(seq).toBeGreaterThan(100);
});

describe("the heartbeat", () => {
  const heartbeat = 1_000;

  test("ends a link that has gone silent", () => {
    vi.useFakeTimers();
    const { link } = attachPeer(createHub(), { heartbeat });

    vi.advanceTimersByTime(2 * heartbeat);

    expect(link.isOpen).toBe(false);
  });

  test("hears a long message while it comes in", () => {
    vi.useFakeTimers();
    const { link, channel } = attachPeer(createHub(), { heartbeat }, { receivedBytes: 0 });

    for (let step = 1; step <= 20; step++) {
      channel.receivedBytes = step * 1_000;
      vi.advanceTimersByTime(heartbeat / 2);
    }
    const whileComing = link.isOpen;
    vi.advanceTimersByTime(2 * heartbeat);

    expect([whileComing, link.isOpen]).toEqual([true, false]);
  });
});
