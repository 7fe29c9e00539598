import { expect, test } from "vitest";
import type { OperationSpec } from "../../operation/index.ts";
import type { WireFrame } from "../codec/index.ts";
import type { PeerEvent } from "../transport.ts";
import { GossipPeerDirectory } from "./gossip-peer-directory.ts";

const megabyte = 1024 * 1024;
const spec = (name: string) => ({ namespace: "test", name }) as OperationSpec;

function listen() {
  const events: PeerEvent[] = [];
  const sent: object[] = [];
  const gossip = (frame: object) => void sent.push(frame);
  const directory = new GossipPeerDirectory("me", { maxMessage: 4 * megabyte, gossip }, 1_000);
  directory.watch((event) => events.push(event));
  const receive = (frame: object, length = 100) => directory.take(frame as WireFrame, length);
  return { directory, events, sent, receive };
}

test("a peer whose name another one has used is accepted again at its next heartbeat", () => {
  const { events, sent, receive } = listen();
  const real = { type: "link.specs", peerId: "a", revision: 1, part: 0, parts: 1, specs: [spec("real")] };

  receive(real);
  receive({ ...real, revision: Number.MAX_SAFE_INTEGER, specs: [spec("forged")] });
  receive({ type: "link.alive", peerId: "a", revision: 1 });
  receive(real);

  expect(sent).toEqual([{ type: "link.who", peerId: "a" }]);
  expect(events.at(-1)).toEqual({ type: "peer.announced", peerId: "a", specs: [spec("real")] });
});

test("announcements are kept up to a bound, and there is room again when their peers are gone", () => {
  const { directory, receive } = listen();
  const part = (peerId: string, number: number) => ({
    ...{ type: "link.specs", peerId, revision: 1, part: number, parts: 1_000, specs: [spec(`n${number}`)] },
  });

  const taken = Array.from({ length: 200 }, (_, n) => receive(part(`peer ${n % 7}`, n), megabyte));
  for (let beat = 0; beat < 4; beat++) directory.beat(true);
  const takenLater = receive(part("another", 0), megabyte);

  expect(taken.filter((isTaken) => isTaken)).toHaveLength(128);
  expect(takenLater).toBe(true);
});
