import { expect, test } from "vitest";
import { defaultLimits } from "../../operation/index.ts";
import type { FollowUp } from "../transport.ts";
import { ClockSync, PeerClock } from "./clock-sync.ts";
import { AcceptedCall, IncomingCalls } from "./incoming-calls.ts";

const request = (requestId: string) => ({ type: "call.requested", requestId, operationId: "a.b", input: 1 }) as const;

function createCalls(shared?: { pending: number; pendingCalls: number }): IncomingCalls {
  const peer = { clock: new PeerClock(), reply: () => {} };
  return new IncomingCalls(
    peer,
    new ClockSync(
      () => {},
      () => 1_000,
    ),
    defaultLimits,
    shared,
  );
}

test("credit that arrives before the handler is delivered once, and an abort after it", () => {
  const call = createCalls().accept({ ...request("r"), credit: 1 }) as AcceptedCall;
  const delivered: FollowUp[] = [];

  for (let n = 0; n < 1_000; n++) call.deliver({ type: "call.credited", requestId: "r", count: 2 });
  call.deliver({ type: "call.aborted", requestId: "r" });
  call.follow((frame) => delivered.push(frame));
  call.deliver({ type: "call.credited", requestId: "r", count: 5 });

  expect(delivered).toEqual([
    { type: "call.credited", requestId: "r", count: 2_000 },
    { type: "call.aborted", requestId: "r" },
    { type: "call.credited", requestId: "r", count: 5 },
  ]);
});

test("callers that share a limit cannot have more calls pending than all together may", () => {
  const shared = { pending: 0, pendingCalls: 2 };
  const [one, two, three] = [createCalls(shared), createCalls(shared), createCalls(shared)];
  const first = one.accept(request("r")) as AcceptedCall;
  two.accept(request("r"));

  const refused = three.accept(request("r"));
  one.end(first);
  one.end(first);

  expect(refused).toMatchObject({ code: "LIMIT_EXCEEDED", details: { limit: "pendingCalls" }, mayHaveRun: false });
  expect(three.accept(request("r"))).toBeInstanceOf(AcceptedCall);
});
