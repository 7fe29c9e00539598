import { expect, test } from "vitest";
import type { OperationSpec } from "../../operation/index.ts";
import type { WireFrame } from "../codec/index.ts";
import type { PeerEvent } from "../transport.ts";
import { PeerBook } from "./peer-book.ts";

const megabyte = 1024 * 1024;
const spec = (name: string) => ({ namespace: "test", name }) as OperationSpec;

function listen() {
  const events: PeerEvent[] = [];
  const said: object[] = [];
  const ignore = () => {};
  const gossip = (frame: object) => void said.push(frame);
  const book = new PeerBook({
    peerId: "me",
    maxPart: megabyte,
    maxSpec: megabyte,
    maxOperations: 1_000,
    gossip,
    onDeparted: ignore,
    onWithdrawn: ignore,
  });
  book.watch((event) => events.push(event));
  const hear = (frame: object, size = 100) => book.take(frame as WireFrame, size);
  return { book, events, said, hear };
}

test("a peer whose name somebody else has used is believed again when it says that it is alive", () => {
  const { events, said, hear } = listen();
  const real = { type: "link.specs", peerId: "a", revision: 1, part: 0, parts: 1, specs: [spec("real")] };

  hear(real);
  hear({ ...real, revision: Number.MAX_SAFE_INTEGER, specs: [spec("forged")] });
  hear({ type: "link.alive", peerId: "a", revision: 1 });
  hear(real);

  expect(said).toEqual([{ type: "link.who", peerId: "a" }]);
  expect(events.at(-1)).toEqual({ type: "peer.announced", peerId: "a", specs: [spec("real")] });
});

test("announcements are kept up to a bound, and there is room again when their peers are gone", () => {
  const { book, hear } = listen();
  const part = (peerId: string, number: number) => ({
    ...{ type: "link.specs", peerId, revision: 1, part: number, parts: 1_000, specs: [spec(`n${number}`)] },
  });

  const taken = Array.from({ length: 200 }, (_, n) => hear(part(`peer ${n % 7}`, n), megabyte));
  for (let beat = 0; beat < 4; beat++) book.beat();
  const takenLater = hear(part("another", 0), megabyte);

  expect(taken.filter((isTaken) => isTaken)).toHaveLength(128);
  expect(takenLater).toBe(true);
});
