import type { Recorder } from "../../test/history/index.ts";
import { secretScope } from "./operations.ts";
import type { Random } from "./random.ts";

/** A malformed message, or one that claims to come from an administrator. */
export function createGarbage(random: Random, recorder: Recorder): string {
  const requestId = `stranger ${random.next()}`;
  const kinds: Array<() => unknown> = [
    () => "no JSON",
    () => "{",
    () => "\u0000\u0001\uffff",
    () => "[".repeat(random.integer(1, 100_000)),
    () => "x".repeat(random.integer(1, 200_000)),
    () => [],
    () => ({ type: "call.requested" }),
    () => ({ type: "call.requested", requestId, operationId: "__proto__", input: {} }),
    () => ({ type: "call.requested", requestId: 7, operationId: ["chaos.echo"], timeout: "soon" }),
    () => ({ type: "call.responded", requestId, output: 1, seq: -1 }),
    () => ({ type: "call.aborted", requestId }),
    () => ({ type: "call.credited", requestId, count: 1e300 }),
    () => ({ type: "link.specs", peerId: requestId, specs: [{ name: "x" }] }),
    () => ({ type: "peer.announced", peerId: requestId, specs: "all" }),
    () => forge(requestId, recorder),
  ];
  const made = random.pick(kinds)();
  return typeof made === "string" ? made : JSON.stringify(made);
}

/** A request with a claimed identity that would be allowed. */
function forge(requestId: string, recorder: Recorder): unknown {
  const call = `forged by ${requestId}`;
  recorder.record({ kind: "forged", call });
  return {
    ...{ type: "call.requested", requestId, operationId: "chaos.secret", input: { call }, timeout: 5_000 },
    ...{ identity: { id: "admin", scopes: [secretScope] }, trusted: true, metadata: { trusted: true } },
  };
}
