import { type CallError, mapError, type ResponseEnvelope } from "../../../operation/inside.ts";
import { envelopeLevels, readProblem } from "../../../transport/http-form.ts";
import type { EndpointPlan } from "../endpoint.ts";
import { badResponse, tooLarge } from "../errors.ts";
import type { FramedItem } from "./framing.ts";
import { parseForeign, TooDeep } from "./json.ts";
import { restoreEnvelope } from "./operation-response.ts";
import type { HTTPFacts } from "./response.ts";

type StreamKind = NonNullable<EndpointPlan["stream"]>;

type EventFacts = NonNullable<HTTPFacts["event"]>;

const noEvent: EventFacts = {};

/**
 * Received items of a stream that were not taken yet, with reconnection times between them. Items become envelopes when
 * they are taken, because short-lived objects cost the least.
 */
export class ItemQueue {
  /** Id of the last taken event, or `""`. */
  lastId = "";
  /** The server's reconnection time, in ms. */
  retry: number | undefined;
  /** Whether an item was ever taken. */
  hasDelivered = false;
  /** Connections that failed since the last taken item. */
  failures = 0;
  readonly #plan: EndpointPlan;
  readonly #maxBytes: number;
  readonly #toData: (text: string, kind: StreamKind) => unknown;
  readonly #onStop: (problem: CallError | undefined) => void;
  #items: Array<FramedItem | number> = [];
  #taken = 0;
  #kind: StreamKind = "sse";
  #facts: HTTPFacts | undefined;
  /** Whether the data of each event is kept as a string. */
  #keepsText = false;
  #event: EventFacts | undefined;

  /** @param onStop - Called when an item ends the stream, with an error if the item is invalid. */
  constructor(
    plan: EndpointPlan,
    limits: { eventBytes: number; jsonDepth: number },
    onStop: (problem: CallError | undefined) => void,
  ) {
    this.#plan = plan;
    this.#maxBytes = limits.eventBytes;
    this.#toData = compileItem(plan, limits.jsonDepth + (plan.isOperation ? envelopeLevels : 0));
    this.#onStop = onStop;
  }

  /** Sets the response metadata and the framing of the following items. */
  open(facts: HTTPFacts, kind: StreamKind): void {
    this.#facts = facts;
    this.#kind = kind;
    this.#keepsText = kind === "sse" && parsingOf(this.#plan) === "never";
  }

  /** Adds an item or a reconnection time. Bound, so that it can be passed as a callback. */
  readonly add = (item: FramedItem | number): void => {
    this.#items.push(item);
  };

  /** Removes all items that were not taken. */
  clear(): void {
    this.#items = [];
    this.#taken = 0;
  }

  /** Returns the envelope of the next item, or `undefined` if no item has arrived or the item ended the stream. */
  take(): ResponseEnvelope | undefined {
    while (this.#taken < this.#items.length) {
      const item = this.#items[this.#taken++]!;
      if (this.#taken === this.#items.length) this.clear();
      if (typeof item === "number") this.retry = item;
      else return this.#toEnvelope(item);
    }
    return undefined;
  }

  #toEnvelope({ data: text, event: type, id }: FramedItem): ResponseEnvelope | undefined {
    if (text.length * 3 > this.#maxBytes && encoder.encode(text).byteLength > this.#maxBytes) {
      return this.#stop(tooLarge(this.#plan.operationId, "event", this.#maxBytes));
    }
    if (id !== undefined) this.lastId = id;
    this.hasDelivered = true;
    this.failures = 0;
    let data: unknown = text;
    if (!this.#keepsText) {
      try {
        data = this.#toData(text, this.#kind);
      } catch (error) {
        return this.#stop(mapError(error));
      }
      if (data === endOfStream) return this.#stop(undefined);
    }
    if (this.#plan.isOperation) return this.#restore(data, type);
    const { statusCode, headers, contentType } = this.#facts!;
    const event = this.#kind === "sse" ? this.#eventOf(type ?? "message") : noEvent;
    // Inlined: for small events, `httpEnvelope` and its copy of the meta would dominate the cost.
    return { data, meta: { source: "http", statusCode, headers, contentType, event } };
  }

  /** Returns the value of a subscription that a trusted server sent, or ends the stream with the problem it sent. */
  #restore(received: unknown, type = "message"): ResponseEnvelope | undefined {
    const { operationId } = this.#plan;
    if (type === "problem") {
      return this.#stop(readProblem(received) ?? badResponse(operationId, "contains a problem without a code"));
    }
    const { statusCode, headers, contentType } = this.#facts!;
    try {
      return restoreEnvelope(operationId, received, { statusCode, headers, contentType, event: this.#eventOf(type) });
    } catch (error) {
      return this.#stop(mapError(error));
    }
  }

  /** Ends the stream at an item. Everything after it is ignored, including a lost connection. */
  #stop(problem: CallError | undefined): undefined {
    this.clear();
    this.#onStop(problem);
  }

  /** Returns the event's metadata. The object is reused while it does not change. */
  #eventOf(type: string): EventFacts {
    const known = this.#event;
    const id = this.lastId === "" ? undefined : this.lastId;
    if (known !== undefined && known.type === type && known.id === id && known.retry === this.retry) return known;
    const event: EventFacts = { type };
    if (id !== undefined) event.id = id;
    if (this.retry !== undefined) event.retry = this.retry;
    this.#event = event;
    return event;
  }
}

const encoder = new TextEncoder();

/** Marks the item that ends a stream. */
const endOfStream: unique symbol = Symbol("end of stream");

/**
 * Compiles how the items of a stream are parsed. Lines and records must be JSON; otherwise they are a `BAD_RESPONSE`.
 * The data of an event stays a string if the schema declares a string, and is parsed as JSON if the schema declares
 * another type. Without a schema, only objects, arrays and quoted strings are parsed, so that `42` in a stream of words
 * does not become a number. `[DONE]` ends a stream whose data is not declared as a string.
 */
function compileItem(plan: EndpointPlan, jsonDepth: number): (text: string, kind: StreamKind) => unknown {
  let mode: ReturnType<typeof parsingOf> | undefined;

  return (text, kind) => {
    if (kind === "sse") {
      mode ??= parsingOf(plan);
      if (mode === "never") return text;
      if (text === "[DONE]" && !plan.hasJSONEvents) return endOfStream;
      if (mode === "structures" && !isStructure(text)) return text;
    }
    try {
      return parseForeign(text, jsonDepth);
    } catch (error) {
      if (error instanceof TooDeep)
        throw badResponse(plan.operationId, `contains an event that is nested more than ${jsonDepth} levels deep`);
      if (kind === "sse") return text;
      throw badResponse(plan.operationId, "contains a record that is not JSON");
    }
  };
}

function isStructure(text: string): boolean {
  // Most strings begin with a letter, which is checked without a regular expression.
  return !(text.charCodeAt(0) > 0x60 && text.charCodeAt(0) < 0x7b) && /^\s*[{["]/.test(text);
}

function parsingOf({ hasJSONEvents, outputSchema: schema }: EndpointPlan): "never" | "structures" | "always" {
  if (hasJSONEvents) return "always";
  const type = typeof schema === "object" && schema !== null ? (schema as { type?: unknown }).type : undefined;
  const types = Array.isArray(type) ? type : [type];
  if (types.length === 1 && types[0] === "string") return "never";
  return type === undefined || types.includes("string") ? "structures" : "always";
}
