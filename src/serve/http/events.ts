import { toBase64 } from "../../internal/base64.ts";
import { deferTurn } from "../../internal/timers.ts";
import { mapError, type ResponseEnvelope } from "../../operation/inside.ts";
import { eventStreamType, lastEvent, toJSONText } from "../../transport/http-form.ts";
import { ownerOf } from "../authentication.ts";
import { ByteBudget } from "../byte-budget.ts";
import type { Exchange } from "../exchange.ts";
import { readBytes } from "../outcome.ts";
import type { CallRequest } from "./read-request.ts";
import type { HTTPServer } from "./server.ts";
import { callHeaders, formatEnvelope, formatProblem, minCountedBytes } from "./write-response.ts";

/** A comment that is sent on an idle stream, so that proxies do not close it. */
const heartbeat = { text: ":\n\n", everyMs: 15_000 };

/**
 * Runs a subscription and writes its values as server-sent events. The response starts with the first value, or when the
 * handler is waiting for it; an error before that is thrown, and becomes the response.
 */
export async function writeEvents(server: HTTPServer, exchange: Exchange, request: CallRequest): Promise<void> {
  let onOpen!: () => void;
  const isOpen = new Promise<void>((resolve) => {
    onOpen = () => deferTurn(resolve); // The handler may fail immediately.
  });
  const values = server.run.values({ ...request, onOpen });
  const first = values.next();
  await Promise.race([first, isOpen]);
  const headers = callHeaders(eventStreamType, request);
  // Middleware that compresses responses, and Nginx, would hold events back.
  Object.assign(headers, { "cache-control": "no-store, no-transform", "x-accel-buffering": "no" });
  const run = async (write: (text: string) => Promise<void>) => {
    const budget = new ByteBudget(ownerOf(request.caller));
    try {
      let seq = 0;
      for (let next = await first; !next.done; next = await values.next()) {
        const event = formatEvent(next.value, seq++, request.wantsEnvelope);
        if (event.length >= minCountedBytes) budget.add(event.length);
        await write(event);
        budget.release();
      }
      await write(lastEvent.text);
    } catch (error) {
      values.return?.().catch(() => {}); // The registry logs errors of the handler's cleanup.
      await write(`event: problem\ndata: ${formatProblem(server, request, mapError(error))}\n\n`);
    } finally {
      budget.release();
    }
  };
  exchange.stream(headers, run, heartbeat);
}

/** Formats one value. Throws `EXECUTION_ERROR` if it cannot be sent. JSON has no line breaks. */
function formatEvent(envelope: ResponseEnvelope, seq: number, wantsEnvelope: boolean): string {
  const { data, meta } = envelope;
  const given = meta.source === "http" ? meta.event?.id : undefined;
  const id = given === undefined || given === lastEvent.id || /[\r\n\0]/.test(given) ? seq : given;
  if (wantsEnvelope) return `id: ${id}\ndata: ${formatEnvelope(envelope)}\n\n`;
  const bytes = readBytes(data);
  // An event without data is not delivered to the listeners of an EventSource.
  const text = bytes === undefined ? (toJSONText(data) ?? "null") : `"${toBase64(bytes)}"`;
  return `id: ${id}\ndata: ${text}\n\n`;
}
