/** One event of a stream. */
export interface StreamEvent {
  /** `""` if the event has no type. */
  type: string;
  /** `undefined` if the event has no `data` line. */
  data: string | undefined;
}

/** Thrown by {@link EventReader} for an event that is longer than the limit. */
export class EventTooLarge extends Error {}

/**
 * Splits an event stream (WHATWG HTML, 9.2.6) into events. Unlike an `EventSource`, it also reports events without data:
 * the last event of a stream has none. Lines end with a line feed, or with a carriage return and a line feed.
 */
export class EventReader {
  readonly #maxLength: number;
  /** The beginning of a line whose end has not arrived. */
  #rest = "";
  #type = "";
  #data: string | undefined = undefined;
  #hasFields = false;

  /** @param maxLength maximum length of one event, in characters */
  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  /** Returns the events that end in this part of the stream. @throws EventTooLarge */
  read(part: string): StreamEvent[] {
    const events: StreamEvent[] = [];
    let start = 0;
    for (let end = part.indexOf("\n"); end !== -1; end = part.indexOf("\n", start)) {
      const line = this.#rest + part.slice(start, end);
      this.#rest = "";
      start = end + 1;
      this.#readLine(line.endsWith("\r") ? line.slice(0, -1) : line, events);
    }
    // Only new parts are searched, so that a line in many parts takes linear time.
    this.#rest += part.slice(start);
    this.#checkLength(this.#rest.length);
    return events;
  }

  #readLine(line: string, events: StreamEvent[]): void {
    if (line === "") {
      if (this.#hasFields) events.push({ type: this.#type, data: this.#data });
      this.#type = "";
      this.#data = undefined;
      this.#hasFields = false;
      return;
    }
    const colon = line.indexOf(":");
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "event") this.#type = value;
    else if (name === "data") this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    else return; // a comment, an id, or a field that is not known
    this.#hasFields = true;
    this.#checkLength(0);
  }

  #checkLength(more: number): void {
    if ((this.#data?.length ?? 0) + more > this.#maxLength) throw new EventTooLarge();
  }
}
