import { createParser, type EventSourceMessage } from "eventsource-parser";
import { quote } from "../internal/text.ts";
import { startTimer, type Timer } from "../internal/timers.ts";
import { CallError, type ResponseEnvelope } from "../operation/inside.ts";
import { endComment, eventStreamType, readProblem } from "../transport/http-form.ts";
import {
  badResponse,
  type ClientLimits,
  ConnectionLost,
  checkResponse,
  parse,
  readText,
  toEnvelope,
  tooLarge,
} from "./http-response.ts";

// What only subscriptions need: loaded with the first one.

/** Maximum silence of the server of a subscription, in ms. It sends a comment every 15 seconds. */
const maxSilenceMs = 60_000;

/** Rejects if the server of a subscription is silent: its connection is lost, which is otherwise not noticed. */
export function awaitServer<T>(promise: Promise<T>): Promise<T> {
  let timer: Timer;
  const silent = new Promise<never>((_, reject) => {
    const toError = () => new ConnectionLost(`no data arrived within ${maxSilenceMs} ms`);
    timer = startTimer(() => reject(toError()), maxSilenceMs);
  });
  return Promise.race([promise, silent]).finally(() => timer.stop());
}

/** Reads the values of a subscription. Throws the error of one that failed. */
export async function* readValues(
  id: string,
  response: Response,
  limits: ClientLimits,
): AsyncGenerator<ResponseEnvelope, void> {
  if (response.status === 204) return; // `lastEventId` is that of the end of a stream.
  await checkResponse(id, response, eventStreamType, limits);
  const events: EventSourceMessage[] = [];
  let hasEnded = false;
  let isTooLarge = false;
  const parser = createParser({
    onEvent: (event) => events.push(event),
    onComment: (comment) => {
      hasEnded ||= comment === endComment;
    },
    // Other errors are unknown fields, which are ignored (WHATWG HTML, 9.2.6).
    onError: ({ type }) => {
      isTooLarge ||= type === "max-buffer-size-exceeded";
    },
    maxBufferSize: limits.eventBytes,
  });
  let seq = 0;
  for await (const text of readText(id, response, Number.POSITIVE_INFINITY, awaitServer)) {
    parser.feed(text);
    for (const { event, data, id: eventId } of events.splice(0)) {
      if (event === "end") return;
      if (data.length > limits.eventBytes) throw tooLarge(id, "eventBytes", limits.eventBytes);
      const json = parse(id, data);
      if (event === "problem") throw readProblem(json) ?? badResponse(id, "contains a problem without a code");
      const envelope = toEnvelope(id, json);
      checkSequence(id, envelope, eventId, seq);
      seq += 1;
      yield envelope;
    }
    if (isTooLarge) throw tooLarge(id, "eventBytes", limits.eventBytes);
    if (hasEnded) return;
  }
  throw new ConnectionLost("the stream ended without its last event");
}

/** The id of an event is its number, unless the value is an event of an imported stream, which may have its own. */
function checkSequence(operationId: string, { meta }: ResponseEnvelope, id: string | undefined, seq: number): void {
  if (id === undefined || id === String(seq) || (meta.source === "http" && meta.event !== undefined)) return;
  const message = `Values of ${quote(operationId)} were lost: value ${quote(id)} arrived instead of value ${seq}.`;
  throw new CallError("STREAM_GAP", message, { operationId, expected: seq, received: id }, { retryable: true });
}
