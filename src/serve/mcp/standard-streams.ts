import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/server";
import { logger } from "../../internal/log.ts";
import { getOwn } from "../../internal/objects.ts";
import { type CallErrorJSON, type Limits, mapError } from "../../operation/index.ts";
import { findMessageId, LineReader } from "../../transport/line-reader.ts";
import { bodyTooLarge } from "../refusals.ts";
import { parseJSON } from "../request-body.ts";
import type { ServerSDK } from "./mcp-host.ts";
import { toMeta } from "./result.ts";

const log = logger("serve", "mcp");

/** Other bytes are refused: replacing them would change the input. */
const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * The connection to a client over stdin and stdout, with one message in each line. The SDK's transport is not used because
 * it ends the connection after one long message, copies its whole buffer for every chunk, and does not respond to
 * malformed messages.
 */
export class StandardStreams implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Called when the client has closed stdin, or has sent a line that does not end. */
  onEnd = (): void => {};
  readonly #sdk: ServerSDK;
  readonly #limits: Readonly<Required<Limits>>;
  readonly #reader: LineReader;
  readonly #output: ClaimedOutput;

  constructor(sdk: ServerSDK, limits: Readonly<Required<Limits>>, output: ClaimedOutput) {
    this.#sdk = sdk;
    this.#limits = limits;
    this.#output = output;
    this.#reader = new LineReader(limits.requestBytes, {
      onLine: (line) => this.#receive(line),
      onTooLong: (head, tail) => {
        const error = bodyTooLarge(limits.requestBytes).error.toJSON();
        this.#refuse(findMessageId(head, tail), sdk.INVALID_REQUEST, error.message, error);
      },
      onEndless: () => {
        log.error("The MCP client sent a line that does not end. The server closes the connection.");
        this.#end();
      },
    });
  }

  async start(): Promise<void> {
    process.stdin.on("data", this.#onData).on("end", this.#end).on("close", this.#end);
  }

  /** Resolves when the message is written. A client that has closed the pipe also closes stdin, which ends the service. */
  send(message: unknown): Promise<void> {
    return new Promise((resolve) => this.#output.write(`${JSON.stringify(message)}\n`, () => resolve()));
  }

  async close(): Promise<void> {
    process.stdin.off("data", this.#onData).off("end", this.#end).off("close", this.#end).pause();
    this.onclose?.();
  }

  readonly #onData = (chunk: Buffer): void => this.#reader.push(chunk);
  /** The client has left, so running calls end without a response. */
  readonly #end = (): void => {
    void this.close();
    this.onEnd();
  };

  #receive(line: Buffer): void {
    let given: unknown;
    try {
      given = parseJSON(utf8.decode(line), this.#limits.jsonDepth, "message");
    } catch (error) {
      const [head, tail] = [line.subarray(0, 256), line.subarray(-256)];
      return this.#refuse(findMessageId(`${head}`, `${tail}`), this.#sdk.PARSE_ERROR, mapError(error).message);
    }
    // Clients of 2025-03-26 may send several messages as an array.
    for (const message of Array.isArray(given) ? given : [given]) {
      if (this.#sdk.isSpecType.JSONRPCMessage(message)) this.onmessage?.(message);
      else this.#refuse(getOwn(message, "id"), this.#sdk.INVALID_REQUEST, "The line is not a message of JSON-RPC.");
    }
  }

  #refuse(id: unknown, code: number, message: string, error?: CallErrorJSON): void {
    const isId = typeof id === "string" || typeof id === "number";
    const data = error && toMeta({ error });
    void this.send({ jsonrpc: "2.0", id: isId ? id : null, error: { code, message, data } });
  }
}

/** The part of stdout that only the protocol uses. */
interface ClaimedOutput {
  write(text: string, done: () => void): void;
  /** Returns stdout to the program. */
  release(): void;
}

/**
 * Claims stdout until it is released. Everything else that the process writes there goes to stderr: the stream itself
 * stays as it is, and only what it writes to is replaced, so that references to it and pipelines work as before.
 */
export function claimOutput(): ClaimedOutput {
  const { stdout, stderr } = process;
  const { _write, _writev, _final } = stdout;
  stdout.on("error", ignore);
  Object.assign(stdout, {
    _write: stderr.write.bind(stderr),
    _writev: null,
    _final: (done: () => void) => done(),
  });
  return {
    // As bytes, because the stream of a file takes the arguments for bytes only.
    write: (text, done) => _write.call(stdout, Buffer.from(text), "buffer" as BufferEncoding, done),
    release: () => {
      Object.assign(stdout, { _write, _writev, _final });
      stdout.off("error", ignore);
    },
  };
}

function ignore(): void {}
