import { afterEach, describe, expect, test, vi } from "vitest";
import type { CallRequested, OnRequest, ReplyFrame, Transport } from "../transport.ts";
import { createEventTargetTransport } from "./index.ts";

const transports: Transport[] = [];
afterEach(async () => {
  for (const transport of transports.splice(0)) await transport.close();
});

function join(target: EventTarget): Transport {
  const transport = createEventTargetTransport(target);
  transports.push(transport);
  return transport;
}

function request(requestId: string): CallRequested {
  return { type: "call.requested", requestId, operationId: "test.hang", input: 1 };
}

const hang = () => vi.fn<OnRequest>(() => () => {});

describe("an EventTarget", () => {
  test("that brings a request twice starts it once, also with two who serve it", async () => {
    const target = new EventTarget();
    const servers = [hang(), hang()];
    for (const server of servers) await join(target).serve(["test.hang"], server);

    for (let time = 0; time < 2; time++) {
      target.dispatchEvent(new CustomEvent("call.requested", { detail: request("r-1"), cancelable: true }));
    }

    expect(servers.map((server) => server.mock.calls.length)).toEqual([1, 0]);
  });

  test("whose transport is closed tells the end of a call to itself once, both as asker and as server", async () => {
    const transport = join(new EventTarget());
    const aborts: string[] = [];
    await transport.serve(["test.hang"], () => (followUp) => void aborts.push(followUp.type));
    const replies: ReplyFrame[] = [];
    await transport.request("test.hang", request("r-1"), (reply) => replies.push(reply));

    await transport.close();

    expect(replies).toMatchObject([{ type: "call.error", code: "UNAVAILABLE" }]);
    expect(aborts).toEqual(["call.aborted"]);
  });

  test("takes no second request under an id that it waits for", async () => {
    const target = new EventTarget();
    await join(target).serve(["test.hang"], hang());
    const asker = join(target);
    const replies: ReplyFrame[] = [];
    await asker.request("test.hang", request("r-1"), (reply) => replies.push(reply));

    const second = () => asker.request("test.hang", request("r-1"), () => {});

    expect(second).toThrow(expect.objectContaining({ code: "EXECUTION_ERROR", mayHaveRun: false }));
    await asker.close();
    expect(replies).toMatchObject([{ type: "call.error", code: "UNAVAILABLE" }]);
  });

  test("that brings events which are no frames harms nobody", async () => {
    const target = new EventTarget();
    const server = hang();
    await join(target).serve(["test.hang"], server);

    for (const detail of [undefined, null, 5, "call.requested", [], { requestId: 1 }, { requestId: "r" }]) {
      for (const type of ["call.requested", "call.responded", "call.error", "call.aborted", "call.credited"]) {
        target.dispatchEvent(new CustomEvent(type, { detail, cancelable: true }));
      }
    }
    target.dispatchEvent(new Event("call.requested"));

    expect(server).not.toHaveBeenCalled();
  });
});
