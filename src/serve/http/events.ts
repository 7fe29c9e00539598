import { toBase64 } from "../../internal/base64.ts";
import { deferTurn } from "../../internal/timers.ts";
import { mapError, type ResponseEnvelope } from "../../operation/inside.ts";
import { eventStreamType, lastEvent, readBytes, toJSONText } from "../../transport/http-form.ts";
import { holdBytes } from "../byte-budget.ts";
import type { Exchange } from "../exchange.ts";
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
  const values = server.run.values(request, onOpen);
  let seq = 0;
  const format = (next: IteratorResult<ResponseEnvelope, undefined>) =>
    next.done ? undefined : formatEvent(next.value, seq++, request.wantsEnvelope);
  const end = () => void values.return?.().catch(() => {}); // The registry logs errors of the handler's cleanup.
  const first = values.next().then(format);
  try {
    await Promise.race([first, isOpen]);
  } catch (error) {
    end();
    throw error;
  }
  const headers = callHeaders(eventStreamType, request);
  // Middleware that compresses responses, and Nginx, would hold events back.
  Object.assign(headers, { "cache-control": "no-store, no-transform", "x-accel-buffering": "no" });
  const run = async (write: (text: string) => Promise<void>) => {
    try {
      for (let event = await first; event !== undefined; event = format(await values.next())) {
        const release = event.length < minCountedBytes ? undefined : holdBytes(request.caller.owner, event.length);
        await write(event).finally(release);
      }
      await write(lastEvent.text);
    } catch (error) {
      end();
      await write(`event: problem\ndata: ${formatProblem(server, request, mapError(error))}\n\n`);
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
