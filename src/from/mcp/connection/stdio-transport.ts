import type { ChildProcess } from "node:child_process";
import type { Readable } from "node:stream";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { isObject } from "../../../internal/objects.ts";
import { quote } from "../../../internal/text.ts";
import { CallError, overloaded } from "../../../operation/inside.ts";
import { findMessageId, LineReader } from "../../../transport/line-reader.ts";
import type { MCPTimeouts } from "../config.ts";
import { ProcessGroup } from "./process-group.ts";
import type { ProgramEnd, StderrLines } from "./program-output.ts";

/** How a program is started and limited. */
export interface StdioOptions {
  command: string;
  args: readonly string[];
  env: Record<string, string>;
  cwd?: string;
  /** Receives the program's stderr. */
  stderr: StderrLines;
  /** Maximum size of a message, in bytes. */
  maxLineBytes: number;
  timeouts: Required<Pick<MCPTimeouts, "stop" | "kill">>;
}

/** Every message contains this string. A line without it is noise and is not parsed. */
const messageMarker = '"jsonrpc"';

/** Chunks of this size mean that the program writes faster than this process reads. */
const floodChunkBytes = 64 * 1024;

/** Maximum number of bytes that wait for the program to read them. Above it, further messages are refused. */
const maxQueuedBytes = 16 * 1024 * 1024;

/** How long the pipes of a program are read after it has ended, in ms. */
const drainAfterExitMs = 100;

/**
 * A stdio transport for MCP that runs the program in its own process group. The SDK's transport is not used because it
 * leaves descendants running, closes after one long message, and copies its whole buffer for every chunk.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** The SDK recognises a stdio transport by `stderr` and `pid`. */
  readonly stderr = null;
  pid: number | null = null;
  /** How the program ended. `undefined` while it runs. */
  programEnd: ProgramEnd | undefined;

  readonly #options: StdioOptions;
  #child: ChildProcess | undefined;
  #group: ProcessGroup | undefined;
  #closed = false;
  #delivered: Promise<void> = Promise.resolve();

  constructor(options: StdioOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { command, args, env, cwd, stderr, maxLineBytes } = this.#options;
    const { spawn } = await import("node:child_process");
    if (this.#closed)
      throw new CallError("ABORTED", "The server was closed before it was started.", undefined, { mayHaveRun: false });
    const child = startProgram(() =>
      spawn(command, args, {
        env,
        cwd,
        shell: false,
        stdio: ["pipe", "pipe", "pipe"],
        // The program leads its own group, so that its descendants can be ended with it.
        detached: process.platform !== "win32",
        windowsHide: true,
      }),
    );
    this.#child = child;
    const reader = new LineReader(
      maxLineBytes,
      {
        onLine: (line) => this.#receive(line.toString("utf8")),
        onTooLong: (head, tail) => this.#refuse(head, tail),
        onEndless: () => {
          this.onerror?.(tooLong(maxLineBytes));
          this.#group?.kill();
        },
      },
      messageMarker,
    );
    child.stdout?.on("data", (chunk: Buffer) => {
      reader.push(chunk);
      if (chunk.length >= floodChunkBytes) yieldToOthers(child.stdout!);
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => stderr.push(text));
    // Writing to a program that has ended fails. Its exit event reports the end.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.on("error", () => {});

    await new Promise<void>((resolve, reject) => {
      child.once("error", (error) => reject(notStarted(command, cwd, error)));
      child.once("spawn", resolve);
    });
    this.pid = child.pid!;
    this.#group = new ProcessGroup(child, child.pid!);
    child.once("exit", (code, signal) => this.#onExit(code, signal));
    if (child.exitCode !== null) this.#onExit(child.exitCode, child.signalCode);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (!stdin?.writable || this.#closed) throw new Error("Not connected");
    if (stdin.writableLength > maxQueuedBytes) {
      throw overloaded("The program does not read its input, and too many bytes are queued", maxQueuedBytes);
    }
    // Use bytes, because a pipe measures strings in characters.
    stdin.write(Buffer.from(`${JSON.stringify(message)}\n`));
  }

  /** Resolves when the program and all processes that it started have ended. */
  async close(): Promise<void> {
    this.#finish();
    await this.#stop();
  }

  async #stop(): Promise<void> {
    const { stop, kill } = this.#options.timeouts;
    await this.#group?.stop(stop, kill);
    for (const stream of [this.#child?.stdin, this.#child?.stdout, this.#child?.stderr]) stream?.destroy();
  }

  #onExit(code: number | null, signal: string | null): void {
    if (this.programEnd !== undefined) return;
    this.programEnd = { code, signal };
    // Descendants may keep the pipes open.
    this.#group?.kill();
    const finish = () => {
      clearTimeout(timer);
      this.#finish();
      void this.#stop();
    };
    const timer = setTimeout(finish, drainAfterExitMs);
    this.#child?.once("close", finish);
  }

  #finish(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.onclose?.();
  }

  /** Delivers the messages in a line. Returns whether it contains any. */
  #receive(line: string): boolean {
    if (this.#closed) return true;
    const value = parseLine(line);
    let isMessage = false;
    // Servers of 2025-03-26 may send several messages as an array.
    for (const message of Array.isArray(value) ? value : [value]) {
      // Some programs print banners and other noise to stdout.
      if (!isObject(message) || message["jsonrpc"] !== "2.0") continue;
      isMessage = true;
      this.#deliver(message as JSONRPCMessage);
    }
    return isMessage;
  }

  /** Delivers messages one by one: the SDK handles progress asynchronously, and drops it after the response. */
  #deliver(message: JSONRPCMessage): void {
    this.#delivered = this.#delivered.then(() => this.onmessage?.(message)).catch((error) => this.onerror?.(error));
  }

  /** Fails only the request whose response is too long. */
  #refuse(head: string, tail: string): void {
    const error = tooLong(this.#options.maxLineBytes);
    // Notifications and requests of the server can be dropped.
    if (/^\s*\{[^{]*"method"\s*:/.test(head)) return this.onerror?.(error);
    const id = findMessageId(head, tail);
    if (id === undefined) {
      this.onerror?.(error);
      this.#group?.kill();
      return;
    }
    this.#deliver({
      jsonrpc: "2.0",
      id,
      error: { code: -31008, message: error.message, data: error },
    });
  }
}

/** Pauses the stream for one turn. Otherwise Node would read up to 32 chunks before any other code runs. */
function yieldToOthers(stream: Readable): void {
  stream.pause();
  setImmediate(() => stream.resume());
}

function parseLine(line: string): unknown {
  const value = parse(line);
  if (value !== undefined) return value;
  // The program may have printed something before the message on the same line.
  const start = /.\{\s*"(?:jsonrpc|id|result|error|method|params)"\s*:/.exec(line);
  return start === null ? undefined : parse(line.slice(start.index + 1));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function tooLong(limit: number): CallError {
  return new CallError("PAYLOAD_TOO_LARGE", `The server sent a message of more than ${limit} bytes.`, {
    limit: "lineBytes",
    allowed: limit,
  });
}

/** Replaces the error of `spawn` for invalid arguments, because its message contains them and they may be secret. */
function startProgram(spawn: () => ChildProcess): ChildProcess {
  try {
    return spawn();
  } catch (error) {
    throw new CallError(
      "VALIDATION_ERROR",
      "The program cannot be started. Set command, args, env and cwd to strings without NUL characters.",
      { code: (error as { code?: unknown }).code },
      { mayHaveRun: false },
    );
  }
}

function notStarted(command: string, cwd: string | undefined, error: Error): CallError {
  const { code } = error as { code?: string };
  const where = cwd === undefined ? "" : ` in ${quote(cwd)}`;
  const hint =
    code === "ENOENT"
      ? `was not found${where}. Check "command"${cwd === undefined ? " and PATH" : ', "cwd" and PATH'}, whose relative entries are ignored.`
      : code === "EACCES"
        ? `cannot be run${where}. Check its permissions.`
        : `could not be started${where}.`;
  return new CallError("UNAVAILABLE", `The program ${quote(command)} ${hint}`, { code }, { mayHaveRun: false });
}
