import { CallError } from "../../../operation/index.ts";
import { answerTooLarge } from "./bounded-body.ts";
import type { MessageTap } from "./message-tap.ts";
import { redact } from "./secrets.ts";

/** What watches over one event stream. */
export interface EventStreamGuard {
  /** Largest event, in bytes. */
  maxBytes: number;
  /** The request that is answered on this stream, if it is one request's stream. */
  requestId: string | number | undefined;
  tap: MessageTap | undefined;
  signal: AbortSignal | undefined;
  secrets: Iterable<string>;
}

/**
 * Passes an event stream on. When it ends before the answer that it is there for, which would leave the call waiting
 * for its timeout, an error takes the place of the answer. A stream with event ids can be resumed, and is left alone.
 */
export function guardEventStream(
  body: ReadableStream<Uint8Array>,
  guard: EventStreamGuard,
): ReadableStream<Uint8Array> {
  const { maxBytes, requestId, tap, signal } = guard;
  const reader = body.getReader();
  const marks = new StreamMarks();

  function end(controller: ReadableStreamDefaultController<Uint8Array>, error: CallError): void {
    if (requestId !== undefined && tap?.isPending(requestId)) {
      tap.explain(requestId, error);
      const answer = { jsonrpc: "2.0", id: requestId, error: { code: -31005, message: error.message } };
      controller.enqueue(new TextEncoder().encode(`\n\nevent: message\ndata: ${JSON.stringify(answer)}\n\n`));
    }
    controller.close();
  }

  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      let part: ReadableStreamReadResult<Uint8Array>;
      try {
        part = await reader.read();
      } catch (error) {
        if (signal?.aborted || requestId === undefined || marks.resumable) return controller.error(error);
        return end(controller, brokenOff(error, guard.secrets));
      }
      if (part.done) {
        if (marks.resumable) return controller.close();
        return end(controller, brokenOff(undefined, guard.secrets));
      }
      marks.push(part.value);
      if (marks.eventSize <= maxBytes) return controller.enqueue(part.value);
      reader.cancel().catch(() => {});
      end(controller, answerTooLarge(maxBytes));
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** Reads of a stream only what can be told without parsing it: whether events have ids, and how long the last one is. */
class StreamMarks {
  resumable = false;
  eventSize = 0;
  #tail = "";
  readonly #decoder = new TextDecoder("latin1");

  push(chunk: Uint8Array): void {
    const text = this.#tail + this.#decoder.decode(chunk);
    if (!this.resumable && /(?:^|[\r\n])id:/.test(text)) this.resumable = true;
    const end = Math.max(text.lastIndexOf("\n\n"), text.lastIndexOf("\r\r"), text.lastIndexOf("\n\r\n"));
    this.eventSize = end === -1 ? this.eventSize + chunk.byteLength : text.length - end;
    // The line break before a field name, or between two events, may have come with the chunk before.
    this.#tail = text.slice(-3);
  }
}

function brokenOff(cause: unknown, secrets: Iterable<string>): CallError {
  const inner = cause instanceof Error ? ((cause.cause as Error | undefined) ?? cause) : undefined;
  const why =
    inner === undefined ? "" : ` (${redact(String((inner as { code?: unknown }).code ?? inner.message), secrets)})`;
  return new CallError("UNAVAILABLE", `The answer broke off before it was complete${why}.`, undefined, {
    cause,
    retryable: true,
  });
}
