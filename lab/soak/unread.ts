import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { WebSocket } from "ws";
import { maxBufferedBytes } from "../../src/transport/peer/index.ts";
import { becomes } from "./lanes.ts";
import { megabyte, type Soak } from "./soak.ts";

/** 16 KiB each, so that 12,800 of them are 200 MiB. */
const size = 16 * 1024;
const count = 12_800;
/** How many times in a row the result must be the same, every 200 ms. */
const atRest = 5;

/** A client that allows the producer everything and reads nothing. */
export const unread: Soak = {
  name: "unread",
  about: "a client that does not read fills no memory and delays no other client",
  count,
  transports: ["websocket"],
  mayHold: maxBufferedBytes + 50 * megabyte,
  async run({ calls, port, count, progress, counts, sample }) {
    const { produced: before } = await counts();
    const socket = new WebSocket(`ws://127.0.0.1:${port}/`);
    await once(socket, "open");
    socket.pause();
    const input = { to: count, size };
    const request = { type: "call.requested", requestId: "unread", operationId: "soak.count", input, credit: 1e9 };
    socket.send(JSON.stringify(request));

    let last = -1;
    let made = 0;
    let same = 0;
    // Until it makes no more: because it waits, because it was aborted, or because all was written.
    const hasStopped = await becomes(async () => {
      await Promise.all(Array.from({ length: 100 }, (_, n) => calls.call("soak.echo", { n })));
      await delay(200);
      last = made;
      await sample();
      made = (await counts()).produced - before;
      progress(made);
      same = made > 0 && made === last ? same + 1 : 0;
      return same === atRest;
    });
    socket.terminate();

    const problems = hasStopped ? [] : ["the producer did not stop"];
    if (made * size > 150 * megabyte) problems.push(`${Math.round((made * size) / megabyte)} MB were sent`);
    return problems;
  },
};
