import { createParser } from "eventsource-parser";

/** Splits a stream into items. Accepts chunks of any size. */
export interface Framer {
  feed(text: string): void;
  /** Call it at the end of the stream. Emits a last item that is complete without a separator. */
  end(): void;
}

/** One complete item, unchanged. */
export interface FramedItem {
  data: string;
  /** Event type. Only event streams have a type and an id. */
  event?: string | undefined;
  id?: string | undefined;
}

/** Callbacks of a framer. */
export interface FramerEvents {
  onItem(item: FramedItem): void;
  /** Receives the server's reconnection time, in ms. */
  onRetry(retry: number): void;
  /** Receives the comments of an event stream. */
  onComment(comment: string): void;
  /** Called if an unfinished item is longer than the limit. */
  onOverflow(): void;
}

/** Creates the framer of a stream. `limit` is the maximum length, in characters, of one unfinished item. */
export function createFramer(kind: "sse" | "ndjson" | "json-seq", limit: number, events: FramerEvents): Framer {
  if (kind === "sse") return eventFramer(limit, events);
  return recordFramer(kind === "ndjson" ? "\n" : "\u001e", limit, events);
}

// Field names count towards the parser's buffer, but not towards the event.
const slack = 4096;

function eventFramer(limit: number, { onItem, onRetry, onComment, onOverflow }: FramerEvents): Framer {
  const parser = createParser({
    onEvent: onItem,
    onRetry,
    onComment,
    onError: (error) => {
      // Unknown fields and invalid retry values must be ignored (WHATWG HTML, 9.2.6).
      if (error.type === "max-buffer-size-exceeded") onOverflow();
    },
    maxBufferSize: limit + slack,
  });
  // An event without its blank line is incomplete and is not emitted.
  return { feed: parser.feed, end: () => {} };
}

// A record of a JSON sequence ends where the next one begins. To emit it earlier, try to parse a record at the end of
// each line, a limited number of times because each attempt parses from the start.
const maxAttempts = 16;

function isJSONText(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Creates a framer for lines of JSON, or for records that begin with a separator (RFC 7464). */
function recordFramer(separator: string, limit: number, { onItem, onOverflow }: FramerEvents): Framer {
  let rest = "";
  let attempts = 0;
  const emit = (record: string) => {
    const data = record.trim();
    if (data !== "") onItem({ data });
  };
  return {
    feed(chunk) {
      let start = 0;
      for (let end = chunk.indexOf(separator); end !== -1; end = chunk.indexOf(separator, start)) {
        emit(rest + chunk.slice(start, end));
        rest = "";
        start = end + 1;
      }
      if (start > 0) attempts = 0;
      rest += start === 0 ? chunk : chunk.slice(start);
      if (separator !== "\n" && rest.endsWith("\n") && attempts++ < maxAttempts && isJSONText(rest)) {
        emit(rest);
        rest = "";
      }
      if (rest.length > limit + slack) {
        rest = "";
        onOverflow();
      }
    },
    end: () => emit(rest),
  };
}
