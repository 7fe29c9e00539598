import { type IncomingMessage, request as requestHTTP } from "node:http";
import { EventReader } from "../client/event-reader.ts";
import { readHubToken } from "../hub/state-folder.ts";
import { fromBase64 } from "../internal/base64.ts";
import { findNetworkFailure } from "../internal/network-error.ts";
import { isObject } from "../internal/objects.ts";
import { quote } from "../internal/text.ts";
import { withoutTrailingSlashes } from "../internal/urls.ts";
import {
  CallError,
  type CallErrorJSON,
  formatOperationPath,
  isCallError,
  type OperationSpec,
  operationNotFound,
  parseOperationId,
  type ResponseEnvelope,
} from "../operation/index.ts";
import { usageError } from "./failures.ts";
import type { ListOptions, Target, TargetCallOptions } from "./target.ts";

const envelopeType = "application/vnd.alkdev.envelope+json";
const eventStreamType = "text/event-stream";

/** Maximum size of a response, in bytes, and of an event, in characters. */
const maxResponseSize = 64 * 1_024 * 1_024;

/** Maximum silence of a subscription, in ms. The hub sends a comment every 15 seconds. */
const maxSilenceMs = 60_000;

/** Opens a running hub with the token of the environment, or else with the one that a hub on this machine stored. */
export async function openHub(url: string, environment: NodeJS.ProcessEnv): Promise<Target> {
  return new HubTarget(url, environment["OPERATIONS_TOKEN"] || (await readHubToken(url, environment)));
}

/**
 * A running hub, called over HTTP. It uses `node:http`, because loading `fetch` takes longer than everything else that a
 * call does.
 */
class HubTarget implements Target {
  readonly label: string;
  readonly #token: string | undefined;

  /** @param url the base URL of the hub */
  constructor(url: string, token: string | undefined) {
    const parsed = URL.canParse(url) ? new URL(url) : undefined;
    if (parsed === undefined || !/^https?:$/.test(parsed.protocol)) {
      throw usageError(`${quote(url)} is not the URL of a hub. It begins with http:// or https://.`);
    }
    if (parsed.username + parsed.password !== "") {
      throw usageError("The URL of a hub must not contain credentials. Set OPERATIONS_TOKEN instead.");
    }
    this.label = withoutTrailingSlashes(parsed.origin + parsed.pathname);
    this.#token = token;
  }

  list(query?: string, { brief = false, ...options }: ListOptions = {}): Promise<OperationSpec[]> {
    return this.#findOperations({ brief, ...(query !== undefined && { query }) }, options);
  }

  async find(id: string, options?: TargetCallOptions): Promise<OperationSpec | undefined> {
    return (await this.#findOperations({ id }, options))[0];
  }

  async #findOperations(input: object, options?: TargetCallOptions): Promise<OperationSpec[]> {
    const { data } = await this.call("hub.operations", input, options);
    if (isObject(data) && Array.isArray(data["operations"])) return data["operations"] as OperationSpec[];
    throw this.#notHub("it does not list its operations");
  }

  async call(id: string, input: unknown, options: TargetCallOptions = {}): Promise<ResponseEnvelope> {
    try {
      const response = await this.#send(id, input, envelopeType, options);
      const type = typeOf(response);
      const body = await readBody(response);
      if (type !== envelopeType) throw this.#toFailure(response, type, body);
      return this.#toEnvelope(body);
    } catch (error) {
      throw this.#toCallError(error, id, options);
    }
  }

  async *subscribe(id: string, input: unknown, options: TargetCallOptions = {}): AsyncGenerator<ResponseEnvelope> {
    try {
      const response = await this.#send(id, input, `${eventStreamType}, ${envelopeType}`, options);
      const type = typeOf(response);
      if (type !== eventStreamType) throw this.#toFailure(response, type, await readBody(response));
      response.setEncoding("utf8");
      response.setTimeout(maxSilenceMs, () => response.destroy());
      const events = new EventReader(maxResponseSize);
      for await (const part of response) {
        for (const { type, data } of events.read(part as string)) {
          if (type === "end") return;
          if (type === "problem") throw toProblem(data ?? "") ?? this.#notHub("it sent a malformed event");
          if (data !== undefined) yield this.#toEnvelope(data);
        }
      }
      throw new CallError("UNAVAILABLE", `The connection to ${this.label} was lost before ${quote(id)} ended.`);
    } catch (error) {
      throw this.#toCallError(error, id, options);
    }
  }

  async close(): Promise<void> {}

  async #send(id: string, input: unknown, accept: string, options: TargetCallOptions): Promise<IncomingMessage> {
    const { namespace, name } = parseOperationId(id) ?? {};
    const path = name === undefined ? undefined : formatOperationPath(namespace!, name);
    if (path === undefined) throw operationNotFound(id);
    const body = input === undefined ? undefined : JSON.stringify(input);
    const { timeout } = options;
    const headers: Record<string, string> = {
      accept,
      ...(this.#token !== undefined && { authorization: `Bearer ${this.#token}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...(timeout !== undefined && { prefer: `wait=${Math.ceil(timeout / 1_000)}` }),
    };
    const url = this.label + path;
    const send = url.startsWith("https:") ? (await import("node:https")).request : requestHTTP;
    return new Promise((resolve, reject) => {
      const request = send(url, { method: "POST", headers, signal: toSignal(options), agent: false }, resolve);
      request.on("error", reject);
      request.end(body);
    });
  }

  #toEnvelope(body: string): ResponseEnvelope {
    const json = parseJSON(body);
    if (!isObject(json) || !isObject(json["meta"])) throw this.#notHub("it sent a malformed envelope");
    const { data, meta, encoding } = json;
    if (encoding === undefined) return { data, meta } as unknown as ResponseEnvelope;
    const bytes = encoding === "base64" && typeof data === "string" ? fromBase64(data) : undefined;
    if (bytes === undefined) throw this.#notHub("it sent data in an unknown encoding");
    return { data: bytes, meta } as unknown as ResponseEnvelope;
  }

  #toFailure({ statusCode }: IncomingMessage, type: string, body: string): CallError {
    const failure = type === "application/problem+json" ? toProblem(body) : undefined;
    if (failure === undefined) {
      return this.#notHub(`it responded with status ${statusCode} and content type ${quote(type)}`);
    }
    if (statusCode !== 401) return failure;
    const advice =
      this.#token === undefined ? "Set OPERATIONS_TOKEN to a token of the hub." : "Check OPERATIONS_TOKEN.";
    return new CallError(failure.code, `${failure.message} ${advice}`, failure.details, failure);
  }

  #notHub(reason: string): CallError {
    return new CallError("BAD_RESPONSE", `${this.label} is not a hub: ${reason}. Check the URL.`);
  }

  /** Messages of network errors are not passed on, because they may contain header values. */
  #toCallError(error: unknown, id: string, { signal, timeout }: TargetCallOptions): CallError {
    if (isCallError(error)) return error;
    if (signal?.aborted) return new CallError("ABORTED", `The call of ${quote(id)} was interrupted.`);
    const { name, code } = (error ?? {}) as { name?: unknown; code?: unknown };
    if (name === "TimeoutError" || code === "ABORT_ERR") {
      return new CallError("TIMEOUT", `${quote(id)} did not end within ${timeout} ms. Pass a longer --timeout.`);
    }
    const failure = findNetworkFailure(error);
    const reason = `${failure?.reason ?? "the connection failed"}${failure === undefined ? "" : ` (${failure.code})`}`;
    if (failure?.kind === "connect" || failure?.kind === "tls") {
      const message = `The hub at ${this.label} could not be reached: ${reason}. Is it running?`;
      return new CallError("UNAVAILABLE", message, undefined, { mayHaveRun: false });
    }
    return new CallError(
      "UNAVAILABLE",
      `The connection to ${this.label} was lost before ${quote(id)} ended: ${reason}.`,
    );
  }
}

function toSignal({ signal, timeout }: TargetCallOptions): AbortSignal | undefined {
  if (timeout === undefined) return signal;
  const limit = AbortSignal.timeout(timeout);
  return signal === undefined ? limit : AbortSignal.any([signal, limit]);
}

function typeOf({ headers }: IncomingMessage): string {
  return (headers["content-type"] ?? "").split(";", 1)[0]!.trim().toLowerCase();
}

async function readBody(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of response) {
    size += (part as Buffer).length;
    if (size > maxResponseSize) {
      throw new CallError("PAYLOAD_TOO_LARGE", `The response is larger than ${maxResponseSize} bytes.`);
    }
    parts.push(part as Buffer);
  }
  return Buffer.concat(parts).toString("utf8");
}

/** Returns the error that problem details (RFC 9457) report; `undefined` if they are not from a hub. */
function toProblem(body: string): CallError | undefined {
  const problem = parseJSON(body);
  if (!isObject(problem) || typeof problem["code"] !== "string") return undefined;
  const { detail, ...rest } = problem;
  return CallError.fromJSON({ ...rest, message: detail } as unknown as CallErrorJSON);
}

function parseJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
