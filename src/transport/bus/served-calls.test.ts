import { expect, test } from "vitest";
import { defaultLimits } from "../../operation/index.ts";
import type { FollowUp } from "../transport.ts";
import { ServedCalls } from "./served-calls.ts";

const request = (requestId: string) => ({ type: "call.requested", requestId, operationId: "a.b", input: 1 }) as const;

test("credit that comes before the handler is told once, and an abort after it", () => {
  const calls = new ServedCalls(defaultLimits);
  const call = calls.add("somebody", { ...request("r"), credit: 1 }, 0);
  const told: FollowUp[] = [];

  for (let n = 0; n < 1_000; n++) call.tell({ type: "call.credited", requestId: "r", count: 2 });
  call.tell({ type: "call.aborted", requestId: "r" });
  call.follow((frame) => told.push(frame));
  call.tell({ type: "call.credited", requestId: "r", count: 5 });

  expect(told).toEqual([
    { type: "call.credited", requestId: "r", count: 2_000 },
    { type: "call.aborted", requestId: "r" },
    { type: "call.credited", requestId: "r", count: 5 },
  ]);
});

test("one who makes up many askers cannot have more calls pending than all together may", () => {
  const calls = new ServedCalls({ ...defaultLimits, pendingCalls: 2 });
  const first = calls.add("asker 1", request("r"), 0);
  calls.add("asker 2", request("r"), 0);

  const refused = calls.refusal("asker 3", request("r"));
  calls.end(first);
  calls.end(first);

  expect(refused).toMatchObject({ code: "LIMIT_EXCEEDED", details: { limit: "pendingCalls" }, mayHaveRun: false });
  expect(calls.refusal("asker 3", request("r"))).toBeUndefined();
});
