import type { ChildProcess } from "node:child_process";
import type { Readable } from "node:stream";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { quote } from "../../../internal/text.ts";
import { CallError, limitExceeded } from "../../../operation/index.ts";
import type { MCPTimeouts } from "../config.ts";
import { isObject } from "../values.ts";
import { LineReader } from "./line-reader.ts";
import { ProcessGroup } from "./process-group.ts";
import type { ProgramEnd } from "./program-end.ts";
import type { StderrLines } from "./stderr-lines.ts";

/** What is needed to start a program. */
export interface StdioOptions {
  command: string;
  args: readonly string[];
  env: Record<string, string>;
  cwd?: string;
  /** Where its stderr goes. */
  lines: StderrLines;
  /** Longest message, in bytes. */
  maxLine: number;
  /** How many bytes may wait for the program to read them. */
  maxQueued: number;
  timeouts: Required<Pick<MCPTimeouts, "stop" | "kill">>;
}

/** Every message contains this. A line without it is noise and is never parsed. */
const messageMarker = '"jsonrpc"';

/** A program that prints faster than it is read fills whole chunks of this many bytes. */
const floodedChunk = 64 * 1024;

/** What a program's pipes may still hold after it ended is read for this long. */
const drainAfterExit = 100;

/**
 * The stdio transport of MCP on a process group of its own. The SDK's leaves descendants behind, closes on one long
 * message and joins what it has read at every chunk.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** By these two the SDK knows a stdio transport. */
  readonly stderr = null;
  pid: number | null = null;
  /** How the program ended, once it has. */
  ended: ProgramEnd | undefined;

  readonly #options: StdioOptions;
  #child: ChildProcess | undefined;
  #group: ProcessGroup | undefined;
  #closed = false;
  #told: Promise<void> = Promise.resolve();

  constructor(options: StdioOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { command, args, env, cwd, lines, maxLine } = this.#options;
    const { spawn } = await import("node:child_process");
    if (this.#closed) throw new CallError("ABORTED", "Closed before it was started.", undefined, { mayHaveRun: false });
    const child = startProgram(() =>
      spawn(command, args, {
        env,
        cwd,
        shell: false,
        stdio: ["pipe", "pipe", "pipe"],
        // The leader of a group of its own, so that its descendants can be ended with it.
        detached: process.platform !== "win32",
        windowsHide: true,
      }),
    );
    this.#child = child;
    const reader = new LineReader(
      maxLine,
      {
        onLine: (line) => this.#receive(line),
        onTooLong: (head, tail) => this.#refuse(head, tail),
        onEndless: () => {
          this.onerror?.(tooLong(maxLine));
          this.#group?.kill();
        },
      },
      messageMarker,
    );
    child.stdout?.on("data", (chunk: Buffer) => {
      reader.push(chunk);
      if (chunk.length >= floodedChunk) letOthersRun(child.stdout!);
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => lines.push(text));
    // A program that is gone cannot be written to; that it is gone is told by its end.
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
    // As bytes, because a pipe counts strings by their characters.
    const line = Buffer.from(`${JSON.stringify(message)}\n`);
    if (stdin.writableLength + line.length > this.#options.maxQueued) throw tooMuchQueued(this.#options.maxQueued);
    stdin.write(line);
  }

  /** Resolves when the program and all that it started are gone. */
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
    if (this.ended !== undefined) return;
    this.ended = { code, signal };
    // Descendants may hold the pipes open, and nobody is left to lead them.
    this.#group?.kill();
    const timer = setTimeout(finish, drainAfterExit);
    const self = this;
    this.#child?.once("close", finish);
    function finish(): void {
      clearTimeout(timer);
      self.#finish();
      void self.#stop();
    }
  }

  #finish(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.onclose?.();
  }

  /** Returns whether the line holds a message. */
  #receive(line: string): boolean {
    if (this.#closed) return true;
    const value = parseLine(line);
    let isMessage = false;
    // Servers of 2025-03-26 may answer several requests at once.
    for (const message of Array.isArray(value) ? value : [value]) {
      // Banners and other noise on stdout; programs do that.
      if (!isObject(message) || message["jsonrpc"] !== "2.0") continue;
      isMessage = true;
      this.#tell(message as JSONRPCMessage);
    }
    return isMessage;
  }

  /** One after the other: the SDK looks at progress a moment later, and forgets who wants it when the answer is there. */
  #tell(message: JSONRPCMessage): void {
    this.#told = this.#told.then(() => this.onmessage?.(message)).catch((error) => this.onerror?.(error));
  }

  /** A message that is too long is answered in its place, so that only its own call fails. */
  #refuse(head: string, tail: string): void {
    const error = tooLong(this.#options.maxLine);
    // What the server says or asks by itself can be left out.
    if (/^\s*\{[^{]*"method"\s*:/.test(head)) return this.onerror?.(error);
    const id = findId(head, tail);
    if (id === undefined) {
      this.onerror?.(error);
      this.#group?.kill();
      return;
    }
    this.#tell({
      jsonrpc: "2.0",
      id,
      error: { code: -31008, message: error.message, data: error },
    });
  }
}

/** Node would go on reading for up to 32 chunks before anything else in this process has its turn. */
function letOthersRun(stream: Readable): void {
  stream.pause();
  setImmediate(() => stream.resume());
}

function parseLine(line: string): unknown {
  const value = parse(line);
  if (value !== undefined) return value;
  // Something may have been printed before the message without ending its line.
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

/** The id of an answer of which only the ends are known. Members come in any order, but the long one is the result. */
function findId(head: string, tail: string): number | undefined {
  const atStart = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*,/.exec(head);
  const atEnd = /,\s*"id"\s*:\s*(\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/.exec(tail);
  const found = atStart ?? atEnd;
  return found === null ? undefined : Number(found[1]);
}

function tooLong(limit: number): CallError {
  return new CallError("PAYLOAD_TOO_LARGE", `The server sent a message of more than ${limit} bytes.`, {
    limit: "lineBytes",
    allowed: limit,
  });
}

function tooMuchQueued(limit: number): CallError {
  const what = "The program does not read its input, and too many bytes wait for it";
  return limitExceeded(what, "bufferedBytes", limit);
}

/** Spawning throws at once for arguments that no program can get, and shows them; they may be secret. */
function startProgram(spawn: () => ChildProcess): ChildProcess {
  try {
    return spawn();
  } catch (error) {
    throw new CallError(
      "VALIDATION_ERROR",
      "The program cannot be started: command, args, env and cwd must be text without NUL characters.",
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
        ? `may not be run${where}. Check its permissions.`
        : `could not be started${where}.`;
  return new CallError("UNAVAILABLE", `The program ${quote(command)} ${hint}`, { code }, { mayHaveRun: false });
}
